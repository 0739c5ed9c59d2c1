"""Everything that is promised about how a voice sounds, measured by one command, beside its bars.

    python -m deepvoice.recipes.evaluation.suite PROMPTS --work DIR [--voice NAME_OR_FOLDER] [--parts words,hour]

PROMPTS is the file of the corpus (`id<TAB>text`, LJSpeech's metadata.csv or plain text); its last `--held-out` lines
are the test prompts, those before fill the hour. WORK keeps the teacher's recordings, what was heard in every
recording, and the figures of each part: a run that was stopped goes on where it was, and `--parts` measures some
again. Prints a Markdown table and writes WORK/suite.json. Needs the [train] and [eval] extras and hibari-tts.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from deepvoice.errors import ConfigError
from deepvoice.pipeline import Voice
from deepvoice.recipes.common.command import reported
from deepvoice.recipes.corpora.transcripts import read_transcripts
from deepvoice.recipes.evaluation import parts, questions
from deepvoice.recipes.evaluation.listen import open_recogniser
from deepvoice.recipes.evaluation.listener import Listener
from deepvoice.recipes.evaluation.run import predictor, write_json
from deepvoice.recipes.evaluation.sentences import read_items

VARIED = Path(__file__).with_name("varied.txt")
PARTS: dict[str, Callable[[parts.Bench], dict[str, Any]]] = {
    "words": lambda bench: parts.words(bench, "prompts", bench.prompts),
    "varied": lambda bench: parts.words(bench, "varied", bench.varied),
    "rates": parts.rates,
    "pitches": parts.pitches,
    "hour": parts.hour,
    "questions": lambda bench: questions.evaluate(bench.voice, questions.read_triples()),
    "signal": parts.signal,
}


class Line(NamedTuple):
    """One line of the table; holds: whether the bar is met."""

    what: str
    bar: str
    seen: str
    holds: bool


def lines(figures: Mapping[str, Any]) -> list[Line]:
    """Return the table of the parts that were measured."""
    found: list[Line] = []
    for part, name in (("words", "test prompts"), ("varied", "varied sentences")):
        if part in figures:
            found += _words(f"{figures[part]['sentences']} {name}", figures[part])
    for rate, row in figures.get("rates", {}).items():
        found.append(_above(f"speed {rate}, {row['sentences']} prompts", row, 5.0, "rate"))
    for pitch, row in figures.get("pitches", {}).items():
        if pitch not in ("sentences", "0"):
            fall = row["fall"]
            seen = f"{fall['mean']:.2f} ({fall['low']:.2f} to {fall['high']:.2f}), to {row['distillmos']['mean']:.2f}"
            found.append(Line(f"pitch {pitch} semitones, DistillMOS falls by", "<= 0.5", seen, fall["mean"] <= 0.5))
    if "hour" in figures:
        found += _hour(figures["hour"])
    if "questions" in figures:
        found += _questions(figures["questions"])
    if "signal" in figures:
        found += _signal(figures["signal"])
    return found


def _words(name: str, row: Mapping[str, Any]) -> list[Line]:
    ours, theirs = row["distillmos"], row["teacher_distillmos"]
    seen = f"{ours['mean']:.2f} ({ours['low']:.2f} to {ours['high']:.2f}); teacher {theirs['mean']:.2f}"
    return [_above(name, row, 2.0, "high"), Line(f"{name}, DistillMOS", ">= 3.5", seen, ours["mean"] >= 3.5)]


def _above(name: str, row: Mapping[str, Any], bar: float, held: str) -> Line:
    above, ours, theirs = (row[key] for key in ("word_errors_above_teacher", "word_errors", "teacher_word_errors"))
    seen = (
        f"{above['rate']:+.2f} ({above['low']:+.2f} to {above['high']:+.2f}) points: "
        f"{ours['rate']:.2f} %, teacher {theirs['rate']:.2f} %"
    )
    bound = "upper bound " if held == "high" else ""
    return Line(f"{name}, word errors above the teacher's", f"{bound}<= {bar:g}", seen, above[held] <= bar)


def _hour(row: Mapping[str, Any]) -> list[Line]:
    name = f"{row['seconds']:.0f} s of speech, {row['sentences']} sentences"
    return [
        Line(f"{name}, bursts", "0", str(len(row["bursts"])), not row["bursts"]),
        Line(f"{name}, clipped samples", "0", str(row["clipped_samples"]), row["clipped_samples"] == 0),
    ]


def _questions(row: Mapping[str, Any]) -> list[Line]:
    rise = "yes_no_ends_3_semitones_above_statement_percent"
    bars = {
        rise: ("yes/no questions end >= 3 semitones above the statement", 100.0),
        "question word_falls_percent": ("questions with a question word fall", 100.0),
        "statement_falls_percent": ("statements fall", 100.0),
        "frames_within_a_tenth_of_the_contour_percent": ("voiced frames within 10 % of the contour", 90.0),
    }
    return [
        Line(f"{row['triples']} triples, {name}", f"{bar:g} %", f"{row[key]:.1f} %", row[key] >= bar)
        for key, (name, bar) in bars.items()
    ]


def _signal(row: Mapping[str, Any]) -> list[Line]:
    name = f"{row['sentences']} sentences"
    keys = {
        "noise_floor_dbfs": "silence, loudest 20 ms",
        "offset_dbfs": "offset",
        "edges_dbfs": "first and last sample",
    }
    found = []
    for key, what in keys.items():
        value = -120.0 if row[key] is None else row[key]
        found.append(Line(f"{name}, {what}", "< -60 dBFS", f"{value:.1f} dBFS", value < -60))
    worst = max(row["lines_db"].values(), default=0.0)
    seen = (
        ", ".join(f"{value:+.2f} dB at {hertz} Hz" for hertz, value in row["lines_db"].items()) or "one sample a step"
    )
    return [*found, Line(f"{name}, lines at the rate of the steps", "<= 1 dB", seen, worst <= 1.0)]


def markdown(rows: Sequence[Line]) -> str:
    """Return the table."""
    head = ["| what | bar | seen | holds |", "|---|---|---|---|"]
    return "\n".join(
        head + [f"| {row.what} | {row.bar} | {row.seen} | {'yes' if row.holds else 'no'} |" for row in rows]
    )


def bench_of(arguments: argparse.Namespace) -> parts.Bench:
    """Load the voice, the listeners and the sentences."""
    recogniser = open_recogniser(arguments.recogniser, arguments.model)
    if recogniser is None:
        raise ConfigError("the suite counts word errors: expected a recogniser, --recogniser whisper or pocketsphinx")
    texts = [row.text for row in read_transcripts(arguments.prompts)]
    if len(texts) < arguments.held_out:
        raise ConfigError(f"{arguments.prompts} has {len(texts)} prompts; expected at least {arguments.held_out}")
    return parts.Bench(
        voice=Voice.load(arguments.voice, threads=1),
        listener=Listener(recogniser, predictor(), arguments.work / "heard.jsonl"),
        recordings=parts.Recordings(arguments.work / "teacher"),
        prompts=texts[-arguments.held_out :],
        varied=[item.text for item in read_items(VARIED)],
        filler=texts[: -arguments.held_out][::-1],
    )


def parser() -> argparse.ArgumentParser:
    """Declare the command line."""
    declared = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    declared.add_argument("prompts", type=Path)
    declared.add_argument("--work", type=Path, required=True, metavar="DIR")
    declared.add_argument("--voice")
    declared.add_argument("--parts", default=",".join(PARTS), help="some of %(default)s")
    declared.add_argument("--held-out", type=int, default=300, metavar="N")
    declared.add_argument("--recogniser", choices=("auto", "whisper", "pocketsphinx"), default="auto")
    declared.add_argument("--model", metavar="NAME|DIR")
    return declared


def run(arguments: argparse.Namespace) -> int:
    """Measure the parts that were asked for; returns 0 when every bar is met, else 1."""
    chosen = arguments.parts.split(",")
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        raise ConfigError(f"--parts has {unknown[0]!r}; expected some of {', '.join(PARTS)}")
    bench = bench_of(arguments)
    path = arguments.work / "suite.json"
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in chosen:
        result[name] = PARTS[name](bench)
        result["heard_by"] = bench.listener.recogniser.name
        write_json(result, path)
    table = lines(result)
    print(markdown(table))
    return 0 if all(row.holds for row in table) else 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    arguments = parser().parse_args(argv)
    return reported(lambda: run(arguments))


if __name__ == "__main__":
    raise SystemExit(main())
