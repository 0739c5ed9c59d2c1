"""The trainer: exact resume, skipped steps, refused checkpoints, split batches."""

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from deepvoice.audio.mel import MelSpec
from deepvoice.errors import ConfigError, TrainingError
from deepvoice.models.share import Dropout, Share, mean, normal, sample_keys, sharing, uniform
from deepvoice.recipes.common.checkpoint import load_checkpoint, save_checkpoint
from deepvoice.recipes.common.data import meta_of
from deepvoice.recipes.common.distributed import pick_device
from deepvoice.recipes.common.events import read_events
from deepvoice.recipes.common.faults import DamagedCheckpointError, ForeignCheckpointError, NotFiniteError
from deepvoice.recipes.common.launch import flushed_denormals
from deepvoice.recipes.common.lock import FolderInUseError, locked
from deepvoice.recipes.common.options import AUTO
from deepvoice.recipes.common.origin import origin
from deepvoice.recipes.common.plan import FAILURES_PER_DAY
from deepvoice.recipes.common.reliability import chosen_interval
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


def say_nothing(line: str) -> None:
    """Take a line of a run."""


def trained(folder: Path, steps: int, echo=say_nothing, source=None, loss=None, origin=None, meta=META, **more):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), Dropout(0.2), nn.Tanh(), nn.Linear(16, 1))
    settings = {"warmup": 5, "bfloat16": False, "final_rate": 1.0, "log_every": 1, "checkpoint_seconds": 0.0}
    options = TrainOptions(out_dir=folder, steps=steps, **{**settings, **more})
    return train(
        model, source or Numbers(), loss or counted_loss, options, config={"size": 16}, meta=meta, echo=echo,
        counts=lambda batch: [torch.tensor(float(len(batch)))], origin=origin,
    )  # fmt: skip


def counted_loss(model: nn.Module, batch: torch.Tensor) -> tuple[torch.Tensor, Metrics]:
    """A mean over samples, with noise that belongs to them."""
    noisy = batch + 0.1 * normal(batch.shape, batch.device)
    error = (model(noisy) - batch.sum(1, keepdim=True)).square().sum()
    return mean(error, torch.tensor(float(len(batch)))), {}


def logged(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("parts", [2, 3, 11])
def test_accumulated_parts_are_the_whole_batch(tmp_path: Path, parts: int) -> None:
    """With more parts than the 8 samples of a batch too."""
    whole = trained(tmp_path / "whole", 20)
    split = trained(tmp_path / "split", 20, accumulate=parts)
    assert torch.allclose(weights(whole.model), weights(split.model), atol=1e-5)
    losses = [[row["loss"] for row in logged(tmp_path / name)] for name in ("whole", "split")]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


def test_counts_that_do_not_fit_the_loss_are_an_error(tmp_path: Path) -> None:
    def twice(model, batch):
        return mean(model(batch).sum(), torch.tensor(2.0 * len(batch))), {}

    with pytest.raises(TrainingError, match="have to agree"):
        trained(tmp_path, 3, accumulate=2, loss=twice)


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :: 97] = bytes(len(content[len(content) // 2 :: 97]))
    path.write_bytes(content)


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path: Path) -> None:
    whole, lines = trained(tmp_path / "whole", 20), []
    trained(tmp_path / "run", 12)
    damage(tmp_path / "run" / "last.pt")
    (tmp_path / "run" / "last.part").write_bytes(b"half")
    resumed = trained(tmp_path / "run", 20, echo=lines.append)
    assert torch.equal(weights(whole.model), weights(resumed.model))
    assert any("damaged" in line and "last.previous" in line for line in lines)
    assert not (tmp_path / "run" / "last.part").exists()


def test_two_damaged_checkpoints_are_an_error_and_stay(tmp_path: Path) -> None:
    trained(tmp_path, 3)
    damage(tmp_path / "last.pt")
    (tmp_path / "last.previous").write_bytes(b"no checkpoint")
    with pytest.raises(DamagedCheckpointError, match="no good checkpoint is left"):
        trained(tmp_path, 5)
    assert (tmp_path / "last.damaged").exists()


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    path = tmp_path / "last.pt"
    save_checkpoint({"ema": {"w": torch.arange(64.0)}, "step": 3, "config": {"name": "a"}}, path)
    good = path.read_bytes()
    for position in range(0, len(good), 7):
        path.write_bytes(good[:position] + bytes([good[position] ^ 1]) + good[position + 1 :])
        try:
            state = load_checkpoint(path)
        except DamagedCheckpointError:
            continue
        assert torch.equal(state["ema"]["w"], torch.arange(64.0))  # the bit was in the padding or in a time stamp
        assert (state["step"], state["config"]) == (3, {"name": "a"})
    for size in (0, 1, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:size])
        with pytest.raises(DamagedCheckpointError):
            load_checkpoint(path)


def test_checkpoints_hold_tensors_and_plain_values_alone(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="PosixPath"):
        save_checkpoint({"ema": {}, "folder": tmp_path}, tmp_path / "last.pt")
    trained(tmp_path, 2, origin=origin([], MelSpec()))
    state = torch.load(tmp_path / "last.pt", weights_only=True)
    assert state["options"]["learning_rate"] == 1e-3
    assert state["origin"]["spec"]["features"]["mel"]["hop"] == MelSpec().hop
    assert {"git", "data", "versions"} <= state["origin"].keys()


def test_other_features_are_refused_with_the_difference(tmp_path: Path) -> None:
    ours, theirs = MelSpec(), dataclasses.replace(MelSpec(), hop=240)
    trained(tmp_path, 2, origin=origin([], ours), meta=meta_of(ours))
    with pytest.raises(ForeignCheckpointError, match=r"features\.mel\.hop: 120 in the checkpoint, 240 here"):
        trained(tmp_path, 4, origin=origin([], theirs), meta=meta_of(theirs))


def test_checkpoints_of_before_are_taken(tmp_path: Path) -> None:
    """Those lack everything that is new: they go on, without a word about it."""
    whole = trained(tmp_path / "whole", 12)
    trained(tmp_path / "old", 5)
    path, lines = tmp_path / "old" / "last.pt", []
    state = load_checkpoint(path)
    old = {name: state[name] for name in "config meta step skipped ema model optimizer".split()}
    torch.save(old, path)
    assert torch.equal(weights(trained(tmp_path / "old", 12, echo=lines.append).model), weights(whole.model))
    assert not [line for line in lines if line.startswith("note")]


def test_a_learning_rate_can_be_changed_on_purpose(tmp_path: Path) -> None:
    trained(tmp_path, 10)
    lines: list[str] = []
    trainer = trained(tmp_path, 12, learning_rate=5e-4, echo=lines.append)
    assert trainer.optimizer.param_groups[0]["lr"] == 5e-4
    assert "note: learning_rate: 0.001 in the checkpoint, 0.0005 here; the run goes on with this" in lines


def test_an_optimiser_can_begin_anew(tmp_path: Path) -> None:
    kept = trained(tmp_path / "kept", 20)
    trained(tmp_path / "new", 10)
    new = trained(tmp_path / "new", 20, reset_optimizer=True)
    steps = [trainer.optimizer.state_dict()["state"][0]["step"] for trainer in (kept, new)]
    assert (float(steps[0]), float(steps[1]), new.step) == (20.0, 10.0, 20)
    assert not torch.equal(weights(kept.model), weights(new.model))


def test_changed_data_is_noticed(tmp_path: Path) -> None:
    data = tmp_path / "manifest.jsonl"
    data.write_text("a")
    trained(tmp_path / "run", 2, origin=origin([data], None))
    data.write_text("b")
    lines: list[str] = []
    trained(tmp_path / "run", 4, origin=origin([data], None), echo=lines.append)
    assert any("manifest.jsonl has changed since the checkpoint" in line for line in lines)


class Loud(Numbers):
    """Batches whose values are so many times larger from one step to another."""

    def __init__(self, first: int, last: int, factor: float) -> None:
        self.first, self.last, self.factor = first, last, factor
        self.seen: list[int] = []

    def batch(self, step: int) -> torch.Tensor:
        self.seen.append(step)
        return Numbers().batch(step) * (self.factor if self.first <= step < self.last else 1.0)


def test_an_exploding_gradient_is_skipped_and_counted(tmp_path: Path) -> None:
    lines: list[str] = []
    trainer = trained(tmp_path, 60, source=Loud(50, 51, 1e4), echo=lines.append)
    assert trainer.skipped == 1
    assert any("step 50 skipped" in line and "times the usual" in line for line in lines)
    events = [row for row in read_events(tmp_path).rows if row["event"] == "skipped"]
    assert [(row["step"], row["cause"]) for row in events] == [(50, "exploding gradient")]
    assert max(row["gradient_norm"] for row in logged(tmp_path)) < 1e4


def test_the_cause_is_named_when_a_run_stops(tmp_path: Path) -> None:
    with pytest.raises(NotFiniteError, match=r"4 steps in a row .* step 13: the gradient of 0\.weight.* is not finite"):
        trained(tmp_path, 40, source=Numbers(frozenset(range(10, 40))), max_skipped=4)
    assert load_checkpoint(tmp_path / "last.pt")["guard"]["in_a_row"] == 3
    assert [row["cause"] for row in read_events(tmp_path).rows if row["event"] == "fault"] == ["not finite"]


def test_a_loss_that_stays_up_sends_the_run_back(tmp_path: Path) -> None:
    """To a checkpoint from before, without the batches that led there."""
    source, lines = Loud(80, 110, 20.0), []
    trainer = trained(tmp_path, 130, source=source, spike=3.0, explosion=0.0, echo=lines.append)
    assert trainer.watch.rollbacks >= 1
    assert trainer.step == 130
    back = next(row for row in read_events(tmp_path).rows if row["event"] == "rollback")
    assert back["to"] <= 82 < back["step"]
    assert len(source.seen) == len(set(source.seen))  # none was seen twice


def test_the_best_figure_keeps_its_weights(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, figures = nn.Linear(4, 1), iter([3.0, 1.0, 2.0])
    options = TrainOptions(out_dir=tmp_path, steps=30, evaluate_every=10, best="error", bfloat16=False)
    train(
        model, Numbers(), loss_fn, options, config={}, meta=META, echo=say_nothing,
        evaluate=lambda model, step: {"error": next(figures)},
    )  # fmt: skip
    best = load_checkpoint(tmp_path / "best.pt")
    assert (best["step"], best["figure"]) == (20, {"error": 1.0})
    assert not torch.equal(best["ema"]["weight"], load_checkpoint(tmp_path / "last.pt")["ema"]["weight"])


def test_the_log_has_every_step_once(tmp_path: Path) -> None:
    """Also after a kill, which loses what came after the checkpoint, and a line that it has torn."""
    trained(tmp_path, 8)
    with (tmp_path / "log.jsonl").open("a") as log:
        log.write('{"step": 9, "time": 0, "loss": 1.0}\n{"step": 10, "ti')
    trained(tmp_path, 12)
    assert [row["step"] for row in logged(tmp_path)] == list(range(1, 13))


def test_intervals_follow_the_measured_time_of_writing(tmp_path: Path) -> None:
    trained(tmp_path, 30, checkpoint_seconds=AUTO)
    trained(tmp_path, 40, checkpoint_seconds=AUTO)
    assert [row["step"] for row in read_events(tmp_path).rows if row["event"] == "checkpoint"] == [30, 40]
    assert 10 <= chosen_interval(tmp_path, 1, FAILURES_PER_DAY) < 1e6


def test_random_numbers_belong_to_samples_and_places() -> None:
    device = torch.device("cpu")
    with sharing(Share(keys_B=sample_keys(0, 7, 0, 1, 9))):
        whole, other = uniform((9, 40, 3), device), uniform((9, 40, 3), device)
    with sharing(Share(keys_B=sample_keys(0, 7, 2, 4, 2))):
        part = uniform((2, 25, 3), device)  # samples 2 and 6, with less padding
    assert torch.equal(part, whole[2::4, :25])
    assert not torch.equal(whole, other)
    with sharing(Share(keys_B=sample_keys(0, 8, 0, 1, 4000))):
        many, bell = uniform((4000, 50), device), normal((4000, 50), device)
    assert float(many.mean()) == pytest.approx(0.5, abs=0.005) and float(many.var()) == pytest.approx(1 / 12, abs=0.002)
    assert float(bell.mean()) == pytest.approx(0.0, abs=0.01) and float(bell.std()) == pytest.approx(1.0, abs=0.01)
    neighbours = torch.corrcoef(torch.stack([many[:, :-1].flatten(), many[:, 1:].flatten()]))
    samples = torch.corrcoef(torch.stack([many[:-1].flatten(), many[1:].flatten()]))
    assert abs(float(neighbours[0, 1])) < 0.01 and abs(float(samples[0, 1])) < 0.01


@pytest.mark.parametrize(
    ("name", "value"),
    [("learning_rate", -1.0), ("learning_rate", float("nan")), ("ema", 7.0), ("weight_decay", -5.0), ("seed", -1),
     ("betas", (0.9, 1.5)), ("checkpoint_seconds", float("nan")), ("log_every", 0), ("steps", -3), ("final_rate", 2.0)],
)  # fmt: skip
def test_options_that_cannot_train_are_refused(tmp_path: Path, name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=name):
        TrainOptions(**{"out_dir": tmp_path, "steps": 5, name: value})


def test_one_run_a_folder(tmp_path: Path, run_python) -> None:
    """A second process is refused with the name of the first, and so is a second run in this process."""
    again = f"with locked(Path({str(tmp_path)!r})): print('trains')"
    second = f"from pathlib import Path; from deepvoice.recipes.common.lock import locked\n{again}"
    with locked(tmp_path):
        refused = run_python("-c", second)
        with pytest.raises(FolderInUseError, match="this very process"):
            trained(tmp_path, 1)
    assert refused.returncode == 1
    assert f"in use by another training run (process {os.getpid()} on " in refused.stderr.decode()
    assert b"trains" in run_python("-c", second).stdout
    assert trained(tmp_path, 1).step == 1


def test_weights_of_another_module_are_refused(tmp_path: Path) -> None:
    trained(tmp_path, 1)
    model = nn.Sequential(nn.Linear(4, 7), nn.Linear(7, 1))
    options = {"steps": 2, "bfloat16": False}
    for more in ({"out_dir": tmp_path}, {"out_dir": tmp_path / "new", "warm_start": tmp_path / "last.pt"}):
        with pytest.raises(ForeignCheckpointError, match=r"another module(.|\n)*0\.weight: \(16, 4\) in the file"):
            train(model, Numbers(), loss_fn, TrainOptions(**options, **more), config={}, meta=META, echo=say_nothing)


@pytest.mark.parametrize("name", ["no such device", "cuda:1000", "meta"])
def test_a_device_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(TrainingError, match=f"the device is '{name}'; expected cpu or cuda"):
        pick_device(name)


def test_a_training_leaves_the_arithmetic_of_its_process_as_it_was():
    tiny = np.float32(1e-40)
    with flushed_denormals():
        assert tiny * np.float32(1.0) == 0
        with flushed_denormals():
            assert tiny * np.float32(1.0) == 0
        assert tiny * np.float32(1.0) == 0
    assert tiny * np.float32(1.0) > 0
    with pytest.raises(KeyError), flushed_denormals():
        raise KeyError
    assert tiny * np.float32(1.0) > 0
