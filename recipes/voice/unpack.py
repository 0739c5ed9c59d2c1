"""The opposite of `pack`: the modules of a voice folder as checkpoints, from which training can go on.

    python -m deepvoice.recipes.voice.unpack heart --out DIR

DIR gets a folder for each module with its `last.pt`. The checkpoints hold the weights alone, at step 0: a training run
begins from them with `--warm-start DIR/MODULE/last.pt` and a folder of its own.
"""

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from deepvoice.config import to_dict
from deepvoice.networks.vocoder import CONDITIONER, LIMITS
from deepvoice.recipes.common.checkpoint import save_checkpoint
from deepvoice.recipes.common.command import reported
from deepvoice.text.phones import phone_set_hash
from deepvoice.voice import MODULES, VoiceFolder, load_voice


def read(name: str | Path) -> VoiceFolder:
    """Read all modules of a voice, given by name or path; raises VoiceError."""
    return load_voice(name, None)


def weights_of(voice: VoiceFolder) -> dict[str, dict[str, torch.Tensor]]:
    """Return the weights of every module that is trained on its own, by torch's names."""
    weights = {
        module: {key: torch.from_numpy(value.copy()) for key, value in tensors.items()}
        for module, tensors in voice.tensors.items()
    }
    whole = weights["vocoder"]
    weights["vocoder"] = {k: v for k, v in whole.items() if not k.startswith(CONDITIONER) and k != LIMITS}
    weights["conditioner"] = {k.removeprefix(CONDITIONER): v for k, v in whole.items() if k.startswith(CONDITIONER)}
    return weights


def config_of(voice: VoiceFolder, module: str) -> Any:
    """Return the config that a module is trained with: the conditioner and the vocoder share one, not calibrated."""
    if module in ("conditioner", "vocoder"):
        return dataclasses.replace(voice.configs["vocoder"], calibrated=False)
    return voice.configs[module]


def checkpoint_of(voice: VoiceFolder, module: str, weights: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """Return what a checkpoint of these weights holds, at step 0 and without an optimiser."""
    return {
        "config": to_dict(config_of(voice, module)),
        "meta": {"features": voice.manifest.features, "phones": phone_set_hash()},
        "step": 0,
        "skipped": 0,
        "ema": dict(weights),
        "model": dict(weights),
    }


def unpack(name: str | Path, out: Path, modules: Sequence[str] | None = None) -> list[Path]:
    """Write DIR/MODULE/last.pt for the modules of a voice, all by default; returns the paths. Raises VoiceError."""
    voice = read(name)
    paths = []
    for module, weights in weights_of(voice).items():
        if modules is not None and module not in modules:
            continue
        path = out / module / "last.pt"
        path.parent.mkdir(parents=True, exist_ok=True)
        save_checkpoint(checkpoint_of(voice, module, weights), path)
        paths.append(path)
    return paths


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("voice", help="name of a voice or path of its folder")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--modules", nargs="+", choices=[*MODULES, "conditioner"], help="default: all")
    arguments = parser.parse_args(argv)

    def work() -> int:
        print(f"{len(unpack(arguments.voice, arguments.out, arguments.modules))} modules -> {arguments.out}")
        return 0

    return reported(work)


if __name__ == "__main__":
    raise SystemExit(main())
