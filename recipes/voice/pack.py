"""Write a voice folder from the checkpoints of all modules.

    python -m deepvoice.recipes.voice.pack RUNS --out deepvoice/voices/heart [--name heart] [--scores FILE.json ...]

RUNS has a folder for each module with its `last.pt`: segmentation, homographs, grapheme_to_phoneme, duration, f0,
conditioner and vocoder. The averaged weights are packed, as float16. Modules that were trained on other features or
another phone set are refused. With --small the voice has no segmentation, so that it speaks but does not align, and its
matrices are int8.
"""

import argparse
import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.config import from_dict
from deepvoice.configs import VocoderConfig
from deepvoice.errors import ConfigError, VoiceError
from deepvoice.networks.vocoder import CONDITIONER, LIMITS
from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.common.command import reported
from deepvoice.recipes.vocoder.quantise import CALIBRATION
from deepvoice.text.phones import phone_set_hash
from deepvoice.voice import MODULES, SPEAKING, TEXT, SynthesisDefaults
from deepvoice.voice_writer import write_voice

CHECKPOINTS = ("segmentation", "homographs", "grapheme_to_phoneme", "duration", "f0", "conditioner", "vocoder")
MAX_BYTES, SMALL_BYTES = 12_000_000, 4_000_000  # of a voice folder
_HISTORY_POINTS = 12  # rows of each module's log kept as its training history


def read_checkpoints(runs: Path, small: bool = False) -> dict[str, dict[str, Any]]:
    """Read the checkpoints of all modules; raises VoiceError for a missing one and for hashes that differ."""
    states = {}
    for module in (name for name in CHECKPOINTS if not (small and name not in (*SPEAKING, "conditioner"))):
        path = runs / module / "last.pt"
        if not path.is_file():
            raise VoiceError(
                f"{path} is missing; train the module first (recipes/{module}) or name another folder of runs"
            )
        states[module] = load_checkpoint(path)
    states["vocoder"]["limits"] = read_limits(runs / "vocoder" / CALIBRATION, states["vocoder"]["step"])
    check_hashes({module: state["meta"] for module, state in states.items()})
    return states


def read_limits(path: Path, step: int) -> NDArray[np.float32] | None:
    """Return the vocoder's limits, None where it was not calibrated; refuses those of another step of its training."""
    if not path.is_file():
        return None
    calibration = json.loads(path.read_text(encoding="utf-8"))
    if calibration["step"] != step:
        raise VoiceError(
            f"{path} is of step {calibration['step']}, the checkpoint of step {step}; calibrate again: "
            "python -m deepvoice.recipes.vocoder.quantise"
        )
    return np.array(calibration["limits"], np.float32)


def check_hashes(metas: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the feature hash that all modules share; raises VoiceError naming those that differ."""
    phones = {module: meta.get("phones") for module, meta in metas.items()}
    wrong = {module: found for module, found in phones.items() if found != phone_set_hash()}
    if wrong:
        raise VoiceError(f"trained on another phone set than {phone_set_hash()}: {wrong}; train these modules again")
    features = {module: str(meta.get("features")) for module, meta in metas.items() if module not in TEXT}
    if len(set(features.values())) != 1:
        raise VoiceError(f"the modules were trained on different features: {features}; train those that differ again")
    return next(iter(features.values()))


def module_config(module: str, states: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the config of a module of the voice; the vocoder's joins those of its two checkpoints."""
    try:
        config = from_dict(MODULES[module][0], states[module]["config"])
        if not isinstance(config, VocoderConfig):
            return config
        spectrum = from_dict(VocoderConfig, states["conditioner"]["config"])
    except ConfigError as error:
        raise VoiceError(
            f"the checkpoint of {module} has a config of another version: {error}; train it again"
        ) from None
    if spectrum.mel != config.mel:
        raise VoiceError(
            f"conditioner and vocoder have different spectra: {spectrum.mel}, {config.mel}; train one again"
        )
    joined = dataclasses.replace(
        spectrum.conditioner,
        bias_channels=config.conditioner.bias_channels,  # these layers are trained with the WaveNet
        bias_kernel=config.conditioner.bias_kernel,
    )
    calibrated = states["vocoder"].get("limits") is not None
    return dataclasses.replace(config, conditioner=joined, calibrated=calibrated)


def module_tensors(module: str, states: Mapping[str, Mapping[str, Any]]) -> dict[str, NDArray[np.float32]]:
    """Return the averaged weights of a module of the voice."""
    tensors = {name: value.float().numpy() for name, value in states[module]["ema"].items()}
    if module == "vocoder":
        ema = states["conditioner"]["ema"]
        tensors |= {CONDITIONER + name: value.float().numpy() for name, value in ema.items()}
        if states["vocoder"].get("limits") is not None:
            tensors[LIMITS] = states["vocoder"]["limits"]
    return tensors


def training_history(runs: Path, states: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Steps of every module and a few rows of its log: what was measured on held-out utterances, otherwise the loss."""
    history = {}
    for module, state in states.items():
        log = runs / module / "log.jsonl"
        rows = [json.loads(line) for line in log.read_text().splitlines()] if log.is_file() else []
        held_out = [row for row in rows if "loss" not in row] or rows
        chosen = np.unique(np.linspace(0, len(held_out) - 1, _HISTORY_POINTS).astype(int)) if held_out else []
        history[module] = {
            "steps": int(state["step"]),
            "log": [
                {
                    key: float(f"{value:.5g}")
                    for key, value in held_out[i].items()
                    if key not in ("time", "seconds_per_step")
                }
                for i in chosen
            ],
        }
    return history


def pack(
    runs: Path,
    out: Path,
    *,
    name: str,
    licence: str,
    provenance: str,
    scores: Mapping[str, Any],
    synthesis: SynthesisDefaults,
    small: bool = False,
) -> int:
    """Write the voice folder and return its size in bytes; raises VoiceError when the modules do not fit together.

    small: without segmentation, matrices as int8, at most 4 MB
    """
    states = read_checkpoints(runs, small)
    modules = SPEAKING if small else tuple(MODULES)
    write_voice(
        out,
        name=name,
        features=check_hashes({module: state["meta"] for module, state in states.items()}),
        module_configs={module: module_config(module, states) for module in modules},
        tensors={module: module_tensors(module, states) for module in modules},
        licence=licence,
        provenance=provenance,
        synthesis=synthesis,
        scores=scores,
        training=training_history(runs, states),
        eight_bits=small,
    )
    return checked_size(out, small)


def checked_size(folder: Path, small: bool) -> int:
    """Return the size of a voice folder in bytes; raises VoiceError where it is larger than such a voice may be."""
    most = SMALL_BYTES if small else MAX_BYTES
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    if size > most:
        raise VoiceError(f"{folder} has {size / 1e6:.2f} MB, more than {most / 1e6:.0f}; make the modules smaller")
    return size


def read_scores(paths: Sequence[Path]) -> dict[str, Any]:
    """Merge JSON files of figures, one key a file: the file's stem."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    defaults = SynthesisDefaults()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", help="default: the name of the output folder")
    parser.add_argument(
        "--scores", type=Path, nargs="*", default=[], help="JSON files written by the evaluate commands"
    )
    parser.add_argument("--licence", default="Apache-2.0")
    parser.add_argument(
        "--provenance", default="trained from audio and text alone, on speech of the teacher named in NOTICE"
    )
    parser.add_argument("--temperature-voiced", type=float, default=defaults.temperature_voiced)
    parser.add_argument("--temperature-unvoiced", type=float, default=defaults.temperature_unvoiced)
    parser.add_argument("--floor", type=float, default=defaults.floor)
    parser.add_argument("--small", action="store_true", help="int8, without segmentation, at most 4 MB")
    arguments = parser.parse_args(argv)

    def work() -> int:
        synthesis = SynthesisDefaults(
            temperature_voiced=arguments.temperature_voiced,
            temperature_unvoiced=arguments.temperature_unvoiced,
            floor=arguments.floor,
        )
        size = pack(
            arguments.runs,
            arguments.out,
            name=arguments.name or arguments.out.resolve().name,
            licence=arguments.licence,
            provenance=arguments.provenance,
            scores=read_scores(arguments.scores),
            synthesis=synthesis,
            small=arguments.small,
        )
        print(f"{arguments.out}: {size / 1e6:.2f} MB")
        return 0

    return reported(work)


if __name__ == "__main__":
    raise SystemExit(main())
