"""The experiment log of a run: JSONL and, where it is installed, TensorBoard."""

import json
import math
import time
from collections.abc import Mapping
from pathlib import Path


class Log:
    """Numbers by step in `log.jsonl`, and the same in TensorBoard."""

    def __init__(self, folder: Path, step: int | None = None) -> None:
        """Append to the logs of a run folder.

        step: that of the checkpoint from which the run goes on; what was logged after it is to come again
        """
        self._path = folder / "log.jsonl"
        if step is not None:
            self._forget(step)
        self._file = self._path.open("a", encoding="utf-8")
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:  # tensorboard is optional: the JSONL holds the same numbers
            self._board = None
        else:
            purge = None if step is None else step + 1
            self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=purge)  # type: ignore[no-untyped-call]

    def _forget(self, step: int) -> None:
        """Drop the rows of later steps and a last line that a kill has torn."""
        if not self._path.exists():
            return
        kept, lines = [], self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        for line in lines:
            try:
                if json.loads(line)["step"] <= step:
                    kept.append(line + "\n")
            except (ValueError, KeyError, TypeError):
                continue
        if len(kept) < len(lines):
            temporary = self._path.with_suffix(".part")
            temporary.write_text("".join(kept), encoding="utf-8")
            temporary.replace(self._path)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Write one row of numbers; one that is not finite becomes null, which every JSON reader understands."""
        plain = {name: value if math.isfinite(value) else None for name, value in values.items()}
        self._file.write(json.dumps({"step": step, "time": time.time(), **plain}) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(name, value, step)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Close both."""
        self._file.close()
        if self._board is not None:
            self._board.close()  # type: ignore[no-untyped-call]
