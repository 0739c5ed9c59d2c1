"""Pauses that the text does not mark: a speaker rests between two words where no comma stands.

    python -m deepvoice.recipes.segmentation.pauses MANIFEST ALIGNMENTS --out DIR

The aligner has no symbol for such a rest and gives it to the phone beside it, and everything trained on that alignment
learns phones with silence inside. This step writes a manifest and an alignment in which each becomes a pause symbol of
its own; the audio and the features stay where they are.
"""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import MelSpec
from deepvoice.recipes.common.data import read_alignments
from deepvoice.recipes.common.features import FeatureCache, read_manifest
from deepvoice.recipes.corpora.recorded import write_manifest
from deepvoice.recipes.segmentation.align import write_alignments
from deepvoice.recipes.segmentation.silence import longest_run, silent_frames
from deepvoice.text.phones import SILENCES

_STOPS = frozenset("P T K B D G CH JH".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseRule:
    """What counts as an unmarked pause.

    depth: decibels below the loud frames of the utterance; frames: least length; symbol: what is inserted
    closure: frames before a stop that are its own, not the pause's; remainder: frames that every phone keeps
    """

    depth: float = 45.0
    frames: int = 20
    symbol: str = ","
    closure: int = 8
    remainder: int = 4


class Aligned(NamedTuple):
    """Symbols, the word of each (-1 for silences) and their frames."""

    symbols: list[str]
    word_of: list[int]
    durations: list[int]


def _shares(symbol: str, silent_F: NDArray[np.bool_], initial: bool, final: bool, rule: PauseRule) -> tuple[int, int]:
    """Frames at the start and at the end of a phone that are a pause; at most one of them is not 0."""
    first, last = longest_run(silent_F)
    if last - first < rule.frames:
        return 0, 0
    total = len(silent_F)
    if initial and first <= total - last:  # silence, then the phone
        return max(0, min(last - (rule.closure if symbol in _STOPS else 0), total - rule.remainder)), 0
    if final and first >= total - last:  # the phone, then silence
        return 0, max(0, min(total - first, total - rule.remainder))
    return 0, 0


def insert_pauses(aligned: Aligned, energy_F: NDArray[np.float32], rule: PauseRule) -> Aligned:
    """Give silence at the edges of words to a pause symbol: the one that is there, or a new one.

    energy_F: float32 [F] log power, F the sum of the durations, which is kept
    """
    silent_F = silent_frames(energy_F, rule.depth)
    out = Aligned([], [], [])
    start = 0

    def pause(frames: int) -> None:
        if frames and out.symbols[-1] in SILENCES:
            out.durations[-1] += frames
        elif frames:
            _append(out, rule.symbol, -1, frames)

    symbols, word_of = aligned.symbols, aligned.word_of
    carried = 0  # frames of a pause that goes to the silence symbol that follows
    for i, (symbol, word, frames) in enumerate(zip(symbols, word_of, aligned.durations, strict=True)):
        before = after = 0
        if symbol not in SILENCES:
            initial, final = word != word_of[i - 1], word != word_of[i + 1]
            before, after = _shares(symbol, silent_F[start : start + frames], initial, final, rule)
        pause(before)
        _append(out, symbol, word, frames - before - after + carried)
        carried = 0
        if after and symbols[i + 1] in SILENCES:
            carried = after
        else:
            pause(after)
        start += frames
    return out


def _append(out: Aligned, symbol: str, word: int, frames: int) -> None:
    out.symbols.append(symbol)
    out.word_of.append(word)
    out.durations.append(frames)


def revise(manifest: Path, alignments: Path, out: Path, rule: PauseRule) -> tuple[int, int]:
    """Write manifest.jsonl and alignments.jsonl into `out`, with the audio's paths made relative to it.

    Returns the utterances and the pauses that were inserted. An alignment whose length differs from its features, or
    from its phones, raises ValueError.
    """
    cache = FeatureCache(manifest.parent / "features", MelSpec())
    durations = read_alignments(alignments)
    rows, aligned, inserted = [], {}, 0
    audio = Path(os.path.relpath(manifest.parent, out))
    for row in read_manifest(manifest):
        row["audio"] = str(audio / row["audio"])
        if row["id"] in durations:
            revised = _revise_row(row, durations[row["id"]], cache, rule)
            inserted += len(revised.symbols) - len(row["phones"].split())
            row |= {"phones": " ".join(revised.symbols), "word_of": revised.word_of}
            aligned[row["id"]] = np.array(revised.durations)
        rows.append(row)
    out.mkdir(parents=True, exist_ok=True)
    write_manifest(rows, out / "manifest.jsonl")
    write_alignments(aligned, [row["id"] for row in rows], out / "alignments.jsonl")
    return len(rows), inserted


def _revise_row(row: dict[str, Any], durations: Sequence[int], cache: FeatureCache, rule: PauseRule) -> Aligned:
    symbols = row["phones"].split()
    frames = cache.frames(row["id"])
    if len(symbols) != len(durations) or sum(durations) != frames:
        raise ValueError(
            f"alignment of {row['id']}: {len(durations)} durations of {sum(durations)} frames for {len(symbols)} "
            f"symbols and {frames} frames; run the alignment step again on this manifest"
        )
    return insert_pauses(Aligned(symbols, row["word_of"], list(durations)), cache[row["id"]].energy_F, rule)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Give pauses that the text does not mark a symbol of their own.")
    parser.add_argument("manifest", type=Path, help="corpus manifest, with features/ beside it")
    parser.add_argument("alignments", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for the new manifest and alignments")
    arguments = parser.parse_args(argv)
    utterances, inserted = revise(arguments.manifest, arguments.alignments, arguments.out, PauseRule())
    print(f"{inserted} pauses in {utterances} utterances -> {arguments.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
