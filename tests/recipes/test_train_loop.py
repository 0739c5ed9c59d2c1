"""The trainer: exact resume, skipped steps, refused checkpoints."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.common.train_loop import Metrics, TrainOptions, train

META = {"features": "f", "phones": "p"}


class Numbers:
    """Batches that depend on the step alone."""

    def __init__(self, bad: frozenset[int] = frozenset()) -> None:
        self.bad = bad

    def batch(self, step: int) -> torch.Tensor:
        values = torch.from_numpy(np.random.default_rng(step).standard_normal((8, 4)).astype(np.float32))
        return values * float("inf") if step in self.bad else values


def loss_fn(model: nn.Module, batch: torch.Tensor) -> tuple[torch.Tensor, Metrics]:
    """A loss with randomness of its own, to show that it is seeded by the step."""
    noisy = batch + 0.1 * torch.randn_like(batch)
    return (model(noisy) - batch.sum(1, keepdim=True)).square().mean(), {}


def run(folder: Path, steps: int, total: int, bad: frozenset[int] = frozenset(), **more: object) -> nn.Module:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    options = TrainOptions(out_dir=folder, steps=steps, warmup=5, bfloat16=False, **more)  # type: ignore[arg-type]
    # The schedule must not depend on where this run stops.
    object.__setattr__(options, "steps", steps)
    trainer = train(model, Numbers(bad), loss_fn, options, config={"total": total}, meta=META, echo=lambda line: None)
    return trainer.model


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_resumed_run_is_the_uninterrupted_one(tmp_path: Path) -> None:
    constant = {"final_rate": 1.0}  # a schedule that does not depend on the number of steps
    whole = run(tmp_path / "whole", 40, 40, **constant)
    run(tmp_path / "parts", 17, 40, **constant)
    resumed = run(tmp_path / "parts", 40, 40, **constant)
    assert torch.equal(weights(whole), weights(resumed))
    first, second = (load_checkpoint(tmp_path / name / "last.pt") for name in ("whole", "parts"))
    assert all(torch.equal(first["ema"][name], second["ema"][name]) for name in first["ema"])


def test_training_lowers_the_loss(tmp_path: Path) -> None:
    before = run(tmp_path / "none", 0, 0)
    after = run(tmp_path / "some", 300, 300, learning_rate=1e-2)
    batch = Numbers().batch(999)
    torch.manual_seed(0)
    assert loss_fn(after, batch)[0] < 0.3 * loss_fn(before, batch)[0]


def test_a_gradient_that_is_not_finite_skips_its_step(tmp_path: Path) -> None:
    model = run(tmp_path, 20, 20, bad=frozenset({5, 9}))
    assert torch.isfinite(weights(model)).all()
    assert load_checkpoint(tmp_path / "last.pt")["skipped"] == 2


def test_many_in_a_row_stop_the_run(tmp_path: Path) -> None:
    with pytest.raises(FloatingPointError, match="not finite"):
        run(tmp_path, 40, 40, bad=frozenset(range(10, 40)), max_skipped=5)


def test_a_checkpoint_of_other_features_is_refused(tmp_path: Path) -> None:
    run(tmp_path, 2, 2)
    with pytest.raises(ValueError, match="features = 'f'"):
        load_checkpoint(tmp_path / "last.pt", meta={"features": "other"})


def test_warm_start_takes_the_averaged_weights(tmp_path: Path) -> None:
    run(tmp_path / "first", 30, 30)
    model = run(tmp_path / "second", 0, 0, warm_start=tmp_path / "first" / "last.pt")
    ema = load_checkpoint(tmp_path / "first" / "last.pt")["ema"]
    assert torch.equal(weights(model), torch.cat([v.flatten() for v in ema.values()]))
