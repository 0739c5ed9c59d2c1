"""How questions end: yes/no questions high, those with a question word and statements low.

    python -m deepvoice.recipes.evaluation.questions [--voice NAME_OR_FOLDER] [--seed N] [--json FILE]

`questions.tsv` beside this file has 50 triples: a yes/no question, one with a question word, a statement. Pitch is
tracked in the sound (WORLD's DIO), and compared with the contour that was asked for. Needs the [train] extra.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import deepvoice
from deepvoice.audio.mel import FloatArray
from deepvoice.recipes.common.command import reported
from deepvoice.recipes.common.pitch import track_f0
from deepvoice.recipes.common.progress import progress

_END = 0.1  # s of voiced sound at the end whose median counts
_HOP_SECONDS = 0.005
_WITHIN = 0.1  # of the pitch asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Pitch of a sentence in semitones above 1 Hz: its median and its end; and what was asked for.

    followed, voiced: frames within a tenth of the pitch asked for, of those that are voiced in both
    """

    median: float
    end: float
    followed: int
    voiced: int


def requested(voice: "deepvoice.Voice", text: str) -> FloatArray:
    """Return the pitch that a voice means to have in every frame of 5 ms, 0 where unvoiced."""
    stream = voice.stream(text)
    hop = round(voice.sample_rate * _HOP_SECONDS)
    contours = [(first, prosody) for first, prosody in stream.contours()]
    out = np.zeros(-(-stream.count_samples() // hop) + 1, np.float32)
    for first, prosody in contours:
        start = round(first / hop)
        found = np.where(prosody.voiced_F, prosody.f0_F, 0.0)
        out[start : start + len(found)] = found[: len(out) - start]
    return out


def ending(voice: "deepvoice.Voice", text: str, seed: int | None = None) -> Ending:
    """Speak a sentence and measure its pitch; seed: of the vocoder's draws, None for the voice's own."""
    wanted_F = requested(voice, text)
    speech = voice.speak(text, seed=seed)
    hop = round(speech.sample_rate * _HOP_SECONDS)
    frames = min(len(wanted_F), len(speech.samples) // hop)
    found_F, wanted_F = track_f0(speech.samples, speech.sample_rate, hop, frames), wanted_F[:frames]
    both = (found_F > 0) & (wanted_F > 0)
    if both.sum() < 5:
        raise ValueError(f"{text!r}: {both.sum()} voiced frames; expected a voice that speaks")
    level = 12 * np.log2(found_F[both])
    near = np.abs(found_F[both] / wanted_F[both] - 1) <= _WITHIN
    last = level[-round(_END / _HOP_SECONDS) :]
    return Ending(
        median=float(np.median(level)), end=float(np.median(last)), followed=int(near.sum()), voiced=int(both.sum())
    )


def read_triples() -> list[tuple[str, str, str]]:
    """Return the yes/no question, the question with a question word and the statement of every line."""
    lines = Path(__file__).with_name("questions.tsv").read_text(encoding="utf-8").splitlines()
    return [(a, b, c) for a, b, c in (line.split("\t") for line in lines)]


def evaluate(voice: "deepvoice.Voice", triples: list[tuple[str, str, str]], seed: int | None = None) -> dict[str, Any]:
    """Return shares in percent and mean rises in semitones."""
    rows = [tuple(ending(voice, text, seed) for text in triple) for triple in progress(triples, "questions")]
    rise = np.array([yes_no.end - statement.end for yes_no, _, statement in rows])
    falls = {
        name: np.array([row[i].end - row[i].median for row in rows])
        for i, name in ((1, "question word"), (2, "statement"))
    }
    followed, voiced = (sum(getattr(one, name) for row in rows for one in row) for name in ("followed", "voiced"))
    return {
        "triples": len(rows),
        "yes_no_ends_3_semitones_above_statement_percent": float(100 * (rise >= 3).mean()),
        "rise_semitones_mean": float(rise.mean()),
        **{f"{name}_falls_percent": float(100 * (fall < 0).mean()) for name, fall in falls.items()},
        **{f"{name}_fall_semitones_least": float(-fall.max()) for name, fall in falls.items()},
        "frames_within_a_tenth_of_the_contour_percent": 100 * followed / voiced,
    }


def run(arguments: argparse.Namespace) -> int:
    """Print the figures of a voice."""
    result = evaluate(deepvoice.load(arguments.voice), read_triples(), arguments.seed)
    for name, value in result.items():
        print(f"{name.replace('_', ' ')}: {value:.1f}" if isinstance(value, float) else f"{name}: {value}")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voice")
    parser.add_argument("--seed", type=int, metavar="N", help="of the vocoder's draws; the voice's own by default")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args(argv)
    return reported(lambda: run(arguments))


if __name__ == "__main__":
    raise SystemExit(main())
