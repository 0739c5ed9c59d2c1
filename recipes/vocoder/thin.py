"""Take layers out of a trained conditioner: where the training of a smaller one begins.

    python -m deepvoice.recipes.vocoder.thin RUNS/conditioner/last.pt --out FILE --phone 0 --frame 0 2 5 7

Every layer adds to a residual sum, so what is left still speaks, and 1,500 steps of `train_conditioner --warm-start
FILE` mend most of it. The config of the smaller one has as many phone_layers, and the dilations of the layers kept.
"""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deepvoice.recipes.common.checkpoint import load_checkpoint, save_checkpoint


def kept_layers(weights: dict[str, Any], name: str, kept: Sequence[int]) -> dict[str, Any]:
    """Return the weights with the layers `name`.0, `name`.1, ... of a list only, numbered anew.

    Raises ValueError for a layer that is not there.
    """
    number = re.compile(rf"{re.escape(name)}\.(\d+)\.(.*)")
    found = {int(match[1]) for key in weights if (match := number.fullmatch(key))}
    if missing := set(kept) - found:
        raise ValueError(f"{name} has no layer {min(missing)}; its layers are 0 to {max(found, default=-1)}")
    thinned = {}
    for key, value in weights.items():
        match = number.fullmatch(key)
        if match is None:
            thinned[key] = value
        elif int(match[1]) in kept:
            thinned[f"{name}.{list(kept).index(int(match[1]))}.{match[2]}"] = value
    return thinned


def thin(checkpoint: dict[str, Any], phone: Sequence[int], frame: Sequence[int]) -> dict[str, Any]:
    """Return a checkpoint at step 0 with the averaged weights of the layers kept, in ascending order."""
    weights = kept_layers(checkpoint["ema"], "phone_convs", sorted(phone))
    weights = kept_layers(weights, "frame_convs", sorted(frame))
    inner = checkpoint["config"]["conditioner"]
    smaller = {
        **inner,
        "phone_layers": len(phone),
        "frame_dilations": [inner["frame_dilations"][i] for i in sorted(frame)],
    }
    config = {**checkpoint["config"], "conditioner": smaller}
    return {"config": config, "meta": checkpoint["meta"], "step": 0, "skipped": 0, "ema": weights, "model": weights}


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--phone", type=int, nargs="+", required=True, metavar="N", help="phone layers to keep")
    parser.add_argument("--frame", type=int, nargs="+", required=True, metavar="N", help="frame layers to keep")
    arguments = parser.parse_args(argv)
    thinned = thin(load_checkpoint(arguments.checkpoint), arguments.phone, arguments.frame)
    save_checkpoint(thinned, arguments.out)
    print(f"{arguments.out}: dilations {thinned['config']['conditioner']['frame_dilations']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
