"""Features and scores of a recording of any length, piece by piece; what is kept of hours lies in a temporary file."""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.alignment.scores import CHUNK, CONTEXT, FAINTER, SPEC, Network, analyse_piece
from deepvoice.audio.mel import FloatArray, num_frames
from deepvoice.networks.segmentation import NO_LEVEL, SegmentationScores, level_of

_MARGIN = 4  # frames: more than half a window of the spectrum


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
    """Run the network over samples at 24 kHz that come in pieces; memory does not grow with the recording."""
    columns: dict[str, list[Any]] = {name: [] for name in ("energy", "class")}
    files: dict[str, Any] = {name: _kept() for name in ("frame", "left", "right", "boundary")}
    widths: dict[str, int] = {}
    for scores, energy_F in _read(network, stack, pieces):
        arrays = {
            "frame": scores.frame_FV,
            "left": scores.left_TV,
            "right": scores.right_TV,
            "boundary": scores.boundary_T[:, None],
        }
        for name, array in arrays.items():
            widths[name] = array.shape[1]
            files[name].write(np.maximum(array, np.float32(-6e4)).astype(np.float16).tobytes())
        columns["energy"].append(energy_F)
        columns["class"].append(scores.frame_FV[: len(energy_F)].argmax(axis=1))
    maps = {}
    for name, file in files.items():
        file.flush()
        maps[name] = np.memmap(file, np.float16, "r").reshape(-1, widths[name])
    return LongScores(
        frame_FV=maps["frame"],
        left_TV=maps["left"],
        right_TV=maps["right"],
        boundary_T=maps["boundary"][:, 0],
        energy_F=np.concatenate(columns["energy"]),
        class_F=np.concatenate(columns["class"]),
        stack=stack,
    )


def _kept() -> Any:
    """Return a file without a name, which ends with the array that is mapped from it."""
    return tempfile.TemporaryFile()


def _read(
    network: Network, stack: int, pieces: Iterable[FloatArray]
) -> Iterator[tuple[SegmentationScores, FloatArray]]:
    """Yield the readings and the log power of CHUNK frames after the other; each is read with CONTEXT beside it."""
    around = CONTEXT + _MARGIN
    held, first, done = np.zeros(0, np.float32), 0, 0  # samples, the frame they begin with, frames that are read
    source = iter(pieces)
    ended, level = False, NO_LEVEL  # level: of the loudest piece so far, as what follows is not known
    while not ended or done < first + num_frames(len(held), SPEC):
        while not ended and first + len(held) // SPEC.hop < done + CHUNK + around:
            piece = next(source, None)
            ended = piece is None
            held = held if piece is None else np.concatenate([held, piece])
        frames = first + num_frames(len(held), SPEC)  # that there are
        past = min(done + CHUNK, frames)
        if past <= done:
            break
        start, end = max(first, done - CONTEXT), min(past + CONTEXT, frames)
        sound = analyse_piece(held, first, start, end)
        quiet = np.full((-(end - start) % stack, SPEC.bands), np.log(SPEC.floor), np.float32)
        level = max(level, level_of(sound.mel_FM))
        found = network(np.concatenate([sound.mel_FM, quiet]), level - FAINTER)
        steps = slice((done - start) // stack, -(-(past - start) // stack))
        chosen = slice(done - start, steps.stop * stack)
        yield (
            SegmentationScores(
                left_TV=found.left_TV[steps],
                right_TV=found.right_TV[steps],
                boundary_T=found.boundary_T[steps],
                frame_FV=found.frame_FV[chosen],
            ),
            sound.energy_F[done - start : past - start],
        )
        done = past
        keep = max(first, done - around)
        held, first = held[(keep - first) * SPEC.hop :], keep
