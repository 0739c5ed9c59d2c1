"""Features and scores of a recording of any length, piece by piece; what is kept of hours lies in a temporary file."""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from deepvoice.alignment.scores import CHUNK, MARGIN, SPEC, Network, Sound, analyse_piece, read_pieces
from deepvoice.audio.mel import FloatArray, num_frames
from deepvoice.networks.segmentation import NO_LEVEL, SegmentationScores, level_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LongScores:
    """The network's readings of a whole recording, float16 in a file, and its log power.

    frame_FV, left_TV, right_TV, boundary_T: as in SegmentationScores; energy_F: float32; class_F: the likeliest class
    """

    frame_FV: NDArray[np.float16]
    left_TV: NDArray[np.float16]
    right_TV: NDArray[np.float16]
    boundary_T: NDArray[np.float16]
    energy_F: FloatArray
    class_F: NDArray[np.int64]
    stack: int

    def part(self, start: int, end: int) -> SegmentationScores:
        """Return the readings of frames [start, end); start must be the first of a step."""
        steps = slice(start // self.stack, -(-end // self.stack))
        return SegmentationScores(
            left_TV=self.left_TV[steps].astype(np.float32),
            right_TV=self.right_TV[steps].astype(np.float32),
            boundary_T=self.boundary_T[steps].astype(np.float32),
            frame_FV=self.frame_FV[start : steps.stop * self.stack].astype(np.float32),
        )


def read_scores(network: Network, stack: int, pieces: Iterable[FloatArray]) -> LongScores:
    """Run the network over samples at 24 kHz that come in pieces; memory does not grow with the recording.

    The spectrum of the whole comes first, for its level: beside it the noise of a silent beginning is no speech.
    """
    mel_FM, energy_F, level = _analyse(pieces)
    columns = [_Column() for _ in range(4)]
    class_: list[NDArray[np.int64]] = []
    for scores in read_pieces(network, mel_FM, stack, level):
        arrays = (scores.frame_FV, scores.left_TV, scores.right_TV, scores.boundary_T[:, None])
        for column, array in zip(columns, arrays, strict=True):
            column.write(array)
        class_.append(scores.frame_FV.argmax(axis=1))
    frame_FV, left_TV, right_TV, boundary_T1 = (column.array() for column in columns)
    return LongScores(
        frame_FV=frame_FV,
        left_TV=left_TV,
        right_TV=right_TV,
        boundary_T=boundary_T1[:, 0],
        energy_F=energy_F,
        class_F=np.concatenate(class_)[: len(energy_F)],
        stack=stack,
    )


class _Column:
    """An array [N, width] that grows in a file without a name, which ends with the array that is mapped from it."""

    def __init__(self) -> None:
        self._file, self._width = _nameless(), 0

    def write(self, rows_NW: FloatArray) -> None:
        """Add rows, as float16."""
        self._width = rows_NW.shape[1]
        self._file.write(np.maximum(rows_NW, np.float32(-6e4)).astype(np.float16).tobytes())

    def array(self) -> NDArray[np.float16]:
        """Return all rows."""
        self._file.flush()
        return np.memmap(self._file, np.float16, "r").reshape(-1, self._width)


def _nameless() -> BinaryIO:
    return tempfile.TemporaryFile()


def _analyse(pieces: Iterable[FloatArray]) -> tuple[NDArray[np.float16], FloatArray, float]:
    """Return the log-mel spectrum of a recording, in a file, its log power, and the level of its loudest part."""
    spectrum, energy, level = _Column(), [], NO_LEVEL
    for sound in _sounds(pieces):
        spectrum.write(sound.mel_FM)
        energy.append(sound.energy_F)
        level = max(level, level_of(sound.mel_FM))
    return spectrum.array(), np.concatenate(energy), level


def _sounds(pieces: Iterable[FloatArray]) -> Iterator[Sound]:
    """Yield the features of CHUNK frames after the other."""
    held, first, done = np.zeros(0, np.float32), 0, 0  # samples, the frame they begin with, frames that are analysed
    for piece in chain(pieces, (None,)):
        if piece is not None:
            held = np.concatenate([held, piece])
        known = num_frames(len(held), SPEC) if piece is None else len(held) // SPEC.hop - MARGIN
        while done + CHUNK <= first + known or (piece is None and done < first + known):
            past = min(done + CHUNK, first + known)
            yield analyse_piece(held, first, done, past)
            done = past
        keep = max(first, done - MARGIN)
        held, first = held[(keep - first) * SPEC.hop :], keep
