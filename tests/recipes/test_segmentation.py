import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

pytest.importorskip("torch")
pytest.importorskip("pyworld")

import torch

from deepvoice.alignment.edges import EdgeRule, settle_edges
from deepvoice.audio.mel import MelSpec
from deepvoice.configs import SegmentationConfig
from deepvoice.models.segmentation import Segmentation, pair_loss
from deepvoice.networks.segmentation import SegmentationNetwork, normalise
from deepvoice.recipes.common.checkpoint import load_checkpoint, save_checkpoint
from deepvoice.recipes.common.features import build_cache
from deepvoice.recipes.common.options import Launch
from deepvoice.recipes.segmentation import align, augment, corpus, decode, evaluate, prepare, train
from deepvoice.recipes.segmentation.augment import Augmentation
from deepvoice.recipes.segmentation.corpus import (
    Utterance,
    UtteranceBatches,
    base_ids,
    collate,
    open_corpus,
    stretched,
    typical_spectrum,
    whole_durations,
)
from deepvoice.recipes.segmentation.decode import common_lag
from deepvoice.recipes.segmentation.pocketsphinx_baseline import _durations, to_frames
from deepvoice.recipes.segmentation.settings import Settings, TrainingSettings, default_config
from deepvoice.recipes.segmentation.viterbi import viterbi
from deepvoice.text.phones import NUM_SILENCES

TONES = {"AA1": 300.0, "IY1": 900.0, "S": 4000.0, "M": 150.0, "K": 2200.0}
SMALL = SegmentationConfig(channels=24, layers=2, dilations=(1, 4), dropout=0.0)
TYPICAL = np.full(80, -6.0, np.float32)


def best_path_by_trying_all(emission, optional, entry):
    """Score every monotone path; only for tiny lines."""
    steps, states = emission.shape
    best, found = -np.inf, None
    for path in itertools.product(range(states), repeat=steps):
        skipped = set(range(path[0])) | set(range(path[-1] + 1, states))
        moves = np.diff(path)
        if (moves < 0).any() or (moves > 2).any() or path[0] > 1 or path[-1] < states - 2:
            continue
        skipped |= {a + 1 for a, move in zip(path, moves, strict=False) if move == 2}
        if not all(optional[state] for state in skipped):
            continue
        score = sum(emission[t, s] for t, s in enumerate(path))
        score += sum(entry[t, path[t]] for t in range(1, steps) if path[t] != path[t - 1])
        if score > best:
            best, found = score, path
    return found


def test_viterbi_finds_the_best_of_all_paths():
    random = np.random.default_rng(0)
    for _ in range(30):
        steps, states = int(random.integers(3, 7)), int(random.integers(2, 5))
        emission = random.standard_normal((1, steps, states)).astype(np.float32)
        entry = random.standard_normal((1, steps, states)).astype(np.float32)
        optional = np.zeros((1, states), bool)
        optional[0, int(random.integers(states))] = True
        if states - optional.sum() > steps:
            continue
        path = viterbi(emission, np.array([steps]), np.array([states]), optional, entry)[0]
        assert tuple(path) == best_path_by_trying_all(emission[0], optional[0], entry[0])


def test_viterbi_ignores_padding_and_names_a_line_that_does_not_fit():
    random = np.random.default_rng(1)
    emission = random.standard_normal((2, 9, 4)).astype(np.float32)
    none = np.zeros((2, 4), bool)
    alone = viterbi(emission[:1, :6, :3], np.array([6]), np.array([3]), none[:1, :3])[0]
    batched = viterbi(emission, np.array([6, 9]), np.array([3, 4]), none)[0]
    assert alone.tolist() == batched.tolist()
    with pytest.raises(ValueError, match="3 steps cannot hold 4 states"):
        viterbi(emission[:1, :3], np.array([3]), np.array([4]), none[:1])


@pytest.mark.parametrize(
    "boundaries", [[3.2, 3.3, 3.4], [0.0, 0.0, 0.0], [99.0, 99.0, 99.0], [5.0, 2.0, 9.0], [-4.0, 2.0, 30.0]]
)
def test_rounded_durations_sum_to_the_frames_and_none_is_empty(boundaries):
    durations = whole_durations(np.array(boundaries), 12)
    assert durations.sum() == 12
    assert (durations >= 1).all()


def test_fewer_frames_than_symbols_is_an_error():
    with pytest.raises(ValueError, match="3 frames for 4 symbols"):
        whole_durations(np.zeros(3), 3)


def test_edges_of_silence_move_to_the_power_and_phones_keep_a_frame():
    bases = base_ids("sil K AA1 , S .".split())
    energy = np.full(100, -20.0, np.float32)
    energy[30:50] = energy[60:80] = -5.0
    settled = settle_edges(np.array([26, 10, 16, 5, 18, 25]), bases < NUM_SILENCES, energy, EdgeRule())
    assert settled.tolist() == [30, 6, 14, 10, 20, 20]
    for seed in range(20):
        random = np.random.default_rng(seed)
        durations = random.integers(1, 12, 6)
        durations[3] = random.integers(0, 5)
        noise = random.standard_normal(int(durations.sum())).astype(np.float32) * 5
        moved = settle_edges(durations, bases < NUM_SILENCES, noise, EdgeRule())
        assert moved.sum() == durations.sum()
        assert (moved[bases >= NUM_SILENCES] >= 1).all()
        assert (moved >= 0).all()


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    """A corpus of tones: 24 utterances whose phones are pitches, without any truth beside it."""
    folder = tmp_path_factory.mktemp("corpus")
    random = np.random.default_rng(0)
    rows, starts = [], {}
    for number in range(24):
        phones = [str(p) for p in random.choice(list(TONES), 5)]
        parts = [np.zeros(2400)]
        for phone in phones:
            samples = int(random.integers(10, 30)) * 120
            parts.append(0.2 * np.sin(2 * np.pi * TONES[phone] * np.arange(samples) / 24000))
        parts.append(np.zeros(2400))
        name = f"u{number:02d}"
        starts[name] = np.cumsum([len(part) // 120 for part in parts])[:-1]
        soundfile.write(folder / f"{name}.wav", np.concatenate(parts).astype(np.float32), 24000)
        rows.append(
            {"id": name, "audio": f"{name}.wav", "text": "x", "speed": 1.0, "phones": " ".join(["sil", *phones, "."]),
             "word_of": [-1, 0, 0, 0, 0, 0, -1], "words": ["x"], "seconds": sum(map(len, parts)) / 24000}
        )  # fmt: skip
    path = folder / "manifest.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    build_cache(path, folder / "features", MelSpec())
    return path


def small_settings(pair_steps=2, frame_steps=2):
    training = TrainingSettings(batch_size=4, pair_steps=pair_steps, frame_steps=frame_steps, varied_steps=2)
    return Settings(model=SMALL, training=training)


def test_the_recipe_runs_from_preparation_to_alignment_without_truth(manifest, tmp_path, capsys):
    assert not (manifest.parent / "truth").exists()
    assert prepare.main([str(manifest)]) == 0
    assert train.run(small_settings(), manifest, tmp_path / "run")
    out = tmp_path / "alignments.jsonl"
    arguments = [str(manifest), "--checkpoint", str(tmp_path / "run" / "last.pt"), "--out", str(out)]
    assert align.main(arguments) == 0
    opened = open_corpus(manifest)
    rows = {row["id"]: row for row in map(json.loads, out.read_text().splitlines())}
    assert len(rows) == 24
    for row in (*opened.rows.train, *opened.rows.dev, *opened.rows.test):
        durations = np.array(rows[row["id"]]["durations"])
        bases = base_ids(row["phones"].split())
        assert len(durations) == len(bases)
        assert durations.sum() == opened.cache.frames(row["id"])
        assert (durations[bases >= NUM_SILENCES] >= 1).all()
    with pytest.raises(SystemExit):  # only scoring needs the truth
        evaluate.main([str(manifest), "--alignments", str(out)])
    assert "no truth" in capsys.readouterr().err


def test_nothing_that_trains_knows_of_the_truth():
    for module in (prepare, train, align, augment, corpus, decode):
        assert "truth import" not in Path(module.__file__).read_text()


def test_a_stopped_run_resumes_where_it_was(manifest, tmp_path):
    assert not train.run(small_settings(pair_steps=4), manifest, tmp_path / "run", minutes=0.0)
    assert train.run(small_settings(pair_steps=4), manifest, tmp_path / "run")
    assert train.run(small_settings(pair_steps=4), manifest, tmp_path / "run")  # finished: nothing to do


def test_a_network_that_goes_on_keeps_the_typical_spectrum_it_learned_with(manifest, tmp_path):
    assert train.run(small_settings(), manifest, tmp_path / "first")
    state = load_checkpoint(tmp_path / "first" / "last.pt")
    for weights in (state["ema"], state["model"]):
        weights["typical"] += 1.0
    save_checkpoint(state, tmp_path / "other.pt")
    assert train.run(small_settings(), manifest, tmp_path / "second", launch=Launch(warm_start=tmp_path / "other.pt"))
    second = torch.load(tmp_path / "second" / "last.pt", weights_only=True)
    assert torch.allclose(second["ema"]["typical"], state["ema"]["typical"])


def test_pairs_learn_where_tones_change(manifest):
    opened = open_corpus(manifest)
    utterances = opened.utterances(opened.rows.train)
    batches = UtteranceBatches(opened.cache, utterances, 8, SMALL.stack, typical_spectrum(opened.cache, utterances))
    torch.manual_seed(0)
    model = Segmentation(SMALL)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    losses = []
    for step in range(60):
        loss, _ = train.loss_of_pairs(model, batches.batch(step))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.4 * losses[0]


def test_batches_are_a_function_of_the_step(manifest):
    opened = open_corpus(manifest)
    utterances = opened.utterances(opened.rows.train)
    varied = Augmentation(clean=0.2)
    first, second = (
        UtteranceBatches(opened.cache, utterances, 4, 2, TYPICAL, augmentation=varied, seed=5) for _ in range(2)
    )
    for step in (7, 0, 3):
        assert torch.equal(first.batch(step).mel_BFM, second.batch(step).mel_BFM)
    assert first.steps_per_epoch == len(utterances) // 4


def test_targets_follow_the_alignment(manifest):
    cache = open_corpus(manifest).cache
    frames = cache.frames("u00")
    utterance = Utterance("u00", base_ids("sil K , S .".split()), frames)
    durations = [20, 5, 0, 10, frames - 35]
    batch = collate(cache, [utterance], 2, TYPICAL, {"u00": durations})
    phones = batch.phone_BF[0, :frames]
    assert torch.bincount(phones[phones > 0]).max() == 10
    assert int((batch.boundary_BT == 1).sum()) == 3  # the pause has no frame: K and S touch
    step = int(torch.nonzero(batch.boundary_BT[0] == 1)[1])
    assert step == 12
    assert (int(batch.left_BT[0, step]), int(batch.right_BT[0, step])) == tuple(base_ids(["K", "S"]))


def test_targets_of_a_faster_copy_are_the_stretched_alignment(manifest):
    cache = open_corpus(manifest).cache
    frames = cache.frames("u00")
    utterance = Utterance("u00", base_ids("sil K , S .".split()), frames)
    durations = [20, 5, 0, 10, frames - 35]
    batch = collate(cache, [utterance], 2, TYPICAL, {"u00": durations}, lambda mel, least: mel[::2])
    half = -(-frames // 2)
    assert int(batch.steps_B[0]) == -(-half // 2)
    assert int((batch.boundary_BT == 1).sum()) == 3
    assert int((batch.phone_BF >= 0).sum()) == half
    assert stretched(np.array([4, 0, 2, 2]), 16).tolist() == [8, 0, 4, 4]
    assert stretched(np.array([8, 1, 1]), 5).tolist() == [3, 1, 1]


def test_ctc_of_the_pairs_agrees_with_a_sum_over_all_paths():
    torch.manual_seed(0)
    model = Segmentation(SMALL).eval()
    with torch.no_grad():
        output = model(torch.randn(1, 8, 80) * 4 - 7)
    left, right = torch.tensor([[0, 9]]), torch.tensor([[9, 5]])
    scores = output.pair_scores(left, right)[0].double().exp().numpy()
    total = 0.0
    for path in itertools.product(range(3), repeat=4):
        spoken = [label for label, _ in itertools.groupby(path) if label]
        if spoken == [1, 2]:
            total += np.prod([scores[t, label] for t, label in enumerate(path)])
    loss = pair_loss(output, left, right, torch.tensor([4]), torch.tensor([2]))
    assert float(loss) == pytest.approx(-np.log(total) / 2, rel=1e-4)


def test_the_network_without_torch_agrees_with_the_model():
    torch.manual_seed(0)
    model = Segmentation(SMALL).eval()
    tensors = {name: value.numpy() for name, value in model.state_dict().items()}
    network = SegmentationNetwork(tensors, SMALL)
    assert {name: value.shape for name, value in tensors.items()} == SegmentationNetwork.expected_shapes(SMALL)
    model.typical.copy_(torch.from_numpy(TYPICAL))
    mel = (np.random.default_rng(0).standard_normal((30, 80)) * 4 - 7).astype(np.float32)
    with torch.no_grad():
        theirs = model(torch.from_numpy(normalise(mel, TYPICAL))[None])
    ours = network(mel)
    for name in ("left_TV", "right_TV", "boundary_T", "frame_FV"):
        expected = getattr(theirs, name.replace("_", "_B"))[0].numpy()
        np.testing.assert_allclose(getattr(ours, name), expected, atol=2e-4)
    with pytest.raises(ValueError, match="expected frames in 2s"):
        network(mel[:29])


def test_a_common_lag_is_found_from_the_sound_alone(manifest):
    opened = open_corpus(manifest)
    utterances = opened.utterances(opened.rows.train)
    true = {}
    for row in opened.rows.train:
        samples, _ = soundfile.read(manifest.parent / row["audio"])
        flux = decode.spectral_flux(opened.cache[row["id"]].mel_FM)
        assert len(flux) == -(-len(samples) // 120)
        peaks = np.sort(np.argsort(flux)[-6:])
        true[row["id"]] = peaks.astype(float)
    late = {name: cuts + 7.0 for name, cuts in true.items()}
    assert common_lag(late, opened.cache, utterances) - common_lag(true, opened.cache, utterances) == -7


def test_phones_of_pocketsphinx_become_durations_of_all_symbols():
    symbols = "sil K AE1 , T .".split()
    spans = [(10, 5), (15, 8), (30, 4)]  # 10 ms frames; the pause is what lies between the second and the third
    durations = _durations(spans, symbols, 500.0)
    assert durations.tolist() == [100.0, 50.0, 80.0, 70.0, 40.0, 160.0]
    assert to_frames(durations, 100).tolist() == [20, 10, 16, 14, 8, 32]
    assert to_frames(durations, 95).tolist() == [20, 10, 16, 14, 8, 27]
    assert _durations(spans[:2], symbols, 500.0) is None


def test_a_manifest_with_a_strange_phone_or_a_second_id_is_named(tmp_path):
    row = {"id": "a", "audio": "a.wav", "phones": "sil QQ .", "word_of": [-1, 0, -1]}
    path = tmp_path / "manifest.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(ValueError, match="utterance a: 'QQ'"):
        prepare.check(path)
    row["phones"] = "sil K ."
    path.write_text((json.dumps(row) + "\n") * 2)
    with pytest.raises(ValueError, match="occurs twice"):
        prepare.check(path)


def test_the_shipped_settings_are_valid():
    from deepvoice.config import load_toml

    assert load_toml(Settings, default_config()) == Settings()
