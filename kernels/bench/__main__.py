"""Speed of the WaveNet kernel with random weights of any size: `python -m deepvoice.kernels.bench`.

Every variant is first held to the numpy reference, then timed on one core. A multiple of real time is seconds of sound
for a second of processor time, so that a busy machine disturbs it little.
"""

import argparse
import json
import sys

from deepvoice import kernels
from deepvoice.kernels.bench.inner import as_dict, measure
from deepvoice.kernels.bench.inputs import make_shape
from deepvoice.kernels.weights import PRECISIONS, random_weights

_RATE = 24000  # Hz


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m deepvoice.kernels.bench", description=__doc__)
    parser.add_argument("--residual", type=int, default=64, help="R (default %(default)s)")
    parser.add_argument("--skip", type=int, default=128, help="S (default %(default)s)")
    parser.add_argument("--head", type=int, default=64, help="H (default %(default)s)")
    parser.add_argument("--bunch", type=int, default=6, help="samples a step (default %(default)s)")
    parser.add_argument("--dilations", default="1,2,4,8,16,32,1,2,4,8,16,32", help="(default %(default)s)")
    parser.add_argument("--precision", choices=PRECISIONS, action="append", help="may be repeated (default: all)")
    parser.add_argument("--streams", type=int, action="append", help="side by side; may be repeated (default: 1 and 8)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of the sound (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="the best counts (default %(default)s)")
    parser.add_argument("--full-precision", action="store_true", help="weights that half precision cannot hold")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return the exit status."""
    options = _parse(arguments)
    kernels.resolve("cpu")
    dilations = tuple(int(d) for d in options.dilations.split(","))
    shape = make_shape(options.residual, options.skip, options.head, options.bunch, dilations)
    rows, _ = measure(
        random_weights(shape, half=not options.full_precision),
        sample_rate=_RATE,
        isas=kernels.supported_isas(),
        precisions=options.precision or PRECISIONS,
        streams=options.streams or (1, 8),
        frames=max(1, round(options.seconds * _RATE / shape.hop)),
        repeats=options.repeats,
    )
    if options.json:
        table = [as_dict(row) for row in rows]
        json.dump({"residual": shape.residual, "skip": shape.skip, "bunch": shape.bunch, "rows": table}, sys.stdout)
        print()
        return 0
    print(f"WaveNet R {shape.residual}, S {shape.skip}, H {shape.head}, bunch {shape.bunch}, dilations {dilations}")
    print("isa        precision streams     error ns/sample x real time of limit")
    for row in rows:
        print(
            f"{row.isa:10} {row.precision:9} {row.streams:7} {row.error:9.1e} {row.ns_a_sample:9.0f} {row.x:11.1f} "
            f"{100 * row.share:6.0f} %"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
