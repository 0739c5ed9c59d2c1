"""`deepvoice prepare`: check a folder of recordings and make a corpus of it that the recipes train on."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from deepvoice.commands.arguments import UsageError, add_voice_argument, number

if TYPE_CHECKING:
    from deepvoice.recipes.recordings.prepare import Prepared

_SHOWN = 20  # refusals listed; refused.tsv has all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "folder", type=Path, metavar="DIR",
        help="metadata.csv with wavs/, one .csv or .tsv, manifest.jsonl, or a .txt for each sound",
    )  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder for the corpus")
    parser.add_argument("--table", type=Path, metavar="FILE", help="the table with the texts, where there are several")
    parser.add_argument(
        "--margin", type=number(0, 2, "0.15"), default=0.15, metavar="SECONDS",
        help="silence at both ends of what is written; default: 0.15",
    )  # fmt: skip
    parser.add_argument(
        "--longest", type=number(1, 60, "30"), default=30.0, metavar="SECONDS",
        help="longer recordings are refused, up to 60; default: 30",
    )  # fmt: skip
    parser.add_argument(
        "--range", type=number(0, 60, "10"), default=10.0, metavar="DB",
        help="how far speech must stand out of the noise in its pauses; default: 10",
    )  # fmt: skip
    parser.add_argument("--no-listen", action="store_true", help="do not compare the texts with what is said")
    parser.add_argument("-j", "--jobs", type=int, metavar="N", help="processes; default: one for each core")
    add_voice_argument(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def run(arguments: argparse.Namespace) -> int:
    """Check the recordings; returns the exit status: 1 when none of them can be used."""
    from deepvoice.machine import usable_cores
    from deepvoice.recipes.recordings.examine import Limits
    from deepvoice.recipes.recordings.prepare import prepare

    jobs = usable_cores() if arguments.jobs is None else arguments.jobs
    if not 1 <= jobs <= 256:
        raise UsageError(f"--jobs is {jobs}; expected 1 to 256")
    started = time.perf_counter()

    def tell(done: int, all_: int) -> None:
        if not arguments.quiet and sys.stderr.isatty():
            left = (time.perf_counter() - started) / done * (all_ - done)
            end = "\n" if done == all_ else ""
            print(f"\r{done} of {all_} recordings, {left:.0f} s left \x1b[K", end=end, file=sys.stderr, flush=True)

    prepared = prepare(
        arguments.folder,
        arguments.output,
        limits=Limits(margin=arguments.margin, longest=arguments.longest, range=arguments.range),
        table=arguments.table,
        voice=arguments.voice,
        listen=not arguments.no_listen,
        jobs=jobs,
        tell=tell,
    )
    if not arguments.quiet:
        _tell_result(prepared)
    return 0 if prepared.kept else 1


def _tell_result(prepared: "Prepared") -> None:
    """Say on standard error what became of the folder."""
    refused = prepared.all_refused()
    for place, reason in refused[:_SHOWN]:
        print(f"{place}: {reason}", file=sys.stderr)
    if len(refused) > _SHOWN:
        print(f"and {len(refused) - _SHOWN} more: {prepared.out / 'refused.tsv'}", file=sys.stderr)
    for remark in prepared.remarks:
        print(remark, file=sys.stderr)
    again = f" ({prepared.again} were examined before)" if prepared.again else ""
    print(
        f"{len(prepared.kept)} of {len(prepared.examined)} recordings{again}, {prepared.seconds / 60:.1f} min, "
        f"{len(refused)} files or lines not used; report: {prepared.out / 'report.html'}",
        file=sys.stderr,
    )
