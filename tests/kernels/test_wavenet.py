"""The WaveNet kernel: the reference against itself, and every instruction set against the reference."""

import threading

import numpy as np
import pytest

from deepvoice.audio import companding
from deepvoice.kernels import wavenet
from deepvoice.kernels.parity.cases import centred_uniforms, softmax_with_floor
from deepvoice.kernels.reference import wavenet as reference
from deepvoice.kernels.reference.ops import sigmoid
from deepvoice.kernels.weights import PRECISIONS, WaveNetWeights, random_weights

FLOOR = 0.001


def test_draws_free_running_what_the_reference_draws(isa, assert_matches, make_weights, make_inputs, wavenet_name):
    weights = make_weights(wavenet_name)
    inputs = make_inputs(weights.shape, 3)
    inputs["uniforms_T"], _ = centred_uniforms(weights, inputs, FLOOR)
    expected = wavenet.generate(weights, **inputs, floor=FLOOR, backend="reference")
    actual = wavenet.generate(weights, **inputs, floor=FLOOR, backend="cpu")
    assert np.array_equal(actual.codes, expected.codes)
    assert len(np.unique(actual.codes)) > 20
    assert_matches(actual.samples, expected.samples, op="wavenet_samples")
    for name in ("signal", "residual", "output", "queues_DR"):
        assert_matches(getattr(actual.state, name), getattr(expected.state, name), op="wavenet_state")


@pytest.mark.parametrize("half", [True, False])
def test_logits_match_the_reference(isa, assert_matches, make_weights, make_inputs, wavenet_name, half):
    weights = make_weights(wavenet_name, half=half)
    inputs = make_inputs(weights.shape, 2)
    codes = np.random.default_rng(1).integers(60, 190, 2 * weights.shape.hop).astype(np.uint8)
    given = {name: inputs[name] for name in ("cond_FC", "lpc_FK", "pulse_NQ2")}
    expected = wavenet.teacher_forced(weights, **given, codes_T=codes, backend="reference")
    actual = wavenet.teacher_forced(weights, **given, codes_T=codes, backend="cpu")
    assert expected.logits_TA.std() > 0.1
    assert_matches(actual.logits_TA, expected.logits_TA, op="wavenet_logits")
    assert_matches(actual.samples, expected.samples, op="wavenet_samples")


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(n, marks=pytest.mark.slow) for n in range(6, 200))])
def test_random_sizes_match_the_reference(isa, assert_matches, make_shape, make_inputs, seed):
    random = np.random.default_rng(seed)
    bunch = int(random.integers(1, 9))
    sizes = {name: int(random.integers(1, 100)) for name in ("residual", "skip", "head")}
    sizes |= {name: int(random.integers(1, 40)) for name in ("history", "head_history")}
    sizes |= {"harmonics": int(random.integers(0, 5)), "lpc_order": int(random.integers(0, 65))}
    dilations = tuple(int(d) for d in random.integers(1, 12, random.integers(1, 5)))
    shape = make_shape(
        hop=bunch * int(random.integers(1, 12)),
        bunch=bunch,
        dilations=dilations,
        levels=int(random.integers(2, 257)),
        **sizes,
    )
    weights = random_weights(shape, seed=seed, half=bool(seed % 2))
    inputs = make_inputs(shape, 4)
    codes = (inputs["uniforms_T"] * shape.levels).astype(np.uint8)
    given = {name: inputs[name] for name in ("cond_FC", "lpc_FK", "pulse_NQ2")}
    expected = wavenet.teacher_forced(weights, **given, codes_T=codes, backend="reference")
    actual = wavenet.teacher_forced(weights, **given, codes_T=codes, backend="cpu")
    assert_matches(actual.logits_TA, expected.logits_TA, op="wavenet_logits")
    assert_matches(actual.state.queues_DR, expected.state.queues_DR, op="wavenet_state")


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("patience", [0, 1, 4000, 10**7])  # gives the other thread up at once, or never
def test_two_threads_draw_what_one_draws_bit_for_bit(isa, make_weights, make_inputs, wavenet_name, precision, patience):
    weights = make_weights(wavenet_name, precision=precision)
    inputs = make_inputs(weights.shape, 12)
    alone = wavenet.generate(weights, **inputs, floor=FLOOR, backend="cpu")
    state = wavenet.WaveNetState.initial(weights.shape)
    samples, codes = np.empty_like(alone.samples), np.empty_like(alone.codes)
    arrays = (state.signal, state.residual, state.output, state.queues_DR, samples, codes)
    together = wavenet._packed(weights, "cpu").generate_paired(*inputs.values(), FLOOR, *arrays, patience)
    assert 0 <= together <= 12 * weights.shape.hop // weights.shape.bunch
    assert np.array_equal(samples, alone.samples)
    assert np.array_equal(codes, alone.codes)
    for name in ("signal", "residual", "output", "queues_DR"):
        assert np.array_equal(getattr(state, name), getattr(alone.state, name))


def test_threads_are_one_or_two(backend, make_weights, make_inputs):
    weights = make_weights()
    inputs = make_inputs(weights.shape, 2)
    results = [wavenet.generate(weights, **inputs, threads=n, backend=backend).samples for n in (1, 2)]
    assert np.array_equal(*results)
    with pytest.raises(ValueError, match="threads is 3"):
        wavenet.generate(weights, **inputs, threads=3, backend=backend)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_generating_and_scoring_agree(backend, make_weights, make_inputs, wavenet_name, precision):
    weights = make_weights(wavenet_name, precision=precision)
    inputs = make_inputs(weights.shape, 2)
    drawn = wavenet.generate(weights, **inputs, backend=backend)
    given = {name: inputs[name] for name in ("cond_FC", "lpc_FK", "pulse_NQ2")}
    scored = wavenet.teacher_forced(weights, **given, codes_T=drawn.codes, backend=backend)
    assert np.array_equal(scored.samples, drawn.samples)
    assert np.array_equal(scored.state.queues_DR, drawn.state.queues_DR)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("pieces", [(1, 1, 1, 1, 1, 1, 1), (3, 4), (2, 0, 5)])
def test_many_calls_are_one_call_bit_for_bit(backend, make_weights, make_inputs, wavenet_name, pieces, precision):
    weights = make_weights(wavenet_name, precision=precision)
    hop, steps = weights.shape.hop, weights.shape.hop // weights.shape.bunch
    inputs = make_inputs(weights.shape, 7)
    whole = wavenet.generate(weights, **inputs, floor=FLOOR, backend=backend)
    state, first, samples = None, 0, []
    for count in pieces:
        last = first + count
        result = wavenet.generate(
            weights,
            inputs["cond_FC"][first:last],
            inputs["lpc_FK"][first:last],
            inputs["pulse_NQ2"][first * steps : last * steps],
            inputs["uniforms_T"][first * hop : last * hop],
            inputs["temperature_F"][first:last],
            FLOOR,
            state,
            backend=backend,
        )
        state, first = result.state, last
        samples.append(result.samples)
    assert np.array_equal(np.concatenate(samples), whole.samples)
    for name in ("signal", "residual", "output", "queues_DR"):
        assert np.array_equal(getattr(state, name), getattr(whole.state, name)), name


def test_a_state_is_not_changed_and_may_be_used_again(backend, make_weights, make_inputs):
    weights = make_weights()
    state = wavenet.generate(weights, **make_inputs(weights.shape, 2), backend=backend).state
    kept = state.copy()
    inputs = make_inputs(weights.shape, 2, seed=9)
    first = wavenet.generate(weights, **inputs, state=state, backend=backend)
    second = wavenet.generate(weights, **inputs, state=state, backend=backend)
    assert np.array_equal(first.samples, second.samples)
    for name in ("signal", "residual", "output", "queues_DR"):
        assert np.array_equal(getattr(state, name), getattr(kept, name))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_threads_do_not_disturb_each_other(isa, make_weights, make_inputs, precision):
    weights = make_weights("odd", precision=precision)
    inputs = [make_inputs(weights.shape, 6, seed=i) for i in range(8)]
    alone = [wavenet.generate(weights, **i, backend="cpu").samples for i in inputs]
    together: list[np.ndarray | None] = [None] * 8

    def run(n: int) -> None:
        together[n] = wavenet.generate(weights, **inputs[n], backend="cpu").samples

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("frames", [(), (3,), (2, 2), (4, 0, 1, 3, 2), (2, 1, 3) * 4, (1,) * 19])
def test_streams_side_by_side_are_the_streams_alone(
    backend, make_weights, make_inputs, wavenet_name, frames, precision
):
    weights = make_weights(wavenet_name, precision=precision)
    states = [None, wavenet.generate(weights, **make_inputs(weights.shape, 2, seed=50), backend=backend).state]
    pieces = [
        wavenet.Piece(**make_inputs(weights.shape, count, seed=n), floor=0.001 * n, state=states[n % 2])
        for n, count in enumerate(frames)
    ]
    together = wavenet.generate_many(weights, pieces, backend=backend)
    assert len(together) == len(pieces)
    for piece, result in zip(pieces, together, strict=True):
        alone = wavenet.generate(weights, *piece, backend=backend)
        assert np.array_equal(result.samples, alone.samples)
        assert np.array_equal(result.codes, alone.codes)
        for name in ("signal", "residual", "output", "queues_DR"):
            assert np.array_equal(getattr(result.state, name), getattr(alone.state, name)), name


def test_a_step_is_the_convolution_it_stands_for(make_weights, make_inputs):
    """The incremental reference against dilated convolutions over whole sequences, every layer."""
    weights = make_weights("odd")
    shape, R = weights.shape, weights.shape.residual
    inputs = make_inputs(shape, 2)
    codes = np.random.default_rng(1).integers(0, shape.levels, 2 * shape.hop).astype(np.uint8)
    run = reference.Run(weights, wavenet.WaveNetState.initial(shape))
    traces = []
    for n, pulse_Q2 in enumerate(inputs["pulse_NQ2"]):
        f = n * shape.bunch // shape.hop
        traces.append(run.step(inputs["cond_FC"][f], pulse_Q2))
        for i in range(shape.bunch):
            run.accept(codes[n * shape.bunch + i], run.predict(inputs["lpc_FK"][f]))
    cond_NC = np.repeat(inputs["cond_FC"], shape.hop // shape.bunch, axis=0)
    hidden_NR = np.array([t.hidden_LR[0] for t in traces])
    skip_NS = cond_NC[:, 2 * R * shape.layers :]
    for layer, dilation in enumerate(shape.dilations):
        past_NR = np.concatenate([np.zeros((dilation, R), np.float32), hidden_NR])[: len(hidden_NR)]
        z = past_NR @ weights.past_weight[layer].T + hidden_NR @ weights.current_weight[layer].T
        z += cond_NC[:, 2 * R * layer : 2 * R * (layer + 1)]
        gated_NR = np.tanh(z[:, :R]) * sigmoid(z[:, R:])
        np.testing.assert_allclose([t.gated_LR[layer] for t in traces], gated_NR, atol=1e-5)
        skip_NS = skip_NS + gated_NR @ weights.skip_weight[layer].T
        if layer + 1 < shape.layers:
            hidden_NR = hidden_NR + gated_NR @ weights.residual_weight[layer].T + weights.residual_bias[layer]
    np.testing.assert_allclose([t.skip_S for t in traces], skip_NS, atol=1e-4)


def test_companding_is_that_of_the_audio_package():
    values = np.concatenate([np.linspace(-1, 1, 2001), [0, 1e-9, -1e-9, 5, -5]]).astype(np.float32)
    for scale in (0.5, 1.0, 3.7):
        assert np.array_equal(reference.compress(values, 256, scale), companding.compress(values, scale))
        np.testing.assert_allclose(
            reference.level_amplitudes(256, scale), companding.level_amplitudes(scale), rtol=1e-6
        )
        codes = np.arange(256, dtype=np.uint8)
        assert np.array_equal(companding.encode(reference.level_amplitudes(256, scale), scale), codes)


@pytest.mark.parametrize(
    ("logits", "uniform", "floor", "expected"),
    [
        ([0, 0, 0, 0], 0.0, 0, 0),
        ([0, 0, 0, 0], 0.3, 0, 1),
        ([0, 0, 0, 0], 0.999999, 0, 3),
        ([5, 0, 0, 5], 0.5001, 0.05, 3),  # the floor removes the two middle levels
        ([-80, 5, 5, -80], 0.0, 0.001, 1),
        ([0, 1, 0, 0], 0.0, 0.9, 1),  # a floor above every level leaves the likeliest
    ],
)
def test_draws_of_the_reference(logits, uniform, floor, expected):
    code = reference.draw(np.array(logits, np.float32), np.float32(uniform), np.float32(1), np.float32(floor))
    assert code == expected


def test_draws_follow_the_distribution(backend, make_weights, make_inputs):
    """With heads that see nothing, codes are independent draws from softmax(output_bias / temperature)."""
    weights = make_weights("plain", levels=8, hop=600)
    tensors = {**weights.tensors(), "output_weight": np.zeros_like(weights.output_weight)}
    weights = WaveNetWeights.from_tensors(weights.shape, tensors)
    inputs = make_inputs(weights.shape, 5)
    inputs["temperature_F"][:] = 0.8
    codes = wavenet.generate(weights, **inputs, floor=0.02, backend=backend).codes
    logits_TA = weights.output_bias[None]
    expected = softmax_with_floor(logits_TA, np.array([0.8]), 0.02)[0]
    # stratified uniforms would leave no noise; independent ones leave about 1 %
    assert np.abs(np.bincount(codes, minlength=8) / len(codes) - expected).max() < 0.03


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_broken_weights_still_give_codes_and_bounded_samples(backend, make_weights, make_inputs, value, precision):
    weights = make_weights("odd")
    inputs = make_inputs(weights.shape, 1)
    for name, tensor in weights.tensors().items():
        broken = tensor.copy()
        broken.reshape(-1)[:: max(1, tensor.size // 7)] = value
        tensors = {**weights.tensors(), name: broken}
        net = WaveNetWeights.from_tensors(weights.shape, tensors, precision=precision, limits=weights.limits)
        with np.errstate(all="ignore"):
            result = wavenet.generate(net, **inputs, floor=FLOOR, backend=backend)
        assert result.codes.max() < weights.shape.levels
        assert np.isfinite(result.samples).all() and np.abs(result.samples).max() < 20


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e30])
def test_broken_inputs_still_give_codes_and_bounded_samples(backend, make_weights, make_inputs, value):
    weights = make_weights("odd")
    for name in ("cond_FC", "lpc_FK", "pulse_NQ2"):
        inputs = make_inputs(weights.shape, 2)
        inputs[name][0, 0] = value
        with np.errstate(all="ignore"):
            result = wavenet.generate(weights, **inputs, backend=backend)
        assert result.codes.max() < weights.shape.levels
        assert np.isfinite(result.samples).all() and np.abs(result.samples).max() < 20


def test_no_frames_give_no_samples(backend, make_weights, make_inputs):
    weights = make_weights()
    result = wavenet.generate(weights, **make_inputs(weights.shape, 0), backend=backend)
    assert result.samples.shape == result.codes.shape == (0,)
    assert not result.state.queues_DR.any()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("cond_FC", lambda v: v[:, :-1], "cond_FC"),
        ("lpc_FK", lambda v: v[:1], "lpc_FK"),
        ("pulse_NQ2", lambda v: v[1:], "pulse_NQ2"),
        ("uniforms_T", lambda v: v[1:], "uniforms_T"),
        ("uniforms_T", lambda v: v + 1, "outside"),
        ("uniforms_T", lambda v: v * np.float32("nan"), "outside"),
        ("temperature_F", lambda v: v * 0, "temperature_F"),
    ],
)
def test_wrong_arguments_are_named(make_weights, make_inputs, name, change, message):
    weights = make_weights()
    inputs = make_inputs(weights.shape, 2)
    inputs[name] = change(inputs[name])
    with pytest.raises(ValueError, match=message):
        wavenet.generate(weights, **inputs)


def test_wrong_floor_state_and_codes_are_named(make_weights, make_inputs):
    weights = make_weights()
    inputs = make_inputs(weights.shape, 1)
    with pytest.raises(ValueError, match="floor"):
        wavenet.generate(weights, **inputs, floor=1.0)
    other = wavenet.WaveNetState.initial(make_weights("odd").shape)
    with pytest.raises(ValueError, match=r"state\.queues_DR"):
        wavenet.generate(weights, **inputs, state=other)
    given = {name: inputs[name] for name in ("cond_FC", "lpc_FK", "pulse_NQ2")}
    with pytest.raises(ValueError, match="codes_T"):
        wavenet.teacher_forced(weights, **given, codes_T=np.zeros(3, np.uint8))
    few = make_weights(levels=200)
    with pytest.raises(ValueError, match="200 levels"):
        wavenet.teacher_forced(few, **given, codes_T=np.full(120, 201, np.uint8))


def test_weights_are_packed_once(isa, make_shape):
    weights = random_weights(make_shape(), seed=1)
    wavenet.prepare(weights, backend="cpu")
    engine = weights._packed["cpu"]
    wavenet.prepare(weights, backend="cpu")
    assert weights._packed["cpu"] is engine
