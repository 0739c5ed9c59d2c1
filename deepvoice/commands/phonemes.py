"""`deepvoice phonemes`: how a text will be pronounced."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from deepvoice.commands.arguments import (
    add_common_arguments,
    add_text_arguments,
    add_voice_argument,
    describe_dropped,
    read_text,
)

if TYPE_CHECKING:
    from deepvoice.text.frontend import Analysis, Sentence, Word


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_text_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print words with their characters and phones as JSON")
    add_voice_argument(parser)
    add_common_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the phones; returns the exit status."""
    text = read_text(arguments)
    from deepvoice.pipeline import load_front_end

    analysis = load_front_end(arguments.voice).analyse(text)
    dropped = analysis.report.dropped
    if arguments.strict and dropped:
        print(f"deepvoice: refused: not spoken: {describe_dropped(dropped)} (--strict)", file=sys.stderr)
        return 3
    if arguments.json:
        print(json.dumps(describe(analysis), indent=1))  # ASCII: any console can show it
        return 0
    for sentence in analysis.sentences:
        print(_line(sentence))
    if dropped and not arguments.quiet:
        print(f"deepvoice: warning: not spoken: {describe_dropped(dropped)}", file=sys.stderr)
    return 0


def describe(analysis: "Analysis") -> dict[str, Any]:
    """Return an analysis as plain data: sentences of words with character spans and phones, and the report."""
    return {
        "sentences": [_sentence(sentence) for sentence in analysis.sentences],
        "normalised": [change._asdict() for change in analysis.report.normalised],
        "unknown": list(analysis.report.unknown),
        "dropped": [piece._asdict() for piece in analysis.report.dropped],
    }


def _sentence(sentence: "Sentence") -> dict[str, Any]:
    words = [_word(word) for word in sentence.words]
    return {"start": sentence.start, "end": sentence.end, "words": words, "phones": list(sentence.sequence.symbols)}


def _word(word: "Word") -> dict[str, Any]:
    """A word; "reading" names the one chosen when it is a homograph, such as "read_past"."""
    plain = {"word": word.text, "start": word.start, "end": word.end, "phones": list(word.phones)}
    return plain | {"source": word.source} | ({"reading": word.reading} if word.reading else {})


def _line(sentence: "Sentence") -> str:
    """Symbols of a sentence with a bar between words."""
    sequence = sentence.sequence
    parts = []
    for i, (symbol, word) in enumerate(zip(sequence.symbols, sequence.word_of, strict=True)):
        if word >= 0 and i and sequence.word_of[i - 1] >= 0 and sequence.word_of[i - 1] != word:
            parts.append("|")
        parts.append(symbol)
    return " ".join(parts)
