"""Score the vocoder on held-out utterances: likelihood, and free-running speech from true durations and F0.

    python -m deepvoice.recipes.vocoder.evaluate MANIFEST (--voice NAME_OR_FOLDER | --checkpoint FILE)
        [--utterances N] [--wavs DIR] [--mos] [--json FILE]

Likelihood is in bits a sample, beside the entropy of the codes' own distribution (a model without any input).
Free-running speech is compared with the recording by the distance of their log-mel spectra, beside a vocoder without a
network: the linear prediction driven by white noise of the right energy, with pulses where the speech is voiced.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soundfile
from scipy.signal import lfilter

from deepvoice.audio.companding import encode
from deepvoice.audio.lpc import lpc_from_mel
from deepvoice.audio.mel import FloatArray, log_mel
from deepvoice.audio.pulses import interpolate_unvoiced, phase_from_f0, pulse_features
from deepvoice.config import from_dict
from deepvoice.configs import VocoderConfig
from deepvoice.kernels import choose_precision, wavenet
from deepvoice.networks.vocoder import VocoderNetwork
from deepvoice.recipes.common.data import read_alignments, sequence_of, split
from deepvoice.recipes.common.features import FeatureCache, Features
from deepvoice.recipes.common.progress import progress

_DECIBELS = 10 / np.log(10)
_SPEECH_FLOOR = -14.0  # mean log-mel below which a frame of the recording is silence and is not compared


class Sampling(NamedTuple):
    """How samples are drawn: temperature in voiced and in other frames, and the probability floor."""

    voiced: float = 1.0
    unvoiced: float = 1.0
    floor: float = 0.0


def signal_of(features: Features, config: VocoderConfig) -> FloatArray:
    """Return the pre-emphasised recording, float32 [F * hop]."""
    audio = np.asarray(features.audio_T, np.float32) / np.float32(32767)
    return audio - np.float32(config.pre_emphasis) * np.concatenate([np.zeros(1, np.float32), audio[:-1]])


def residual_of(signal_T: FloatArray, lpc_FK: FloatArray, hop: int) -> FloatArray:
    """Return what the linear prediction leaves of a signal, float32 [F * hop]."""
    frames, order = lpc_FK.shape
    if order == 0:
        return signal_T
    padded = np.concatenate([np.zeros(order, np.float32), signal_T])
    windows = np.lib.stride_tricks.sliding_window_view(padded, order)[:-1].reshape(frames, hop, order)
    return signal_T - np.einsum("fhk,fk->fh", windows, lpc_FK[:, ::-1]).reshape(-1)


def likelihood(network: VocoderNetwork, features: Features, mel_FM: FloatArray) -> tuple[FloatArray, Any]:
    """Return the bits of every sample of an utterance (teacher-forced) and its codes."""
    config = network.config
    f0_F = interpolate_unvoiced(np.array(features.f0_F))
    voiced_F = np.asarray(features.f0_F) > 0
    lpc_FK = network.predictor(mel_FM)
    codes_T = encode(residual_of(signal_of(features, config), lpc_FK, config.mel.hop), config.code_scale)
    phase_E = np.asarray(features.phase_E, np.float64)
    pulses = pulse_features(phase_E, voiced_F, config.mel.hop, config.bunch, config.harmonics)
    cond_FC = network.biases(mel_FM, f0_F, voiced_F, 0, len(mel_FM))
    logits_TA = wavenet.teacher_forced(network.weights, cond_FC, lpc_FK, pulses, codes_T).logits_TA
    logits_TA -= logits_TA.max(axis=1, keepdims=True)
    chosen = logits_TA[np.arange(len(codes_T)), codes_T] - np.log(np.exp(logits_TA).sum(axis=1))
    return -chosen / np.float32(np.log(2)), codes_T


def free_run(
    network: VocoderNetwork, features: Features, mel_FM: FloatArray, sampling: Sampling, seed: int
) -> FloatArray:
    """Speak from a spectrum and the tracked F0, float32 [F * hop]."""
    config = network.config
    f0_F = interpolate_unvoiced(np.array(features.f0_F))
    voiced_F = np.asarray(features.f0_F) > 0
    phase_E = phase_from_f0(f0_F, config.mel.hop, config.mel.sample_rate)
    return wavenet.generate(
        network.weights,
        network.biases(mel_FM, f0_F, voiced_F, 0, len(mel_FM)),
        network.predictor(mel_FM),
        pulse_features(phase_E, voiced_F, config.mel.hop, config.bunch, config.harmonics),
        np.random.default_rng(seed).random(len(mel_FM) * config.mel.hop, dtype=np.float32),
        np.where(voiced_F, sampling.voiced, sampling.unvoiced).astype(np.float32),
        sampling.floor,
    ).samples.clip(-1, 1)


def noise_and_pulses(features: Features, mel_FM: FloatArray, config: VocoderConfig, seed: int) -> FloatArray:
    """The trivial vocoder: the prediction filter driven by noise and pulses with the residual's true energy."""
    hop = config.mel.hop
    lpc_FK = lpc_from_mel(mel_FM, config.mel, config.lpc_order or 16, config.pre_emphasis)
    residual_FH = residual_of(signal_of(features, config), lpc_FK, hop).reshape(-1, hop)
    excitation_FH = np.random.default_rng(seed).standard_normal(residual_FH.shape)
    phase_E = np.asarray(features.phase_E, np.float64)
    inside = phase_E[:-1, None] + np.diff(phase_E)[:, None] * (np.arange(hop) + 1) / hop
    pulse_FH = np.diff(np.floor(inside).reshape(-1), prepend=np.floor(inside[0, 0])).reshape(-1, hop)
    voiced_F = np.asarray(features.f0_F) > 0
    excitation_FH[voiced_F] = 0.3 * excitation_FH[voiced_F] + 12.0 * pulse_FH[voiced_F]
    excitation_FH *= np.sqrt((residual_FH**2).mean(1) / (excitation_FH**2).mean(1).clip(1e-9))[:, None]
    state, out = np.zeros(lpc_FK.shape[1]), []
    for lpc_K, row_H in zip(lpc_FK, excitation_FH, strict=True):
        piece, state = lfilter([1.0], np.concatenate([[1.0], -lpc_K]), row_H, zi=state)
        out.append(piece)
    return lfilter([1.0], [1.0, -config.pre_emphasis], np.concatenate(out)).astype(np.float32).clip(-1, 1)


def spectral_distance(samples_T: FloatArray, features: Features, config: VocoderConfig) -> float:
    """Mean absolute distance of log-mel spectra in decibels over the frames of the recording that hold speech."""
    dither = np.random.default_rng(0).uniform(-2e-5, 2e-5, len(samples_T)).astype(np.float32)
    found_FM = log_mel(samples_T + dither, config.mel)
    wanted_FM = np.asarray(features.mel_FM, np.float32)
    speech_F = wanted_FM.mean(axis=1) > _SPEECH_FLOOR
    return float(np.abs(found_FM - wanted_FM)[speech_F].mean() * _DECIBELS)


def predicted_mos(files: Sequence[Path]) -> float:
    """Mean DistillMOS (1 to 5) of wav files; needs the [eval] extra."""
    import soxr
    import torch
    from distillmos import ConvTransformerSQAModel

    model, scores = ConvTransformerSQAModel().eval(), []
    for path in files:
        audio, rate = soundfile.read(path, dtype="float32")
        with torch.no_grad():
            scores.append(float(model(torch.from_numpy(soxr.resample(audio, rate, 16000).astype(np.float32))[None])))
    return float(np.mean(scores))


def without_conditioner(weights: Mapping[str, FloatArray], config: VocoderConfig) -> VocoderNetwork:
    """Build the vocoder from the WaveNet's weights alone: it can speak from recorded spectra."""
    shapes = VocoderNetwork.expected_shapes(config)
    return VocoderNetwork({name: np.zeros(shape, np.float32) for name, shape in shapes.items()} | dict(weights), config)


def load_network(voice: str | None, checkpoint: Path | None, precision: str = "float32") -> VocoderNetwork:
    """Load the vocoder of a packed voice, or a WaveNet checkpoint (recordings' spectra, float32 only)."""
    if voice is not None:
        from deepvoice.voice import load_voice

        folder = load_voice(Path(voice) if Path(voice).is_dir() else voice, ["vocoder"])
        config = folder.configs["vocoder"]
        chosen = choose_precision(precision, calibrated=config.calibrated)
        return VocoderNetwork(folder.tensors["vocoder"], config, chosen)
    from deepvoice.recipes.common.checkpoint import load_checkpoint

    assert checkpoint is not None
    state = load_checkpoint(checkpoint)
    weights = {name: value.numpy() for name, value in state["ema"].items()}
    return without_conditioner(weights, from_dict(VocoderConfig, state["config"]))


def evaluate(
    network: VocoderNetwork, manifest: Path, count: int, wavs: Path | None, sampling: Sampling, predicted: bool
) -> dict[str, dict[str, float]]:
    """Return a row of figures for each way to speak the held-out test utterances."""
    config = network.config
    cache = FeatureCache(manifest.parent / "features", config.mel)
    aligned = read_alignments(manifest.parent / "alignments.jsonl") if predicted else {}
    rows = [row for row in split(manifest).test if row["id"] in cache][:count]
    histogram, kinds = np.zeros(256), ["recorded spectra", *(["predicted spectra"] if predicted else [])]
    bits: dict[str, list[FloatArray]] = {kind: [] for kind in kinds}
    distances: dict[str, list[float]] = {kind: [] for kind in [*kinds, "noise and pulses (no network)"]}
    for number, row in enumerate(progress(rows, "vocoder")):
        features = cache[row["id"]]
        spectra = {"recorded spectra": np.asarray(features.mel_FM, np.float32)}
        if predicted:
            f0_F = np.array(features.f0_F)
            durations_P = np.asarray(aligned[row["id"]], np.int64)
            spectra["predicted spectra"] = network.spectrum(
                sequence_of(row), durations_P, interpolate_unvoiced(f0_F), f0_F > 0
            )
        made = {}
        for kind, mel_FM in spectra.items():
            sample_bits, codes = likelihood(network, features, mel_FM)
            bits[kind].append(sample_bits)
            if kind == "recorded spectra":
                histogram += np.bincount(codes, minlength=256)
            made[kind] = free_run(network, features, mel_FM, sampling, number)
        made["noise and pulses (no network)"] = noise_and_pulses(features, spectra["recorded spectra"], config, number)
        for kind, samples in made.items():
            distances[kind].append(spectral_distance(samples, features, config))
            if wavs is not None:
                folder = wavs / kind.split(" (")[0].replace(" ", "_")
                folder.mkdir(parents=True, exist_ok=True)
                soundfile.write(folder / f"{number:03d}.wav", samples, config.mel.sample_rate, subtype="PCM_16")
    share = histogram / histogram.sum()
    result = {kind: {"spectral_distance_db": float(np.mean(values))} for kind, values in distances.items()}
    for kind in kinds:
        result[kind]["bits_per_sample"] = float(np.concatenate(bits[kind]).mean())
    used = share[share > 0]
    result["noise and pulses (no network)"]["bits_per_sample"] = float(-(used * np.log2(used)).sum())
    return result


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--voice")
    which.add_argument("--checkpoint", type=Path)
    parser.add_argument(
        "--precision", default="float32", help="of a voice: float32, bfloat16 or int8 (default %(default)s)"
    )
    parser.add_argument("--utterances", type=int, default=30)
    parser.add_argument("--wavs", type=Path, help="keep the speech here, one folder a row")
    parser.add_argument("--mos", action="store_true", help="also predict MOS ([eval] extra); needs --wavs")
    parser.add_argument("--temperature", type=float, default=1.0, help="in voiced frames")
    parser.add_argument("--floor", type=float, default=0.0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.mos and arguments.wavs is None:
        parser.error("--mos needs --wavs DIR, the folder for the speech that is scored")
    network = load_network(arguments.voice, arguments.checkpoint, arguments.precision)
    sampling = Sampling(voiced=arguments.temperature, floor=arguments.floor)
    result = evaluate(
        network,
        arguments.manifest,
        arguments.utterances,
        arguments.wavs,
        sampling,
        predicted=arguments.voice is not None,
    )
    if arguments.mos:
        for kind, row in result.items():
            folder = arguments.wavs / kind.split(" (")[0].replace(" ", "_")
            row["distillmos"] = predicted_mos(sorted(folder.glob("*.wav")))
    print("| from | bits a sample | spectral distance, dB |" + (" DistillMOS |" if arguments.mos else ""))
    print("|---|---|---|" + ("---|" if arguments.mos else ""))
    for kind, row in result.items():
        more = f" {row['distillmos']:.2f} |" if arguments.mos else ""
        print(f"| {kind} | {row['bits_per_sample']:.3f} | {row['spectral_distance_db']:.2f} |{more}")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
