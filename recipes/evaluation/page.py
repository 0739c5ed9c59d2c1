"""The page of an evaluation: the figures, and one row a sentence with players and pictures."""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from deepvoice.audio.mel import FloatArray
from deepvoice.recipes.common.pitch import track_f0
from deepvoice.recipes.common.shards import write_whole
from deepvoice.recipes.evaluation.compare import spec_of, spectrum
from deepvoice.recipes.evaluation.score import Example, Row, table

_STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; width: 100% } td, th { border-top: 1px solid #ccc; padding: .4rem; text-align: left }
td { vertical-align: top } img { max-width: 100%; display: block } audio { width: 100%; min-width: 14rem }
pre { background: #f4f4f4; padding: .8rem; overflow: auto } .wrong { color: #a00 } caption { text-align: left }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd } pre { background: #222 } }
"""


def draw(example: Example, path: Path) -> None:
    """Write a picture of a speech, over that of the recording where there is one: spectra, phones, pitch."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    speech = example.speech
    sounds = [("speech", speech.samples, speech.sample_rate)]
    if example.reference_T is not None:
        sounds.append(("recording", example.reference_T, example.reference_rate))
    longest = max(len(samples) / rate for _, samples, rate in sounds)
    figure, axes = pyplot.subplots(len(sounds), 1, figsize=(9, 2.1 * len(sounds)), squeeze=False, sharex=True)
    for axis, (name, samples, rate) in zip(axes[:, 0], sounds, strict=True):
        _panel(axis, name, samples, rate)
        axis.set_xlim(0, longest)
    for phone in speech.phones:
        axes[0, 0].text(
            (phone.start + phone.end) / 2, 76, phone.symbol, color="white", fontsize=5, ha="center", va="top"
        )
    axes[-1, 0].set_xlabel("seconds")
    figure.tight_layout()
    figure.savefig(path, dpi=80)
    pyplot.close(figure)


def _panel(axis: Any, name: str, samples_T: FloatArray, rate: int) -> None:
    spec = spec_of(rate)
    mel_FM = spectrum(samples_T, spec)
    seconds = len(mel_FM) * spec.hop / rate
    axis.imshow(mel_FM.T, origin="lower", aspect="auto", extent=(0, seconds, 0, 80), vmin=-15, vmax=5, cmap="magma")
    axis.set_ylabel(f"{name}\nmel band", fontsize=8)
    f0_F = track_f0(samples_T, rate, spec.hop, len(mel_FM))
    pitch = axis.twinx()
    pitch.plot((np.arange(len(f0_F)) + 0.5) * spec.hop / rate, np.where(f0_F > 0, f0_F, np.nan), "c", linewidth=1.2)
    pitch.set_ylim(50, 500)
    pitch.set_ylabel("Hz", fontsize=8)


def write_page(folder: Path, title: str, figures: dict[str, Any], rows: Sequence[Row], pictures: bool) -> Path:
    """Write index.html beside the sounds and pictures of a folder; returns its path."""
    body = "\n".join(_row(row, pictures) for row in rows)
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>
<h1>{html.escape(title)}</h1>
<pre>{html.escape(table(figures))}</pre>
<table><caption>One row a sentence</caption>
<thead><tr><th scope="col">name</th><th scope="col">sentence</th><th scope="col">speech and recording</th></tr></thead>
<tbody>
{body}
</tbody></table></body></html>
"""
    path = folder / "index.html"
    write_whole(path, text.encode())
    return path


def _row(row: Row, pictures: bool) -> str:
    name, place = html.escape(row.item.name, quote=True), quote(row.item.name)
    facts = [f"{row.seconds:.2f} s, {row.seconds / row.work:.0f} times real time"]
    if row.ours.quality is not None:
        facts.append(f"DistillMOS {row.ours.quality:.2f}" + _beside(row.theirs and row.theirs.quality, ".2f"))
    if row.ours.words:
        facts.append(f"{row.ours.errors} of {row.count} words wrong" + _beside(row.theirs and row.theirs.errors, "d"))
    if row.ours.goodness is not None:
        facts.append(f"goodness {row.ours.goodness:.2f}" + _beside(row.theirs and row.theirs.goodness, ".2f"))
    if row.ours.unread:
        facts.append(f'<span class="wrong">not heard by the aligner: {html.escape(", ".join(row.ours.unread))}</span>')
    if row.distance is not None:
        one = row.distance
        pitch = "" if one.f0 is None else f", F0 {one.f0:.1f} Hz"
        facts.append(f"spectra {one.spectral:.1f} dB{pitch}, durations {one.duration:.0f} ms")
    if row.signal.bursts:
        times = ", ".join(f"{burst.time:.2f}" for burst in row.signal.bursts)
        facts.append(f'<span class="wrong">bursts at {times} s</span>')
    if row.signal.clipped:
        facts.append(f'<span class="wrong">{row.signal.clipped} samples clipped</span>')
    heard = ""
    if row.ours.errors:
        heard = f'<p class="wrong">heard: {html.escape(row.ours.words)}</p>'
    players = f'<audio controls preload="none" src="audio/{place}.flac" aria-label="speech {name}"></audio>'
    if row.item.reference is not None:
        players += f'<audio controls preload="none" src="reference/{place}.flac" aria-label="recording {name}"></audio>'
    picture = f'<img src="pictures/{place}.png" loading="lazy" alt="spectrogram of {name}">' if pictures else ""
    said = f"<p>{html.escape(row.item.text)}</p>{heard}<p>{'<br>'.join(facts)}</p>"
    return f'<tr><th scope="row">{name}</th><td>{said}</td><td>{players}{picture}</td></tr>'


def _beside(value: float | None, form: str) -> str:
    return "" if value is None else f" (recording {value:{form}})"
