"""Speaking the pieces of a book on a Ray cluster; ray is imported only here, when it is asked for."""

import tempfile
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from deepvoice.audio.io import replacing
from deepvoice.book.speak import PieceJob, SpokenPiece, path_of, speak_piece
from deepvoice.errors import ConfigError, DeepVoiceError
from deepvoice.workers import Outcome

_WAITING = 4  # tasks handed over for each processor of the cluster


def run_on_ray(tasks: Sequence[PieceJob]) -> Generator[Outcome[SpokenPiece], None, None]:
    """Speak pieces as tasks of a cluster, whose machines need no folder in common; yields outcomes as they come."""
    try:
        import ray
    except ImportError:
        raise ConfigError("--ray needs the package ray; install it with: pip install 'deepvoice[ray]'") from None
    ray.init(ignore_reinit_error=True, log_to_driver=False)
    try:
        remote: Any = ray.remote(speak_remotely)
        most = _WAITING * max(1, int(ray.cluster_resources().get("CPU", 1)))
        running: dict[Any, int] = {}
        waiting = list(enumerate(tasks))[::-1]
        while waiting or running:
            while waiting and len(running) < most:
                number, task = waiting.pop()
                running[remote.remote(task)] = number
            ready, _ = ray.wait(list(running))
            for reference in ready:
                number = running.pop(reference)
                yield _keep(number, tasks[number], ray.get(reference))
    finally:
        ray.shutdown()


def speak_remotely(job: PieceJob) -> tuple[SpokenPiece | None, bytes, str]:
    """Speak a piece on another machine; returns what came of it, its file, and an error or nothing."""
    with tempfile.TemporaryDirectory(prefix="deepvoice-") as folder:
        job = replace(job, folder=Path(folder))
        try:
            spoken = speak_piece(job)
        except DeepVoiceError as error:
            return None, b"", str(error)
        return spoken, path_of(job.folder, job.piece).read_bytes(), ""


def _keep(number: int, task: PieceJob, result: tuple[SpokenPiece | None, bytes, str]) -> Outcome[SpokenPiece]:
    """Put what a machine has sent into the folder of this one."""
    spoken, data, error = result
    if spoken is None:
        return Outcome(number, None, DeepVoiceError(error))
    with replacing(path_of(task.folder, task.piece)) as temporary:
        temporary.write_bytes(data)
    return Outcome(number, spoken, None)
