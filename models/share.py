"""What a loss must know about its share of a batch, so that a batch may be computed in parts.

A batch is split over processes, and within a process over accumulated parts. The sum of the parts has to be the whole,
whatever the split: random numbers therefore belong to a sample of the batch and to a place in it, not to a process or
to the order of computation, and a mean divides by the count of the whole batch, which no part knows by itself.

`sharing(share)` sets both for the losses and layers that run inside it, as torch's own generator is set for its layers;
without it random numbers are torch's and means are those of what they are given.
"""

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

_64_BITS = 2**64 - 1
_UNIT = 2.0**-24  # uniform numbers have 24 bits, as many as float32 holds


@dataclass(slots=True, kw_only=True)
class Share:
    """One part of the batch of one step.

    keys_B: uint64, one a sample, unique over the samples of all steps
    counts: what each `mean` of the loss divides by, in the order of the calls; empty where the part is the whole batch
    """

    keys_B: np.ndarray
    counts: Sequence[Tensor] = ()
    seen: list[Tensor] = field(default_factory=list)  # what the part itself would have divided by
    draws: int = 0

    def bits(self, shape: Sequence[int], device: torch.device) -> Tensor:
        """Return random int32 of a shape that begins with the samples; each draw of a share gives other ones.

        The numbers of a sample depend on the flat position within it, so that padding at its end changes none.
        """
        self.draws += 1
        if shape[0] != len(self.keys_B):
            raise ValueError(f"random numbers for {shape[0]} samples; the share has {len(self.keys_B)}")
        keys_B = _mix64(self.keys_B + np.uint64(self.draws * 0xD1B54A32D192ED03 & _64_BITS)).astype(np.uint32)
        places = _mix32_(torch.arange(math.prod(shape[1:]), dtype=torch.int32, device=device) * -1640531527)
        x = places ^ torch.from_numpy(keys_B.view(np.int32)).to(device)[:, None]
        return _mix32_(x).reshape(tuple(shape))


_current: Share | None = None


@contextlib.contextmanager
def sharing(share: Share) -> Iterator[Share]:
    """Let losses and layers take their random numbers and counts from a share."""
    global _current  # like torch's generator: passing it through every layer would change none of them
    before, _current = _current, share
    try:
        yield share
    finally:
        _current = before


def sample_keys(seed: int, step: int, index: int, of: int, samples: int) -> np.ndarray:
    """Return the keys of every of-th sample from `index`, uint64 [samples]."""
    numbers = np.uint64(index) + np.uint64(of) * np.arange(samples, dtype=np.uint64)
    step_key = _mix64(np.array([((seed << 40) ^ step) & _64_BITS], np.uint64))
    return _mix64(numbers * np.uint64(0x9E3779B97F4A7C15) + step_key)


def uniform(shape: Sequence[int], device: torch.device) -> Tensor:
    """Draw float32 from [0, 1); the first axis of the shape is the samples of the batch."""
    if _current is None:
        return torch.rand(tuple(shape), device=device)
    return (_current.bits(shape, device).bitwise_and_(0xFFFFFF)).float().mul_(_UNIT)


def normal(shape: Sequence[int], device: torch.device) -> Tensor:
    """Draw float32 from the normal distribution; the first axis of the shape is the samples of the batch."""
    if _current is None:
        return torch.randn(tuple(shape), device=device)
    radius = uniform(shape, device).neg_().add_(1.0).log_().mul_(-2.0).sqrt_()  # 1 - u is never 0
    return radius * uniform(shape, device).mul_(2 * math.pi).cos_()


def keep(shape: Sequence[int], probability: float, device: torch.device) -> Tensor:
    """Draw bool: True with a probability."""
    return uniform(shape, device) < probability


def mean(total: Tensor, count: Tensor) -> Tensor:
    """Divide a sum over the share by the count of the whole batch; `count` is that of the share."""
    if _current is None or not _current.counts:
        return total / count
    position = len(_current.seen)
    _current.seen.append(count.detach())
    if position >= len(_current.counts):
        raise ValueError(f"the loss has more means than the {len(_current.counts)} counts of its recipe")
    return total / _current.counts[position].to(total.device)


class Dropout(nn.Module):
    """Dropout whose mask belongs to the sample."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        """Set a share of the values to zero while training; x begins with the samples."""
        if not self.training or self.probability == 0.0:
            return x
        kept = 1.0 - self.probability
        return x * keep(x.shape, kept, x.device).to(x.dtype).div_(kept)


def _mix32_(x: Tensor) -> Tensor:
    """Mix int32 in place: multiplications, and exclusive or with the upper bits (after C. Wellons' lowbias32)."""
    x.bitwise_xor_((x >> 16).bitwise_and_(0xFFFF)).mul_(0x7FEB352D)
    x.bitwise_xor_((x >> 15).bitwise_and_(0x1FFFF)).mul_(-2073254261)
    return x.bitwise_xor_((x >> 16).bitwise_and_(0xFFFF))


def _mix64(x: np.ndarray) -> np.ndarray:
    """Mix uint64 (Steele, Lea and Flood 2014, SplitMix64)."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
