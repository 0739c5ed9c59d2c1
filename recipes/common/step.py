"""One optimiser step over a batch that is split over processes and accumulated parts.

The sum of the parts is the whole batch whatever the split: each part's loss is divided by the counts of the whole batch
(deepvoice.models.share), gradients are summed, and only then is their norm taken and clipped.
"""

import contextlib
import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from deepvoice.errors import TrainingError
from deepvoice.models.share import Share, sample_keys, sharing
from deepvoice.recipes.common.distributed import Ranks, to_device
from deepvoice.recipes.common.options import TrainOptions

Metrics = dict[str, float]
LossFunction = Callable[[nn.Module, Any], tuple[Tensor, Metrics]]
CountFunction = Callable[[Any], Sequence[Tensor]]  # of a batch: what each `mean` of its loss divides by


class BatchSource(Protocol):
    """A deterministic stream of batches.

    A source may also have `share(step, index, of)`, which builds every of-th sample from `index` alone and returns None
    where there is none, and `audio_seconds(step)`, the seconds of speech in the whole batch.
    """

    def batch(self, step: int) -> Any:
        """Return the batch of a step; the same step gives the same batch in every run.

        A batch is a tensor or a tuple of tensors (or None), whose first axis is the samples.
        """


class Stop(enum.IntEnum):
    """Whether a run ends after this step: its time is over, or someone has asked it to."""

    NO = 0
    LATE = 1
    ASKED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Every of-th sample of a batch, from the index-th on; where there is none, another sample with weight 0."""

    batch: Any
    index: int
    of: int
    weight: float

    @property
    def samples(self) -> int:
        """How many samples the tensors hold."""
        return len(_first_tensor(self.batch))


def _first_tensor(batch: Any) -> Tensor:
    return batch if isinstance(batch, Tensor) else next(item for item in batch if isinstance(item, Tensor))


def every(batch: Any, index: int, of: int) -> Any:
    """Return every of-th sample of a batch from `index`."""
    if isinstance(batch, Tensor):
        return batch[index::of]
    items = [None if item is None else item[index::of] for item in batch]
    return type(batch)(*items) if hasattr(batch, "_fields") else tuple(items)


def part_of(source: BatchSource, step: int, index: int, of: int) -> Part:
    """Build one part of the batch of a step; a source with `share` builds nothing else."""
    if of == 1:
        return Part(batch=source.batch(step), index=0, of=1, weight=1.0)
    share = getattr(source, "share", None)
    batch = share(step, index, of) if share is not None else every(source.batch(step), index, of)
    if batch is not None and len(_first_tensor(batch)):
        return Part(batch=batch, index=index, of=of, weight=1.0)
    # Every process has to take part in the reduction, so one without a sample computes something that counts nothing.
    return Part(batch=every(source.batch(step), 0, 1 << 30), index=index, of=of, weight=0.0)


class _LossOf(nn.Module):
    """The loss as the forward pass of a module, as DistributedDataParallel wants it."""

    def __init__(self, model: nn.Module, loss_fn: LossFunction) -> None:
        super().__init__()
        self.model, self.loss_fn = model, loss_fn

    def forward(self, batch: Any) -> tuple[Tensor, Metrics]:
        return self.loss_fn(self.model, batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the gradients of a step were computed with.

    loss: of this process's parts; the sum over the processes is that of the batch
    metrics, weight: means over this process's parts, and what they count for beside those of other processes
    stop: what the processes have agreed on
    """

    loss: float
    metrics: Metrics
    weight: float
    stop: Stop


class Gradients:
    """Computes the gradients of batches into the model's parameters."""

    def __init__(
        self, model: nn.Module, loss_fn: LossFunction, counts: CountFunction | None, options: TrainOptions, here: Ranks
    ) -> None:
        """Prepare the split; raises TrainingError for a loss that cannot be computed in parts."""
        self._model, self._counts, self._options, self._here = model, counts, options, here
        self._parts = here.world * options.accumulate
        if self._parts > 1 and counts is None:
            raise TrainingError(
                f"the loss of {type(model).__name__} gives no counts, so a batch cannot be split into {self._parts} "
                "parts; train it in one process without --accumulate"
            )
        self._loss: nn.Module = _LossOf(model, loss_fn)
        if here.world > 1:
            # Parameters that a loss leaves out are looked for, which also keeps the order of summation fixed.
            self._loss = DistributedDataParallel(
                self._loss, device_ids=[here.device] if here.device.type == "cuda" else None,
                find_unused_parameters=True,
            )  # fmt: skip
        self._checked = False

    def compute(self, source: BatchSource, step: int, wish: Stop = Stop.NO) -> Outcome:
        """Compute the gradients of the batch of a step; `wish`: whether this process wants to end."""
        here, accumulate = self._here, self._options.accumulate
        parts = [part_of(source, step, here.rank * accumulate + i, self._parts) for i in range(accumulate)]
        counts, own, stop = self._agree(parts, wish)
        value, weight, sums = 0.0, 0.0, dict[str, float]()
        for number, part in enumerate(parts):
            keys_B = sample_keys(self._options.seed, step, part.index, part.of, part.samples)
            share = Share(keys_B=keys_B, counts=counts)
            with self._synchronising(number + 1 == accumulate), sharing(share):
                batch = to_device(part.batch, here.device)
                with torch.autocast(here.device.type, torch.bfloat16, enabled=self._options.bfloat16):
                    loss, metrics = self._loss(batch)
                # DistributedDataParallel averages over the processes, where a sum is wanted.
                (loss * (part.weight * here.world)).backward()
            self._check(share, own[number])
            value += part.weight * float(loss.detach())
            counted = part.weight * (float(own[number][0]) if own[number] else 1.0)
            weight += counted
            for name, metric in metrics.items():
                sums[name] = sums.get(name, 0.0) + counted * metric
        means = {name: total / weight if weight else 0.0 for name, total in sums.items()}
        return Outcome(loss=value, metrics=means, weight=weight, stop=stop)

    def _synchronising(self, last: bool) -> contextlib.AbstractContextManager[None]:
        if last or not isinstance(self._loss, DistributedDataParallel):
            return contextlib.nullcontext()
        return self._loss.no_sync()

    def _agree(self, parts: Sequence[Part], wish: Stop) -> tuple[list[Tensor], list[list[Tensor]], Stop]:
        """Return the counts of the whole batch and of each part here, and whether the run ends: one exchange a step."""
        own = [[] if self._counts is None else [c.detach().double() for c in self._counts(p.batch)] for p in parts]
        if self._parts == 1:
            return [], own, wish
        sums = [sum(c * p.weight for c, p in zip(column, parts, strict=True)) for column in zip(*own, strict=True)]
        vector = torch.stack([*sums, *(torch.tensor(float(wish == kind)).double() for kind in (Stop.LATE, Stop.ASKED))])
        if self._here.world > 1:
            vector = vector.to(self._here.device)
            distributed.all_reduce(vector)
        *counts, late, asked = vector.cpu()
        return [c.float() for c in counts], own, Stop.ASKED if asked else Stop.LATE if late else Stop.NO

    def _check(self, share: Share, own: Sequence[Tensor]) -> None:
        """Once: a recipe's counts have to be what its loss divides by."""
        if self._checked or not share.counts:
            return
        seen, declared = [float(c) for c in share.seen], [float(c) for c in own]
        if len(seen) != len(declared) or any(
            abs(a - b) > 1e-3 * max(1.0, abs(b)) for a, b in zip(seen, declared, strict=True)
        ):
            raise TrainingError(f"the loss divides by {seen}, its recipe counts {declared}; they have to agree")
        self._checked = True


def clip(model: nn.Module, norm: Tensor, limit: float) -> None:
    """Scale the gradients down to a norm; `norm` is what it is."""
    factor = (limit / (norm + 1e-6)).clamp(max=1.0)
    torch._foreach_mul_([p.grad for p in model.parameters() if p.grad is not None], factor)


def gradient_norm(model: nn.Module) -> Tensor:
    """Return the Euclidean norm of all gradients together, a scalar; 0 where there is none."""
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    if not gradients:
        return torch.zeros(())
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
