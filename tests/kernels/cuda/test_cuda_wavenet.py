"""The persistent WaveNet against the reference: every way to spread it, every size class, every schedule."""

import importlib
import itertools
from typing import Any

import numpy as np
import pytest

import deepvoice
from deepvoice.kernels import wavenet
from deepvoice.kernels.tolerances import TOLERANCES
from deepvoice.kernels.weights import WaveNetWeights, random_weights
from deepvoice.rendering import uniforms
from tests.kernels.conftest import SHAPES
from tests.kernels.cuda.conftest import ON_DEVICE, SCHEDULES
from tests.kernels.test_wavenet import FLOOR, centred_uniforms

FRAMES = (1, 2, 1)  # of streams side by side: they end and begin at different times
SMALL = sorted(set(SHAPES) - {"voice"})
# One block alone, as before compute capability 9.0, with all weights in its shared memory or some of them streamed;
# clusters with one stream, several groups of one, four or eight streams, and more streams than places.
WAYS: dict[str, dict[str, int]] = {
    "block": {"cluster": 1, "columns": 1},
    "streamed": {"cluster": 1, "columns": 1, "shared_bytes": 49152},
    "columns": {"cluster": 1, "columns": 4},
    "pair": {"cluster": 2, "columns": 1, "groups": 2},
    "four": {"cluster": 4, "columns": 4, "groups": 1},
    "wide": {"cluster": 4, "columns": 8, "groups": 2},
}
THREADS = 256 if ON_DEVICE else 64  # fewer are faster to emulate


def engine(weights: WaveNetWeights, **wishes: int) -> Any:
    wavenet.prepare(weights, backend="cuda")
    made = weights._packed["cuda"]
    made.wish(**{"threads": THREADS, **wishes})
    return made


def pieces_of(shape, make_inputs, frames=FRAMES) -> list[dict[str, np.ndarray]]:
    return [make_inputs(shape, count, seed=count) for count in frames]


def generate(weights: WaveNetWeights, pieces: list[dict[str, np.ndarray]]) -> list[wavenet.Generated]:
    return wavenet.generate_many(weights, [wavenet.Piece(**p, floor=FLOOR) for p in pieces], backend="cuda")


def same_bits(made: list[wavenet.Generated], expected: list[wavenet.Generated]) -> bool:
    return all(
        np.array_equal(a.codes, b.codes)
        and np.array_equal(a.samples, b.samples)
        and np.array_equal(a.state.queues_DR, b.state.queues_DR)
        for a, b in zip(made, expected, strict=True)
    )


@pytest.mark.parametrize("half", [True, False])
@pytest.mark.parametrize("name", SMALL)
def test_draws_what_the_reference_draws_however_it_is_spread(assert_matches, make_weights, make_inputs, name, half):
    weights = make_weights(name, half=half)
    pieces = pieces_of(weights.shape, make_inputs)
    expected = []
    for piece in pieces:
        piece["uniforms_T"], _ = centred_uniforms(weights, piece, FLOOR)
        expected.append(wavenet.generate(weights, **piece, floor=FLOOR, backend="reference"))
    bits = []
    for way in WAYS.values():
        if way["cluster"] > 1 + weights.shape.layers + weights.shape.bunch:
            continue
        assert engine(weights, **way).plan(1)["storage"] == (1 if half else 0)
        made = generate(weights, pieces)
        for actual, right in zip(made, expected, strict=True):
            assert np.array_equal(actual.codes, right.codes), way
            assert_matches(actual.samples, right.samples, op="wavenet_samples")
            for field in ("signal", "residual", "output", "queues_DR"):
                assert_matches(getattr(actual.state, field), getattr(right.state, field), op="wavenet_state")
        bits.append(made)
    if not ON_DEVICE:  # a compiler may contract differently in different variants
        assert all(same_bits(made, bits[0]) for made in bits[1:])


@pytest.mark.parametrize("seed", range(6))
def test_random_sizes_match_the_reference(assert_matches, make_shape, make_inputs, seed):
    random = np.random.default_rng(seed)
    bunch = int(random.integers(1, 9))
    sizes = {name: int(random.integers(1, 100)) for name in ("residual", "skip", "head")}
    sizes |= {name: int(random.integers(1, 40)) for name in ("history", "head_history")}
    sizes |= {"harmonics": int(random.integers(0, 5)), "lpc_order": int(random.integers(0, 65))}
    shape = make_shape(
        hop=bunch * int(random.integers(1, 12)),
        bunch=bunch,
        dilations=tuple(int(d) for d in random.integers(1, 12, random.integers(1, 5))),
        levels=int(random.integers(2, 257)),
        **sizes,
    )
    weights = random_weights(shape, seed=seed, half=bool(seed % 2))
    inputs = make_inputs(shape, 3)
    inputs["uniforms_T"], expected = centred_uniforms(weights, inputs, FLOOR)
    engine(weights)
    (actual,) = generate(weights, [inputs])
    assert np.array_equal(actual.codes, expected.codes)
    assert_matches(actual.samples, expected.samples, op="wavenet_samples")


LARGEST = {
    "residual": 512,
    "skip": 1024,
    "head": 512,
    "history": 256,
    "head_history": 256,
    "harmonics": 64,
    "lpc_order": 64,
}


@pytest.mark.parametrize("capability", [75, 90])
def test_the_largest_sizes_run_on_every_card(emulated, make_shape, make_inputs, capability):
    emulated.set_capability(capability)
    shape = make_shape(hop=2, bunch=2, dilations=(1, 2), **LARGEST)
    weights = random_weights(shape, seed=1)
    inputs = make_inputs(shape, 2)
    inputs["uniforms_T"], expected = centred_uniforms(weights, inputs, 0.0)
    plan = engine(weights).plan(1)
    assert plan["shared_bytes"] <= (65536 if capability == 75 else 232448)
    assert plan["streamed_bytes"] > 0
    assert plan["cluster"] == (1 if capability == 75 else 4)
    (actual,) = wavenet.generate_many(weights, [wavenet.Piece(**inputs)], backend="cuda")
    assert np.array_equal(actual.codes, expected.codes)


def test_many_layers_and_samples_take_turns_in_little_memory(emulated, make_shape, make_inputs):
    emulated.set_capability(75)
    shape = make_shape(hop=64, bunch=64, dilations=(1,) * 64, residual=64, skip=16, head=64, history=8)
    weights = random_weights(shape, seed=1)
    inputs = make_inputs(shape, 2)
    inputs["uniforms_T"], expected = centred_uniforms(weights, inputs, 0.0)
    engine(weights, columns=4)
    (actual,) = wavenet.generate_many(weights, [wavenet.Piece(**inputs)], backend="cuda")
    assert np.array_equal(actual.codes, expected.codes)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_no_schedule_changes_a_bit(emulated, make_weights, make_inputs, schedule):
    weights = make_weights("odd")
    pieces = pieces_of(weights.shape, make_inputs, frames=(1, 2))
    for way in ("block", "pair", "four"):
        engine(weights, **WAYS[way])
        expected = generate(weights, pieces)
        emulated.set_schedule(*schedule)
        assert same_bits(generate(weights, pieces), expected)
        emulated.set_schedule("forward")


def test_pieces_of_a_stream_give_the_samples_of_one_call(make_weights, make_inputs):
    weights = make_weights("odd")
    shape, frames = weights.shape, (1, 2, 1)
    inputs = make_inputs(shape, sum(frames))
    engine(weights, cluster=2, columns=1)
    (whole,) = generate(weights, [inputs])
    state, first, parts = None, 0, []
    for count in frames:
        steps, samples = shape.hop // shape.bunch, shape.hop
        last = first + count
        rows = {"pulse_NQ2": slice(first * steps, last * steps), "uniforms_T": slice(first * samples, last * samples)}
        part = {name: value[rows.get(name, slice(first, last))] for name, value in inputs.items()}
        (made,) = wavenet.generate_many(weights, [wavenet.Piece(**part, floor=FLOOR, state=state)], backend="cuda")
        state, first = made.state, last
        parts.append(made)
    assert np.array_equal(np.concatenate([p.samples for p in parts]), whole.samples)
    assert np.array_equal(parts[-1].state.queues_DR, whole.state.queues_DR)


def test_streams_join_where_others_end_and_change_nobody(make_weights, make_inputs):
    weights = make_weights("small")
    frames = (2, 0, 1, 3, 1, 1, 2, 1, 1, 1)  # more streams than there are places
    pieces = [make_inputs(weights.shape, count, seed=n) for n, count in enumerate(frames)]
    engine(weights, cluster=2, columns=1, groups=2)
    alone = [generate(weights, [piece])[0] for piece in pieces]
    assert same_bits(generate(weights, pieces), alone)
    assert len(alone[1].samples) == 0


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", ["odd", "wide"])
def test_logits_match_the_reference(make_weights, make_inputs, name, precision):
    weights = make_weights(name, half=False, precision=precision)
    inputs = make_inputs(weights.shape, 2)
    codes = np.random.default_rng(1).integers(60, 190, 2 * weights.shape.hop).astype(np.uint8)
    given = {field: inputs[field] for field in ("cond_FC", "lpc_FK", "pulse_NQ2")}
    expected = wavenet.teacher_forced(weights, **given, codes_T=codes, backend="reference")
    engine(weights, cluster=4, columns=1)
    actual = wavenet.teacher_forced(weights, **given, codes_T=codes, backend="cuda")
    error = np.abs(actual.logits_TA - expected.logits_TA) / (1 + np.abs(expected.logits_TA))
    if precision == "float32":
        assert error.max() <= TOLERANCES["wavenet_logits"]
    else:
        assert error.max() <= TOLERANCES["wavenet_logits_bfloat16"]
        assert np.median(error) <= TOLERANCES["wavenet_logits_bfloat16_median"]
    assert np.abs(actual.samples - expected.samples).max() <= TOLERANCES["wavenet_samples"]


def test_the_kernel_draws_the_random_numbers_of_a_sentence(make_weights, make_inputs):
    weights = make_weights("small")
    shape = weights.shape
    inputs = make_inputs(shape, 2)
    made = engine(weights, cluster=2)
    seed, sentence, first = 2**63 + 5, 7, 13
    inputs["uniforms_T"] = uniforms(seed, sentence, first, 2 * shape.hop)
    (expected,) = generate(weights, [inputs])
    state = wavenet.WaveNetState.initial(shape)
    samples, codes = np.empty(2 * shape.hop, np.float32), np.empty(2 * shape.hop, np.uint8)
    arrays = (state.signal, state.residual, state.output, state.queues_DR, samples, codes)
    given = (inputs["cond_FC"], inputs["lpc_FK"], inputs["pulse_NQ2"], (seed, sentence, first), inputs["temperature_F"])
    made.generate_many([(*given, FLOOR, *arrays)])
    assert np.array_equal(codes, expected.codes)
    assert np.array_equal(samples, expected.samples)


@pytest.mark.parametrize("cluster", [1, 0], ids=["one block", "as planned"])
def test_the_shipped_voice_says_the_reference_codes_for_200_ms(monkeypatch, cluster):
    asked: list[tuple[WaveNetWeights, list[wavenet.Piece]]] = []
    run = wavenet.generate_many

    def listen(weights: WaveNetWeights, pieces: list[wavenet.Piece], **options: Any) -> list[wavenet.Generated]:
        asked.append((weights, list(pieces)))
        return run(weights, pieces, **options)

    monkeypatch.setattr(wavenet, "generate_many", listen)
    voice = deepvoice.load(backend="cpu", precision="float32")
    list(itertools.islice(voice.stream("Hello there, how are you?"), 3))
    weights, _ = asked[0]
    first, second = (pieces[0] for _, pieces in asked[1:3])  # the very first piece is silence
    frames = round(0.2 * 24000) // weights.shape.hop
    steps, samples = frames * weights.shape.hop // weights.shape.bunch, frames * weights.shape.hop
    counts = {"pulse_NQ2": steps, "uniforms_T": samples}
    inputs = {
        field: np.concatenate([getattr(first, field), getattr(second, field)])[: counts.get(field, frames)]
        for field in ("cond_FC", "lpc_FK", "pulse_NQ2", "uniforms_T", "temperature_F")
    }
    piece = wavenet.Piece(**inputs, floor=first.floor, state=first.state)
    (expected,) = run(weights, [piece], backend="reference")
    plan = engine(weights, cluster=cluster).plan(1)
    assert ON_DEVICE or plan["cluster"] == (cluster or 8)
    (actual,) = run(weights, [piece], backend="cuda")
    assert len(expected.codes) == 4800
    assert len(np.unique(expected.codes)) > 50
    assert np.array_equal(actual.codes, expected.codes)


def test_damaged_weights_still_give_levels_and_bounded_samples(make_weights, make_inputs):
    weights = make_weights("odd", half=False)
    for name in ("output_weight", "current_weight", "draw_weight"):
        damaged = {**weights.tensors(), name: np.full_like(weights.tensors()[name], np.nan)}
        broken = WaveNetWeights.from_tensors(weights.shape, damaged)
        engine(broken, cluster=1)
        (made,) = generate(broken, [make_inputs(weights.shape, 1)])
        assert made.codes.max() < weights.shape.levels
        assert np.abs(made.samples).max() < 100


def test_what_does_not_run_is_refused_with_what_does(emulated, make_weights):
    with pytest.raises(ValueError, match=r"float32.*bfloat16"):
        engine(make_weights("small", precision="int8"))
    weights = make_weights("pair")
    for wishes, says in [
        ({"columns": 3}, "1, 4, 8"),
        ({"cluster": 3}, "1, 2, 4, 8 and 16"),
        ({"cluster": 8}, "4 parts"),
        ({"groups": 99}, "1 to 16"),
        ({"threads": 33}, "multiple of 32"),
        ({"shared_bytes": 4096}, "bytes of shared memory in a block, emulated has 4096"),
    ]:
        with pytest.raises(ValueError, match=says):
            engine(weights, **wishes).plan(1)
    emulated.set_capability(89)
    with pytest.raises(ValueError, match=r"compute capability 9\.0"):
        engine(weights, cluster=2).plan(1)


def test_plans_hold_all_weights_where_they_can(emulated, make_weights):
    made = engine(make_weights("voice"), threads=0)
    for streams, columns in [(1, 1), (8, 1), (32, 4), (64, 8), (1000, 8)]:
        plan = made.plan(streams)
        assert (plan["cluster"], plan["columns"], plan["streamed_bytes"]) == (8, columns, 0)
        assert plan["shared_bytes"] <= 232448
        assert sum(layers for _, layers, _ in plan["stages"]) == 12
        assert sum(samples for _, _, samples in plan["stages"]) == 6
    emulated.set_capability(80)
    plan = engine(make_weights("voice"), threads=0).plan(32)
    assert (plan["cluster"], plan["clusters"], plan["columns"]) == (1, 4, 8)
    assert plan["streamed_bytes"] > 0


def test_the_module_is_the_one_that_the_loader_gives(emulated):
    assert importlib.import_module("deepvoice.kernels.cuda").extension() is emulated
