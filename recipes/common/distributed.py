"""The processes of one training run: joining them, sharing work among them, and plain words when one is lost.

`torchrun` sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT and starts the same command several times; without these
variables a run is one process and everything here does nothing.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import distributed

from deepvoice.errors import DeepVoiceError, TrainingError
from deepvoice.recipes.common.faults import LostPeerError

T = TypeVar("T")
_CPU = torch.device("cpu")
Ratios = Mapping[str, tuple[float, float]]  # by name: a sum, and the count that divides it
TIMEOUT = 1800.0  # seconds that a process waits for the others


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """This process among those of its run, and the device that it computes on."""

    rank: int = 0
    world: int = 1
    device: torch.device = _CPU

    @property
    def first(self) -> bool:
        """Whether this process writes the files and the messages of the run."""
        return self.rank == 0


_device = _CPU


def ranks() -> Ranks:
    """Return this process's place in the run that it has joined; one process alone where it has joined none."""
    if not distributed.is_initialized():
        return Ranks(device=_device)
    return Ranks(rank=distributed.get_rank(), world=distributed.get_world_size(), device=_device)


def pick_device(name: str) -> torch.device:
    """Return the device of a name; `auto` is this process's GPU where there is one.

    Raises TrainingError for a name that is none, or a GPU that is not there.
    """
    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        name = f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if cards else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        device = torch.device("meta")
    if device.type == "cpu" or (device.type == "cuda" and 0 <= (device.index or 0) < cards):
        return device
    raise TrainingError(
        f"the device is {name!r}; expected cpu or cuda:N, and there are {cards} GPUs that torch can use"
    )


@contextlib.contextmanager
def joined(timeout: float = TIMEOUT, device: str = "cpu") -> Iterator[Ranks]:
    """Join the other processes that torchrun started, and leave them at the end.

    timeout: seconds to wait for another process, at the start and at every exchange
    Raises LostPeerError when one does not come, is lost, or when the port is taken.
    """
    global _device
    before, _device = _device, pick_device(device)
    if _device.type == "cuda":
        torch.cuda.set_device(_device)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    try:
        if world == 1:
            yield ranks()
            return
        _join(world, timeout)
        try:
            yield ranks()
        except RuntimeError as error:
            if not isinstance(error, DeepVoiceError) and _is_lost_peer(error):
                raise LostPeerError(
                    f"process {os.environ['RANK']} of {world} lost contact with another one ({_first_line(error)}); "
                    "look for that one's message; started again, the run goes on from its last checkpoint "
                    "(torchrun --max-restarts does so by itself)"
                ) from error
            raise
        # Only after success: with a peer gone, leaving in good order might wait for it.
        distributed.destroy_process_group()
    finally:
        _device = before


def _join(world: int, timeout: float) -> None:
    backend = "nccl" if _device.type == "cuda" else "gloo"
    place = f"{os.environ.get('MASTER_ADDR', 'localhost')}:{os.environ.get('MASTER_PORT', '?')}"
    # torchrun keeps one store over all restarts, and a process that finds the address that another one had before the
    # restart there waits for it for ever: every start has names of its own.
    start = f"start {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')} of {world}"
    limit = timedelta(seconds=timeout)
    try:
        store, rank, _ = next(distributed.rendezvous("env://", timeout=limit))
        store = distributed.PrefixStore(start, store)
        distributed.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=limit)
    except (RuntimeError, ValueError) as error:
        text = str(error).lower()
        if "eaddrinuse" in text or "address already in use" in text:
            remedy = "another program has the port; choose another with torchrun --master-port, or use --standalone"
        elif "time" in text and "out" in text:
            remedy = (
                f"not all {world} processes came within {timeout:g} s; start the missing ones, or see their messages"
            )
        else:
            remedy = "check the address and that all processes were started"
        raise LostPeerError(f"cannot join the run at {place}: {remedy} ({_first_line(error)})") from error


def _is_lost_peer(error: RuntimeError) -> bool:
    text = str(error).lower()
    return isinstance(error, distributed.DistError) or any(
        word in text for word in ("gloo", "nccl", "connection closed", "connection reset", "broken pipe", "timed out")
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


def barrier() -> None:
    """Wait until every process of the run has come here."""
    if distributed.is_initialized():
        distributed.barrier()


def total(values: Sequence[float]) -> list[float]:
    """Return the sums of numbers over the processes, in float64."""
    here = ranks()
    if here.world == 1:
        return list(values)
    # float64 on a GPU is slow but there are only a few numbers
    vector = torch.tensor(values, dtype=torch.float64, device=here.device)
    distributed.all_reduce(vector)
    return vector.tolist()


def from_first(make: Callable[[], T]) -> T:
    """Return what `make` returns in the first process; an error of it is raised in every one."""
    here = ranks()
    if here.world == 1:
        return make()
    box: list[Any] = [None]
    if here.first:
        try:
            box = [make()]
        except DeepVoiceError as error:
            box = [error]
    distributed.broadcast_object_list(box, src=0)
    if isinstance(box[0], DeepVoiceError):
        raise box[0]
    return box[0]


def measure(
    items: Sequence[Any], of: Callable[[Any], Ratios], seconds: Callable[[Any], float] | None = None
) -> dict[str, float]:
    """Measure items, each in one of the processes, and return the ratios over all of them.

    of: returns sums and counts of one item, on this process's device; the same names for every item
    seconds: of speech in an item; adds `rtf`, the seconds that measuring took for each
    """
    here = ranks()
    sums: dict[str, tuple[float, float]] = {}
    with torch.no_grad():
        for item in items[here.rank :: here.world]:
            started = time.perf_counter()
            found = dict(of(to_device(item, here.device)))
            if seconds is not None:
                found["rtf"] = (time.perf_counter() - started, seconds(item))
            for name, (value, count) in found.items():
                before = sums.get(name, (0.0, 0.0))
                sums[name] = (before[0] + float(value), before[1] + float(count))
    if here.world > 1:
        gathered: list[dict[str, tuple[float, float]]] = [{}] * here.world
        distributed.all_gather_object(gathered, sums)
        names = dict.fromkeys(name for part in gathered for name in part)
        sums = {n: tuple(sum(part.get(n, (0.0, 0.0))[i] for part in gathered) for i in (0, 1)) for n in names}
    return {name: value / count if count else float("nan") for name, (value, count) in sums.items()}


def weighted(metrics: Mapping[str, float], weight: float, prefix: str = "held_out_") -> Ratios:
    """Return the means of an item as sums and counts."""
    return {f"{prefix}{name}": (float(value) * weight, weight) for name, value in metrics.items()}


def to_device(batch: T, device: torch.device) -> T:
    """Move the tensors of a batch (a tensor, or a tuple of tensors and None) to a device."""
    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, tuple):
        moved = [to_device(item, device) for item in batch]
        return type(batch)(*moved) if hasattr(batch, "_fields") else type(batch)(moved)
    return batch
