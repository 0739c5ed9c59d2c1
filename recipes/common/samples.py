"""What can be seen and heard of a module at an evaluation: files in the run folder, and the same in TensorBoard.

Only the first process of a run may write them (recipes/common/distributed.py: `ranks().first`).
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from deepvoice.audio.mel import FloatArray

FOLDER = "samples"


class Samples:
    """The samples of one evaluation; `samples/STEP-NAME.wav` and `.png`."""

    def __init__(self, run: Path, step: int) -> None:
        """Write into a run folder."""
        self._run, self._step = run, step
        (run / FOLDER).mkdir(parents=True, exist_ok=True)

    def path(self, name: str, suffix: str) -> Path:
        """Return where a sample lies."""
        return self._run / FOLDER / f"{self._step:06d}-{name}{suffix}"

    def audio(self, name: str, samples_T: FloatArray, sample_rate: int) -> None:
        """Write speech, float32 [T] in [-1, 1]."""
        soundfile.write(self.path(name, ".wav"), samples_T, sample_rate, subtype="PCM_16")
        board = _board(self._run)
        if board is not None:
            board.add_audio(name, np.asarray(samples_T, np.float32)[None], self._step, sample_rate)
            board.flush()

    def picture(self, name: str, figure: Any | None) -> None:
        """Write a figure of recipes/common/plot.py; None, from a machine without matplotlib, writes nothing."""
        if figure is None:
            return
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        canvas = FigureCanvasAgg(figure)
        figure.savefig(self.path(name, ".png"), dpi=80)
        board = _board(self._run)
        if board is not None:
            canvas.draw()
            board.add_image(name, np.asarray(canvas.buffer_rgba())[..., :3], self._step, dataformats="HWC")
            board.flush()


@lru_cache(maxsize=8)
def _board(run: Path) -> Any | None:
    """Return the TensorBoard writer of a run, None where it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:  # the files hold the same
        return None
    return SummaryWriter(str(run / "tensorboard"), filename_suffix=".samples")
