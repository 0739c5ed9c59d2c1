"""`deepvoice evaluate`: speak sentences and score the speech, alone or beside recordings."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from deepvoice.commands.arguments import add_speaking_arguments, add_voice_argument, speaking_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("sentences", type=Path, metavar="FILE", help="one sentence a line, or NAME, a tab, a sentence")
    add_voice_argument(parser)
    parser.add_argument(
        "--reference", type=Path, metavar="DIR",
        help="recordings of the sentences, NAME.wav (or flac, ogg, mp3, opus); names are 000, 001, ... without others",
    )  # fmt: skip
    parser.add_argument("-o", "--out", type=Path, metavar="DIR", help="write a page with players and pictures there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures; - is standard output")
    parser.add_argument("--limit", type=int, metavar="N", help="take only N sentences, evenly spread")
    parser.add_argument(
        "--recogniser", choices=("auto", "whisper", "pocketsphinx", "none"), default="auto",
        help="who listens for word errors (default: whisper where faster-whisper is installed, else pocketsphinx)",
    )  # fmt: skip
    parser.add_argument("--model", metavar="NAME|DIR", help="whisper model, such as tiny.en or a folder")
    parser.add_argument(
        "--align", action="store_true",
        help="let the aligner of the package listen too: words that it does not hear, goodness of pronunciation",
    )  # fmt: skip
    parser.add_argument("--no-mos", action="store_true", help="do not predict mean opinion scores")
    parser.add_argument("--no-pictures", action="store_true", help="a page without spectrograms")
    add_speaking_arguments(parser, single=False)
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def run(arguments: argparse.Namespace) -> int:
    """Evaluate and print the figures; returns the exit status."""
    from deepvoice.commands.arguments import UsageError
    from deepvoice.errors import ConfigError
    from deepvoice.pipeline import Voice

    if arguments.limit is not None and arguments.limit < 1:
        raise UsageError(f"--limit is {arguments.limit}; expected at least 1")
    if not arguments.sentences.is_file():
        raise UsageError(f"{arguments.sentences} is not a file; expected one with a sentence a line")
    try:
        from deepvoice.recipes.evaluation.run import Settings, evaluate, write_json
        from deepvoice.recipes.evaluation.score import table
        from deepvoice.recipes.evaluation.sentences import read_items
    except ImportError as error:
        raise ConfigError(f"evaluation needs {error.name}: pip install 'deepvoice[train,eval]'") from None
    items = read_items(arguments.sentences, arguments.reference, arguments.limit)
    settings = Settings(
        out=arguments.out,
        recogniser=arguments.recogniser,
        model=arguments.model,
        align=arguments.align,
        quality=not arguments.no_mos,
        pictures=not arguments.no_pictures,
        options=dict(speaking_options(arguments)),
        say=_silent if arguments.quiet else _say,
    )
    result: dict[str, Any] = evaluate(Voice.load(arguments.voice), items, settings)
    if arguments.json == Path("-"):
        print(json.dumps(result, indent=1, ensure_ascii=False))
        return 0
    if arguments.json is not None:
        write_json(result, arguments.json)
    print(table(result["figures"]))
    if arguments.out is not None:
        print(f"page: {arguments.out / 'index.html'}")
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _silent(_: str) -> None:
    pass
