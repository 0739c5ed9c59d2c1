"""`deepvoice bench`: verify the kernels and measure their speed, beside the machine's limits and other programs."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from deepvoice.commands.arguments import add_voice_argument

SECTIONS = ("inner", "layers", "whole", "process", "paper", "torch", "peers")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, metavar="SECTION",
        help=f"measure only this; may be repeated: {', '.join(SECTIONS)}",
    )  # fmt: skip
    add_voice_argument(parser)
    parser.add_argument("--core", type=int, metavar="N", help="processor core to stay on (default: the first)")
    parser.add_argument("--quick", action="store_true", help="a quick look: fewer variants, shorter sounds")
    parser.add_argument("--compile", action="store_true", help="measure torch.compile too; compiling takes minutes")
    parser.add_argument("--piper", metavar="PYTHON", help="Python of an environment with piper-tts, to measure it too")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write everything measured; - is standard output")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write the tables in Markdown")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw the inner loop's variants (needs matplotlib)")
    parser.add_argument("-q", "--quiet", action="store_true", help="do not say what is being measured")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; returns the exit status."""
    from deepvoice import kernels
    from deepvoice.errors import DeepVoiceError
    from deepvoice.recipes.bench import report, suite
    from deepvoice.recipes.bench.whole import first_core, pin

    kernels.resolve("cpu")
    core = first_core() if arguments.core is None else arguments.core
    try:
        pin(core)
    except OSError as error:
        raise DeepVoiceError(f"cannot stay on core {core}: {error}; name another with --core") from None
    settings = suite.Settings(
        voice=arguments.voice,
        core=core,
        quick=arguments.quick,
        compile=arguments.compile,
        piper=arguments.piper,
        say=_silent if arguments.quiet else _say,
    )
    wanted = arguments.only or [name for name in SECTIONS if not (arguments.quick and name in ("torch", "peers"))]
    result: dict[str, Any] = {"machine": suite.machine(settings)}
    for name in SECTIONS:
        if name in wanted:
            try:
                found = suite.RUNNERS[name](settings)
            except RuntimeError as error:
                raise DeepVoiceError(f"bench {name}: {error}") from None
            if found is not None:
                result[name] = found
    if arguments.json != Path("-"):
        machine = result["machine"]
        print(f"{machine['processor']}, core {machine['core']}\n\n{report.text(result)}")
    _write(arguments, result)
    return 0


def _write(arguments: argparse.Namespace, result: dict[str, Any]) -> None:
    from deepvoice.errors import DeepVoiceError
    from deepvoice.recipes.bench import report

    if arguments.json == Path("-"):
        print(json.dumps(result, indent=1))
    elif arguments.json is not None:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if arguments.markdown is not None:
        arguments.markdown.write_text(report.markdown(result), encoding="utf-8")
    if arguments.plot is not None:
        try:
            report.plot(result, arguments.plot)
        except ImportError:
            raise DeepVoiceError("the picture needs matplotlib: pip install matplotlib") from None


def _say(what: str) -> None:
    print(f"measuring {what} ...", file=sys.stderr, flush=True)


def _silent(_: str) -> None:
    pass
