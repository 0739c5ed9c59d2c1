"""Put a newly trained module into a voice folder; all others, and their scores, stay as they are.

    python -m deepvoice.recipes.voice.replace deepvoice/voices/heart segmentation runs/segmentation
        [--scores FILE.json] [--int8]

The run folder has the module's `last.pt` and its log. The module's own figures replace those in voice.json. Of the
vocoder the WaveNet and its calibration are replaced; the conditioner stays, unless `--conditioner` names a run of it.
"""

import argparse
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deepvoice.config import to_dict
from deepvoice.errors import VoiceError
from deepvoice.networks.vocoder import CONDITIONER
from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.common.command import reported
from deepvoice.recipes.vocoder.quantise import CALIBRATION
from deepvoice.recipes.voice.pack import checked_size, module_config, module_tensors, read_limits, training_history
from deepvoice.text.phones import phone_set_hash
from deepvoice.voice import FORMAT_VERSION, MODULES, SCALES, TEXT, VoiceManifest, load_voice, read_manifest
from deepvoice.voice_writer import write_manifest, write_module


def checkpoint_states(folder: Path, module: str, run: Path, conditioner: Path | None) -> dict[str, dict[str, Any]]:
    """Read the checkpoints that make up a module; the vocoder's conditioner from its run or from the voice itself."""
    states = {module: load_checkpoint(run / "last.pt")}
    if module == "vocoder":
        states[module]["limits"] = read_limits(run / CALIBRATION, states[module]["step"])
    if conditioner is not None:
        states["conditioner"] = load_checkpoint(conditioner / "last.pt")
    elif module == "vocoder":
        voice = load_voice(folder.absolute())
        kept = {
            name.removeprefix(CONDITIONER): torch.from_numpy(np.array(value))
            for name, value in voice.tensors[module].items()
            if name.startswith(CONDITIONER)
        }
        states["conditioner"] = {"config": to_dict(voice.configs[module]), "ema": kept}
    return states


def holds_int8(path: Path) -> bool:
    """Return whether a module's file holds its matrices as int8."""
    from safetensors import safe_open

    with safe_open(path, "numpy") as file:
        return any(name.endswith(SCALES) for name in file.keys())  # noqa: SIM118 - it is no mapping


def is_small(folder: Path, manifest: VoiceManifest, but: str) -> bool:
    """Return whether the voice is one of `pack --small`, by its other modules: int8, and no segmentation."""
    others = [folder / entry.file for module, entry in manifest.modules.items() if module != but]
    return "segmentation" not in manifest.modules and any(map(holds_int8, others))


def replace_module(
    folder: Path,
    module: str,
    run: Path,
    scores: Any = None,
    conditioner: Path | None = None,
    eight_bits: bool = False,
) -> int:
    """Write one module of a voice and return the size of the folder in bytes.

    folder: of the voice, whose old module need not be readable; run: folder with last.pt, named as the module or not
    conditioner: run folder of the vocoder's conditioner, where that is replaced too
    eight_bits: write its matrices as int8, half the size; in a voice whose other modules are so it is anyhow
    Raises VoiceError where the module does not fit the voice.
    """
    manifest = read_manifest(folder.absolute())
    if conditioner is not None and module != "vocoder":
        raise VoiceError(f"a conditioner belongs to the vocoder; it cannot be put in with {module}")
    states = checkpoint_states(folder, module, run, conditioner)
    wanted = {"phones": phone_set_hash(), **({} if module in TEXT else {"features": manifest.features})}
    runs = {module: run, **({} if conditioner is None else {"conditioner": conditioner})}
    for name, path in runs.items():
        meta = states[name]["meta"]
        for key, value in wanted.items():
            if meta.get(key) != value:
                raise VoiceError(
                    f"{path} was trained with {key} {meta.get(key)}, the voice has {value}; train it again"
                )
    small = is_small(folder, manifest, module)
    eight_bits = eight_bits or small
    entry = write_module(folder, module, module_config(module, states), module_tensors(module, states), eight_bits)
    history = {name: training_history(path.parent, {path.name: states[name]})[path.name] for name, path in runs.items()}
    changed = dataclasses.replace(
        manifest,
        format_version=FORMAT_VERSION if eight_bits else manifest.format_version,
        modules={**manifest.modules, module: entry},
        training={**manifest.training, **history},
        scores=manifest.scores if scores is None else {**manifest.scores, module: scores},
    )
    write_manifest(folder, changed)
    load_voice(folder.absolute())
    return checked_size(folder, small)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("voice", type=Path, help="folder of the voice")
    parser.add_argument("module", choices=tuple(MODULES))
    parser.add_argument("run", type=Path, help="folder with last.pt")
    parser.add_argument("--conditioner", type=Path, metavar="RUN", help="of the vocoder: its run folder with last.pt")
    parser.add_argument("--int8", action="store_true", help="its matrices as int8, half the size")
    parser.add_argument("--scores", type=Path, metavar="FILE", help="the module's figures, JSON")
    arguments = parser.parse_args(argv)

    def work() -> int:
        scores = json.loads(arguments.scores.read_text(encoding="utf-8")) if arguments.scores else None
        size = replace_module(
            arguments.voice, arguments.module, arguments.run, scores, arguments.conditioner, arguments.int8
        )
        print(f"{arguments.module} -> {arguments.voice}: {size / 1e6:.2f} MB")
        return 0

    return reported(work)


if __name__ == "__main__":
    raise SystemExit(main())
