"""Forced alignment by PocketSphinx's own acoustic model, of our phones: an independent row in the table of scores.

    python -m deepvoice.recipes.segmentation.pocketsphinx_baseline MANIFEST --out FILE [--rows held_out|test|all]

Writes alignments like `align`; utterances that it cannot align are left out.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from deepvoice.recipes.common.progress import progress
from deepvoice.recipes.corpora.recordings import to_rate
from deepvoice.recipes.segmentation.align import write_alignments
from deepvoice.recipes.segmentation.corpus import FRAME_MS as OUR_FRAME_MS
from deepvoice.recipes.segmentation.corpus import IntArray, chosen_rows, open_corpus
from deepvoice.text.phones import base, is_silence

SAMPLE_RATE = 16000  # of its acoustic model
FRAME_MS = 10.0
Spans = list[tuple[int, int]]  # first frame and frames of each phone; silences have none


class PocketSphinxAligner:
    """Aligns one utterance at a time, its words entered with the phones that our front end gave them."""

    def __init__(self) -> None:
        """Load the acoustic model that comes with the package."""
        from pocketsphinx import Decoder

        self._decoder = Decoder(lm=None, loglevel="FATAL", samprate=SAMPLE_RATE)
        self._known: dict[str, str] = {}

    def _word(self, phones: str) -> str:
        """Return the made-up word of a phone string."""
        if phones not in self._known:
            self._known[phones] = f"w{len(self._known):06d}"
            self._decoder.add_word(self._known[phones], phones, True)
        return self._known[phones]

    def __call__(self, path: Path, symbols: Sequence[str], word_of: Sequence[int]) -> NDArray[np.float64] | None:
        """Return the duration of every symbol in ms, float64 [P], or None where no alignment is found."""
        samples, rate = soundfile.read(path, dtype="float32")
        audio = np.rint(np.clip(to_rate(samples, rate, SAMPLE_RATE), -1, 1) * 32767).astype("<i2").tobytes()
        phones: dict[int, list[str]] = {}
        for symbol, word in zip(symbols, word_of, strict=True):
            if word >= 0:
                phones.setdefault(word, []).append(base(symbol))
        names = [self._word(" ".join(word)) for word in phones.values()]
        self._decoder.set_align_text(" ".join(names))
        try:
            self._run(audio)
            self._decoder.set_alignment()
            self._run(audio)
            spans = [
                (phone.start, phone.duration)
                for word in self._decoder.get_alignment()
                if word.name in names
                for phone in word
            ]
        except RuntimeError:  # the decoder's way to say that the words do not fit the sound
            return None
        return _durations(spans, symbols, len(samples) / rate * 1000)

    def _run(self, audio: bytes) -> None:
        self._decoder.start_utt()
        self._decoder.process_raw(audio, full_utt=True)
        self._decoder.end_utt()


def _durations(spans: Spans, symbols: Sequence[str], total_ms: float) -> NDArray[np.float64] | None:
    """Spread the frames of the phones over all symbols; silence goes to a pause or else to its left."""
    if len(spans) != sum(not is_silence(symbol) for symbol in symbols):
        return None
    starts, position = np.zeros(len(symbols) + 1), 0
    end = 0.0
    for i, symbol in enumerate(symbols):
        if is_silence(symbol):
            starts[i] = end
        else:
            first, length = spans[position]
            starts[i] = first * FRAME_MS
            end = (first + length) * FRAME_MS
            position += 1
    starts[-1] = total_ms
    return np.diff(starts)


def to_frames(durations_P: NDArray[np.float64], frames: int) -> IntArray:
    """Turn durations in ms into frames of 5 ms with the sum of the recording, int64 [P]."""
    cuts = np.rint(np.cumsum(durations_P)[:-1] / OUR_FRAME_MS).astype(np.int64)
    return np.diff(np.clip(cuts, 0, frames), prepend=0, append=frames)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Align a corpus with PocketSphinx (pip install pocketsphinx).")
    parser.add_argument("manifest", type=Path, help="corpus manifest, with features/ beside it")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--rows", choices=("dev", "test", "held_out", "all"), default="held_out")
    arguments = parser.parse_args(argv)
    corpus = open_corpus(arguments.manifest)
    rows, aligner, result = chosen_rows(corpus, arguments.rows), PocketSphinxAligner(), {}
    for row in progress(rows, "pocketsphinx"):
        audio = arguments.manifest.parent / row["audio"]
        durations_ms = aligner(audio, row["phones"].split(), row["word_of"])
        if durations_ms is not None:
            result[row["id"]] = to_frames(durations_ms, corpus.cache.frames(row["id"]))
    write_alignments(result, [row["id"] for row in rows], arguments.out)
    print(f"{len(result)} of {len(rows)} utterances -> {arguments.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
