"""Draw a sentence as the README shows it: spectrogram, phones and pitch, waveform.

    python -m deepvoice.recipes.voice.picture "The ferry leaves at dawn." heart.png [--voice NAME_OR_FOLDER]

The lines in the spectrogram are the times of the phones that the voice reports.
"""

import argparse
from pathlib import Path

import numpy as np

import deepvoice
from deepvoice.audio.mel import MelSpec, log_mel


def draw(speech: "deepvoice.Speech", path: Path) -> None:
    """Write a PNG of a speech."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    samples, rate = speech.samples, speech.sample_rate
    dither = np.random.default_rng(0).uniform(-2e-5, 2e-5, len(samples)).astype(np.float32)
    mel_FM = log_mel(samples + dither, MelSpec(sample_rate=rate, high_hz=rate / 2))
    seconds = len(samples) / rate
    figure, (top, bottom) = pyplot.subplots(2, 1, figsize=(10, 4.6), sharex=True, height_ratios=(3, 1))
    top.imshow(
        mel_FM.T, origin="lower", aspect="auto", extent=(0, seconds, 0, mel_FM.shape[1]), vmin=-15, vmax=5, cmap="magma"
    )
    top.set_ylabel("mel band")
    pitch = top.twinx()
    for phone in speech.phones:
        top.axvline(phone.start, color="white", linewidth=0.3)
        top.text((phone.start + phone.end) / 2, 74, phone.symbol, color="white", fontsize=7, ha="center")
        if phone.f0:
            pitch.plot((phone.start, phone.end), (phone.f0, phone.f0), color="cyan", linewidth=2)
    pitch.set_ylim(50, 500)
    pitch.set_ylabel("mean F0 of the phone, Hz")
    bottom.plot(np.arange(len(samples)) / rate, samples, linewidth=0.4)
    bottom.set_xlim(0, seconds)
    bottom.set_xlabel("seconds")
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    pyplot.close(figure)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("png", type=Path)
    parser.add_argument("--voice")
    arguments = parser.parse_args()
    voice = deepvoice.load(arguments.voice) if arguments.voice else deepvoice.load()
    draw(voice.speak(arguments.text), arguments.png)


if __name__ == "__main__":
    main()
