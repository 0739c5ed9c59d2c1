"""The duration and F0 recipes on made-up speech: prepare, a few steps of training, evaluation."""

import json

import numpy as np
import pytest

pytest.importorskip("torch")

from deepvoice.configs import DurationConfig, F0Config
from deepvoice.recipes.common import sentences as tables
from deepvoice.recipes.common.sentences import LengthBatches, Sentence
from deepvoice.recipes.duration import evaluate as duration_evaluate
from deepvoice.recipes.duration import train as duration_train
from deepvoice.recipes.f0 import evaluate as f0_evaluate
from deepvoice.recipes.f0 import train as f0_train
from deepvoice.recipes.f0.prepare import heard_f0
from deepvoice.recipes.f0.voicing import heard
from deepvoice.text.sequence import from_manifest

SYMBOLS = "sil S AA1 T , M IY1 . "
WORD_OF = [-1, 0, 0, 0, -1, 1, 1, -1]
FRAMES = {"sil": 8, "S": 5, "AA1": 12, "T": 4, ",": 10, "M": 6, "IY1": 9, ".": 7}


def made_up(count, seed, f0=True):
    """Sentences whose durations depend on the phone and the speaking rate, and whose F0 falls."""
    random = np.random.default_rng(seed)
    found = []
    for i in range(count):
        speed = float(random.uniform(0.8, 1.3))
        sequence = from_manifest(SYMBOLS, WORD_OF)
        durations = np.array([max(1, round(FRAMES[s] / speed)) for s in sequence.symbols])
        frames = int(durations.sum())
        voiced = np.repeat([s in ("AA1", "M", "IY1") for s in sequence.symbols], durations)
        contour = np.where(voiced, np.linspace(220, 160, frames), 0).astype(np.float32)
        found.append(
            Sentence(
                name=f"s{seed}-{i}",
                sequence=sequence,
                durations_P=durations,
                speed=speed,
                f0_F=contour if f0 else np.zeros(0, np.float32),
            )
        )
    return found


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for seed, part in enumerate(tables.SPLITS):
        tables.save(made_up(24 if part == "train" else 4, seed), folder / f"{part}.npz")
    return folder


def truth_beside(manifest, sentences):
    """Write a teacher's truth that agrees with the sentences."""
    rows = []
    for sentence in sentences:
        middles = np.minimum((np.arange(len(sentence.f0_F) * 5 // 12.5) + 0.5) * 2.5, len(sentence.f0_F) - 1)
        f0 = sentence.f0_F[middles.astype(int)]
        rows.append(
            {
                "id": sentence.name,
                "durations_ms": (sentence.durations_P * 5.0).tolist(),
                "f0_hz": f0.tolist(),
                "heard_db": [0.0 if hertz else -60.0 for hertz in [0.0, *f0.tolist()[:-1]]],
            }
        )
    (manifest.parent / "truth").mkdir()
    (manifest.parent / "truth" / "truth.jsonl").write_text("\n".join(json.dumps(row) for row in rows))


def test_tables_keep_sentences(tmp_path):
    written = made_up(3, 5)
    tables.save(written, tmp_path / "t.npz")
    for a, b in zip(written, tables.load(tmp_path / "t.npz"), strict=True):
        assert (a.name, a.sequence, a.speed) == (b.name, b.sequence, b.speed)
        assert (a.durations_P == b.durations_P).all() and (a.f0_F == b.f0_F).all()


def test_missing_and_foreign_tables_are_refused(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="prepare"):
        tables.load(tmp_path / "none.npz")
    tables.save(made_up(2, 0), tmp_path / "t.npz")
    monkeypatch.setattr(tables, "meta_of", lambda spec: {"features": "other", "phones": "other"})
    with pytest.raises(ValueError, match="prepare again"):
        tables.load(tmp_path / "t.npz")


def test_corpus_becomes_tables(tmp_path):
    """From audio and alignments, as `prepare` does it; an alignment that does not fit is refused by name."""
    pytest.importorskip("pyworld")
    import soundfile

    from deepvoice.audio.mel import MelSpec
    from deepvoice.recipes.common.features import build_cache

    manifest, aligned = tmp_path / "manifest.jsonl", tmp_path / "alignments.jsonl"
    rows = [
        {"id": f"u{i}", "audio": f"{i}.wav", "speed": 1.0, "phones": SYMBOLS.strip(), "word_of": WORD_OF}
        for i in range(20)
    ]
    time = np.arange(61 * 120) / 24000
    for i, row in enumerate(rows):
        soundfile.write(tmp_path / row["audio"], 0.2 * np.sin(2 * np.pi * (150 + i) * time), 24000)
    manifest.write_text("\n".join(map(json.dumps, rows)))
    durations = [FRAMES[s] for s in SYMBOLS.split()]
    aligned.write_text("\n".join(json.dumps({"id": row["id"], "durations": durations}) for row in rows))
    build_cache(manifest, tmp_path / "features", MelSpec())
    counts = tables.build(manifest, aligned, tmp_path / "out", f0_of=heard_f0)
    assert counts == {"train": 18, "dev": 1, "test": 1}
    first = tables.load(tmp_path / "out" / "train.npz")[0]
    assert len(first.f0_F) == first.durations_P.sum() == 61
    assert f0_train.signed_f0(first.f0_F).max() == pytest.approx(150, abs=3)
    for wrong in ([1, 2], [0, *durations[1:]], [durations[0] + 5, 0, *durations[2:]]):
        aligned.write_text("\n".join(json.dumps({"id": row["id"], "durations": wrong}) for row in rows))
        with pytest.raises(ValueError, match="u0"):
            tables.build(manifest, aligned, tmp_path / "out")


def test_pitch_that_dies_away_is_not_voiced():
    rate, hop, frames = 24000, 120, 200
    time = np.arange(frames * hop) / rate
    tone = np.sin(2 * np.pi * 200 * time) * np.where(time < 0.5, 0.3, 0.003)
    f0 = np.full(frames, 200, np.float32)
    kept = heard(f0, tone.astype(np.float32), rate, hop)
    assert (kept[5:95] == 200).all() and (kept[105:] == 0).all()
    assert (heard(np.zeros(frames, np.float32), tone.astype(np.float32), rate, hop) == 0).all()


def test_batches_cover_every_sentence_once_an_epoch():
    order = LengthBatches([5, 9, 1, 7, 3, 8, 2, 6], batch_size=2, seed=1)
    for epoch in range(3):
        seen = np.concatenate([order.indices(epoch * order.per_epoch + i) for i in range(order.per_epoch)])
        assert sorted(seen.tolist()) == list(range(8))
    assert (order.indices(5) == LengthBatches([5, 9, 1, 7, 3, 8, 2, 6], batch_size=2, seed=1).indices(5)).all()


def test_duration_recipe(data, tmp_path, capsys):
    settings = duration_train.Settings(
        model=DurationConfig(channels=16, layers=1, recurrent=8, hidden=16, buckets=24, dropout=0.0),
        training=duration_train.TrainingSettings(
            steps=50, batch_size=8, learning_rate=1e-2, weight_decay=0.0, ema=0.8, evaluate_every=50, seed=0
        ),
    )
    duration_train.run(settings, data, tmp_path / "run")
    truth_beside(tmp_path / "manifest.jsonl", tables.load(data / "test.npz"))
    arguments = ["--data", str(data), "--checkpoint", str(tmp_path / "run" / "last.pt")]
    arguments += ["--truth", str(tmp_path / "manifest.jsonl"), "--json", str(tmp_path / "figures.json")]
    assert duration_evaluate.main(arguments) == 0
    figures = json.loads((tmp_path / "figures.json").read_text())
    for reference in ("alignments", "teacher's durations"):
        assert figures[reference]["duration model"]["phones"] < figures[reference]["mean per phone"]["phones"]
    for reference in ("teacher's durations", duration_evaluate.COMPOSED):
        assert figures[reference]["alignments themselves"]["phones"] == 0.0
    shown = capsys.readouterr().out
    assert "| duration model |" in shown and "features is missing" in shown


def test_the_silence_of_a_pause_is_no_part_of_the_phone_before_it():
    sequence = from_manifest("sil S AA1 , M .", [-1, 0, 0, -1, 1, -1])
    truth_ms = [50.0, 100.0, 300.0, 25.0, 100.0, 50.0]  # of AA1 200 ms are silence
    energy_F = np.full(125, 0.0, np.float32)
    energy_F[:10] = energy_F[50 - 10 : 95 - 10] = energy_F[115:] = -20.0  # the teacher lags its sound by 50 ms
    spoken = duration_evaluate.spoken_ms(truth_ms, sequence, energy_F)
    assert spoken.tolist() == pytest.approx([50, 100, 100, 225, 100, 50])
    assert spoken.sum() == pytest.approx(sum(truth_ms))
    added = duration_evaluate.with_pauses(np.array(truth_ms), sequence)
    assert added.tolist() == [50, 100, 325, 0, 100, 50]


def test_f0_recipe(data, tmp_path, capsys):
    settings = f0_train.Settings(
        model=F0Config(channels=8, layers=1, recurrent=8, frame_channels=16, frame_dilations=(1,), dropout=0.0),
        training=f0_train.TrainingSettings(
            steps=60, batch_size=8, learning_rate=1e-2, weight_decay=0.0, ema=0.8, voicing_weight=1.0,
            evaluate_every=60, seed=0,
        ),
    )  # fmt: skip
    trainer = f0_train.run(settings, data, tmp_path / "run")
    assert np.exp(trainer.config["log_mean"]) == pytest.approx(185, abs=15)
    truth_beside(tmp_path / "manifest.jsonl", tables.load(data / "test.npz"))
    arguments = ["--data", str(data), "--checkpoint", str(tmp_path / "run" / "last.pt")]
    arguments += ["--truth", str(tmp_path / "manifest.jsonl"), "--json", str(tmp_path / "figures.json")]
    assert f0_evaluate.main(arguments) == 0
    figures = json.loads((tmp_path / "figures.json").read_text())
    for reference in ("tracked F0", "teacher's F0"):
        assert figures[reference]["F0 model"]["mae_hz"] < figures[reference]["mean per phone"]["mae_hz"]
    assert figures["tracked F0"]["F0 model"]["voicing_percent"] < 8.0
    assert "| F0 model |" in capsys.readouterr().out


@pytest.mark.parametrize("evaluate", [duration_evaluate, f0_evaluate])
def test_truth_that_is_asked_for_must_exist(data, tmp_path, evaluate, tiny_voice):
    arguments = ["--data", str(data), "--voice", str(tiny_voice), "--truth", str(tmp_path / "manifest.jsonl")]
    with pytest.raises(FileNotFoundError, match="truth"):
        evaluate.main(arguments)


@pytest.mark.parametrize("train", [duration_train, f0_train])
def test_shipped_settings_are_valid(train):
    assert train.load_toml(train.Settings, train.default_config()).training.steps > 0
