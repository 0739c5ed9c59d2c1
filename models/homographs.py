"""Homographs: a logistic regression over hashed features of the sentence, trained for all words at once.

The tables and the features are those of `deepvoice.networks.homographs`. The loss is convex in the tables, so any start
and any optimiser end at the same model.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from deepvoice.configs import HomographConfig
from deepvoice.networks.homographs import HomographNetwork, Indices


class Homographs(nn.Module):
    """Tables of weights, and the classes of words, which are not trained."""

    classes: Tensor
    coarse: Tensor

    def __init__(self, config: HomographConfig) -> None:
        super().__init__()
        self.config = config
        shapes = HomographNetwork.expected_shapes(config)
        self.shared = nn.Parameter(torch.zeros(shapes["shared"]))
        self.own = nn.Parameter(torch.zeros(shapes["own"]))
        self.register_buffer("classes", torch.zeros(shapes["classes"]))
        self.register_buffer("coarse", torch.zeros(shapes["coarse"]))

    def forward(self, batch: Sequence[Indices]) -> Tensor:
        """Return a score for every reading, float32 [B, most readings]; -inf for readings that a word lacks."""
        shared_B = _sums(self.shared, [torch.from_numpy(found.shared) for found in batch])
        own = _sums(self.own, [torch.from_numpy(row) for found in batch for row in found.own])
        most = max(len(found.own) for found in batch)
        place = torch.tensor([b * most + r for b, found in enumerate(batch) for r in range(len(found.own))])
        scores = torch.full((len(batch) * most,), -torch.inf).scatter(0, place, own).view(len(batch), most)
        first = scores[:, :1] + shared_B[:, None]
        return torch.cat([torch.zeros(len(batch), 1), first, scores[:, 1:]], 1)


def _sums(table: Tensor, rows: Sequence[Tensor]) -> Tensor:
    """Return the sum of the table's entries for each row of indices; 0 for an empty row."""
    lengths = torch.tensor([len(row) for row in rows])
    offsets = torch.cumsum(lengths, 0) - lengths
    return functional.embedding_bag(torch.cat(list(rows)), table[:, None], offsets, mode="sum")[:, 0]


def loss(model: Homographs, batch: Sequence[Indices], readings_B: Tensor, decay: tuple[float, float]) -> Tensor:
    """Return the mean cross entropy and the penalty on the squares of the shared and the own weights.

    readings_B: int64 [B] number of the right reading
    """
    penalty = decay[0] * model.shared.square().sum() + decay[1] * model.own.square().sum()
    return functional.cross_entropy(model(batch), readings_B) + penalty
