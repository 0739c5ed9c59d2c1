"""The budget in kernels/cuda/README.md: what it counts is what the plans say."""

from typing import Any

import pytest

from deepvoice.kernels import wavenet
from deepvoice.kernels.bench.device import cases
from deepvoice.kernels.bench.work import step_work
from deepvoice.kernels.weights import WaveNetShape, random_weights
from tests.kernels.cuda.omissions import SOURCES

README = " ".join((SOURCES / "README.md").read_text(encoding="utf-8").split())
PROCESSORS, PRODUCTS, CLOCK, CLUSTERS = 132, 128, 1.98e9, 16  # of an H200; products of a multiprocessor in a cycle


def padded(size: int) -> int:
    return -(-size // 16) * 16


def products(shape: WaveNetShape, stage: tuple[bool, int, int]) -> int:
    """Multiply-adds of a stream's step in a block, or weights that it reads; of one that has not the input layer."""
    _, layers, samples = stage
    R, S, H = padded(shape.residual), padded(shape.skip), padded(shape.head)
    draw = padded(2 + 3 * shape.head_history)
    return layers * (5 * R * R + S * R) + samples * H * (S + draw + padded(shape.levels))


def barriers_of_blocks(plan: dict[str, Any]) -> int:
    """Count what `Worker::visit` and `Worker::head` do in a step, of a WaveNet whose past fits."""
    count = 0
    for has_input, layers, samples in plan["stages"]:
        count += 2 + int(has_input) + 2 * layers  # begin, gather, input layer, layers
        count += int(has_input or samples > 0)  # history
        count += 1 + 3 * samples if samples else 0  # rectify, samples
    return count + 1  # before the histories are saved


def in_readme(*texts: str) -> None:
    for text in texts:
        assert text in README, text


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_the_table_says_what_the_plans_say(emulated, case):
    weights, shape = random_weights(case.shape), case.shape
    wavenet.prepare(weights, backend="cuda")
    alone, many = (weights._packed["cuda"].plan(streams) for streams in (1, 64))
    assert alone["cluster"] == many["cluster"] == many["groups"] == many["columns"] == 8
    in_readme(f"{step_work(shape, 'float32').multiply_adds:,}", f"{round(alone['weight_bytes'] / 1000):,} kB")
    in_readme(f"{2 * 4 * shape.residual * shape.layers / 1000:.1f} kB of queues")
    in_readme(f"{4 * shape.conditioning / (shape.hop // shape.bunch) / 1000:.1f} kB of conditioning")
    assert 4 * (shape.residual + shape.skip) == 768
    read = 2 * max(products(shape, stage) for stage in alone["stages"][1:])  # bytes, of half-precision weights
    multiplied = 8 * max(products(shape, stage) for stage in many["stages"][1:])
    if case.name == "shipped":
        in_readme(f"3 layers, {round(read / 1000)} kB of weights: {read // 128:,} cycles at 128 bytes a cycle")
        in_readme(f"3 samples: {multiplied // PRODUCTS:,} cycles at 128 multiply-adds a cycle")
    else:
        in_readme(f"1 sample, {round(read / 1000)} kB: {read // 128:,}", f"1 sample: {multiplied // PRODUCTS:,}")
    if case.name == "shipped":
        in_readme(f"{barriers_of_blocks(alone)} (11.5 a sample); {barriers_of_blocks(many)} with 8 streams a group")
        in_readme(f"({round(many['weight_bytes'] / 1000)} kB with 8 streams a group)")
        assert alone["streamed_bytes"] == many["streamed_bytes"] == 0
    else:
        in_readme(f"65 with 8 streams a group | {barriers_of_blocks(alone)} |")
        in_readme(f"{many['streamed_bytes'] // 1024} kB of them streamed")


@pytest.mark.parametrize(("case", "total_x", "of_device"), list(zip(cases(), (6000, 1200), (36, 39), strict=True)))
def test_the_expected_shares_follow_from_the_expected_speed(emulated, case, total_x, of_device):
    weights, shape = random_weights(case.shape), case.shape
    wavenet.prepare(weights, backend="cuda")
    stages = weights._packed["cuda"].plan(64)["stages"][1:]
    steps = total_x * case.rate / shape.bunch  # of all streams, a second
    work = step_work(shape, "float32").multiply_adds
    assert 100 * steps * work / (PROCESSORS * PRODUCTS * CLOCK) == pytest.approx(of_device, abs=1.0)
    slowest = max(products(shape, stage) for stage in stages) / PRODUCTS  # cycles a stream
    assert 100 * steps / CLUSTERS * slowest / CLOCK == pytest.approx(50, abs=3.0)
    in_readme("| 36 %, 50 % | 39 %, 50 % |", f"{total_x:,} times (")


def test_the_recurrent_layers_lie_as_the_table_says(emulated):
    def in_registers(units: int) -> bool:
        plan = emulated.gru_plan(units, 1)
        return bool(plan["passes"] == 1 and plan["quads"] <= plan["resident"])

    blocks = {units: emulated.gru_plan(units, 1)["cluster"] for units in range(1, 400)}
    in_readme(f"{max(u for u in blocks if blocks[u] == 1)} units in one block")
    in_readme(f"{max(filter(in_registers, blocks))} in eight")
    for units in (64, 128, 256):
        plan = emulated.gru_plan(units, 1)
        in_readme(f"| {units} | {plan['cluster']} | {12 * plan['quads']} in registers |")
    plan = emulated.gru_plan(512, 1)
    streamed = plan["quads"] - plan["resident"] - plan["shared"]
    in_readme(f"{12 * plan['resident']} in registers, {12 * plan['shared']} in shared memory, {12 * streamed} streamed")
    with pytest.raises(ValueError, match="at least one unit"):
        emulated.gru_plan(0, 1)
