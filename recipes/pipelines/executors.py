"""Who does the work: processes of this machine, or actors of a Ray cluster; both give the outcomes as they come."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from deepvoice.errors import ConfigError, DeepVoiceError
from deepvoice.recipes.pipelines.stage import Item, Outcome, Stage, do, finished
from deepvoice.workers import run_tasks

_BATCH = 4  # items that travel together; an actor that dies loses at most so many unfinished ones
_OBJECTS = 80 * 2**20  # bytes of Ray's object store on this machine: only texts and rows go through it


class Executor(Protocol):
    """Does items in any order; one item may be done twice, to the same files."""

    def run(self, stage: Stage, items: Mapping[str, Item], out: Path) -> Iterator[Outcome]:
        """Yield one outcome per item as they come; items by their keys, which travel with them."""


class Local:
    """Processes of this machine. One that dies is replaced; its item is tried again."""

    def __init__(self, workers: int) -> None:
        """Use so many processes; with 1 all happens in this one."""
        if workers < 1:
            raise ConfigError(f"workers is {workers}; expected at least 1")
        self.workers = workers

    def run(self, stage: Stage, items: Mapping[str, Item], out: Path) -> Iterator[Outcome]:
        """Yield one outcome per item as they come."""
        left = dict(items)
        while left:
            before = len(left)
            tasks = run_tasks(partial(_do, stage, out), list(left.items()), self.workers)
            with contextlib.closing(tasks):
                while True:
                    try:
                        result = next(tasks, None)
                    except DeepVoiceError:  # a worker died
                        if len(left) == before and not self._moved(stage, left, out):
                            raise  # nothing gets done: the workers cannot even begin
                        break
                    if result is None:
                        return
                    if result.error is not None:
                        raise result.error
                    assert result.value is not None
                    del left[result.value.key]
                    yield result.value

    @staticmethod
    def _moved(stage: Stage, left: Mapping[str, Item], out: Path) -> bool:
        """Say whether anything has been begun since the workers were started."""
        folder = out / "results" / stage.name
        return any(finished(stage, key, out) for key in left) or any(folder.glob("*/*.attempts"))


def _do(stage: Stage, out: Path, keyed: tuple[str, Item]) -> Outcome:
    return do(stage, *keyed, out, os.getpid())


class OnRay:
    """Actors of a Ray cluster, each with the models loaded once; `out` must be a folder that all machines share.

    `with OnRay(...) as executor` keeps the connection for several stages. Ray restarts an actor that dies, on another
    machine if need be, and sends its items again.
    """

    def __init__(self, workers: int, address: str | None = None, cpus: float = 1.0) -> None:
        """Use so many actors.

        address: of a running cluster, "auto" for that of this machine; None starts one here and ends it afterwards
        cpus: cores of an actor
        """
        if workers < 1:
            raise ConfigError(f"workers is {workers}; expected at least 1")
        try:
            import ray.data  # noqa: F401
        except ImportError as error:
            raise ConfigError(f'Ray Data is not installed ({error}); pip install "deepvoice[ray]"') from None
        self.workers, self._address, self._cpus = workers, address, cpus
        self._inside = self._started = False

    def run(self, stage: Stage, items: Mapping[str, Item], out: Path) -> Iterator[Outcome]:
        """Yield one outcome per item as they come."""
        import ray.data

        with contextlib.nullcontext() if self._inside else self:
            ray.data.DataContext.get_current().enable_progress_bars = False
            rows = [{"key": key, "item": json.dumps(item)} for key, item in items.items()]
            blocks = min(len(rows), max(4 * self.workers, -(-len(rows) // _BATCH)))
            data = ray.data.from_items(rows, override_num_blocks=blocks).map_batches(
                _Actor,
                fn_constructor_args=(stage, str(out.resolve())),
                batch_size=_BATCH,
                compute=ray.data.ActorPoolStrategy(size=self.workers, max_tasks_in_flight_per_actor=2),
                num_cpus=self._cpus,
            )
            for row in data.iter_rows():
                yield Outcome.from_json(row["outcome"])

    def __enter__(self) -> "OnRay":
        """Keep one connection for several stages."""
        import ray

        self._inside = True
        self._started = not ray.is_initialized()
        quiet = {"include_dashboard": False, "log_to_driver": False, "configure_logging": False}
        if self._started and self._address is not None:
            ray.init(address=self._address, **quiet)
        elif self._started:
            cores = max(1, round(self.workers * self._cpus))  # "local": never the remains of another cluster
            ray.init(address="local", num_cpus=cores, object_store_memory=_OBJECTS, **quiet)
        return self

    def __exit__(self, *_: object) -> None:
        import ray

        self._inside = False
        if self._started:
            ray.shutdown()


class _Actor:
    """The stage in a process of the cluster."""

    def __init__(self, stage: Stage, out: str) -> None:
        self._stage, self._out = stage, Path(out)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Do a batch of items."""
        pid = os.getpid()
        keyed = zip(batch["key"], batch["item"], strict=True)
        return {
            "outcome": [do(self._stage, str(key), json.loads(item), self._out, pid).to_json() for key, item in keyed]
        }
