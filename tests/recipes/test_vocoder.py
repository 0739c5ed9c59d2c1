"""The vocoder's recipes on made-up speech: a few optimiser steps of each, predicted spectra, evaluation."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from deepvoice.audio.mel import MelSpec
from deepvoice.configs import ConditionerConfig, VocoderConfig
from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.common.features import FeatureCache, build_cache
from deepvoice.recipes.common.train_loop import TrainOptions
from deepvoice.recipes.vocoder import ablation, evaluate, profile, quantise, thin, train, train_conditioner
from deepvoice.recipes.vocoder.ablation_rows import ROWS, Row
from deepvoice.recipes.vocoder.data import SegmentSource, segment
from deepvoice.recipes.vocoder.spectra import PredictedSpectra, predict_corpus

CONFIG = VocoderConfig(
    dilations=(1, 2),
    residual=8,
    skip=8,
    head=8,
    history=8,
    head_history=4,
    harmonics=2,
    conditioner=ConditionerConfig(
        phone_channels=8, phone_layers=1, frame_channels=8, frame_dilations=(1,), bias_channels=8
    ),
)
PHONES = "sil DH AH0 K AE1 T ."
WORDS = [-1, 0, 0, 1, 1, 1, -1]


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty utterances of 1.3 s: a pulse train between two silences."""
    folder = tmp_path_factory.mktemp("corpus")
    rows, alignments = [], []
    for number in range(20):
        time = np.arange(31200) / 24000
        pitch = 140 + 5 * number
        voice = sum(np.cos(2 * np.pi * k * pitch * time) / k for k in range(1, 10)) * 0.05
        voice[:2400] = voice[-2400:] = 0
        soundfile.write(folder / f"{number}.flac", voice, 24000)
        rows.append({"id": f"u{number}", "audio": f"{number}.flac", "phones": PHONES, "word_of": WORDS})
        alignments.append({"id": f"u{number}", "durations": [20, 40, 40, 40, 60, 40, 20]})
    path = folder / "manifest.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "alignments.jsonl").write_text("".join(json.dumps(row) + "\n" for row in alignments))
    build_cache(path, folder / "features", MelSpec())
    return path


def options(folder: Path, steps: int) -> TrainOptions:
    return TrainOptions(
        out_dir=folder, steps=steps, warmup=2, learning_rate=5e-3, log_every=steps, evaluate_every=steps
    )


def logged(folder: Path) -> dict[str, float]:
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return {key: value for row in rows for key, value in row.items()}


def test_wavenet_learns(manifest: Path, tmp_path: Path) -> None:
    training = train.VocoderTraining(vocoder=CONFIG, batch_size=2, segment_frames=12)
    train.run(manifest, training, options(tmp_path / "one", 1))
    before = logged(tmp_path / "one")["held_out_bits"]
    train.run(manifest, training, options(tmp_path / "more", 40))
    assert logged(tmp_path / "more")["held_out_bits"] < before - 0.2
    assert load_checkpoint(tmp_path / "more" / "last.pt")["step"] == 40
    assert {path.name for path in (tmp_path / "more" / "samples").iterdir()} >= {
        "000040-free-running.wav", "000040-free-running.png"}  # fmt: skip
    network = evaluate.load_network(None, tmp_path / "more" / "last.pt")
    table = evaluate.evaluate(network, manifest, 1, tmp_path / "wavs", evaluate.Sampling(voiced=0.5), predicted=False)
    assert table["recorded spectra"]["bits_per_sample"] < 8
    speech, rate = soundfile.read(tmp_path / "wavs" / "recorded_spectra" / "000.wav")
    assert rate == 24000 and len(speech) == 31200


def test_calibration_and_a_quantised_finish(manifest: Path, tmp_path: Path) -> None:
    training = train.VocoderTraining(vocoder=CONFIG, batch_size=2, segment_frames=12)
    train.run(manifest, training, options(tmp_path / "float", 30))
    result = quantise.run(manifest, tmp_path / "float" / "last.pt", 2)
    assert result["step"] == 30 and len(result["limits"]) == len(CONFIG.dilations) + 2
    assert 0 < result["limits"][0] <= 1.0  # the first layer sees a tanh
    exact, rounded = result["held_out_bits"]["float32"], result["held_out_bits"]["int8"]
    assert abs(rounded - exact) < 0.1
    finish = replace(options(tmp_path / "finish", 35), warm_start=tmp_path / "float" / "last.pt")
    train.run(manifest, training, finish, limits=result["limits"])
    assert logged(tmp_path / "finish")["held_out_bits"] < exact + 0.2


def test_conditioner_learns_and_predicts(manifest: Path, tmp_path: Path) -> None:
    alignments = manifest.parent / "alignments.jsonl"
    train_conditioner.run(manifest, CONFIG, options(tmp_path / "one", 1), alignments)
    train_conditioner.run(manifest, CONFIG, options(tmp_path / "more", 60), alignments)
    name = "held_out_mel_decibels"
    assert logged(tmp_path / "more")[name] < 0.7 * logged(tmp_path / "one")[name]
    predict_corpus(manifest, tmp_path / "more" / "last.pt", alignments, tmp_path / "spectra")
    spectra = PredictedSpectra(tmp_path / "spectra", CONFIG.mel.bands)
    assert len(spectra) == 20 and spectra["u3"].shape == (260, CONFIG.mel.bands)


def test_batches_depend_on_the_step_alone(manifest: Path) -> None:
    cache = FeatureCache(manifest.parent / "features", CONFIG.mel)
    ids = [f"u{n}" for n in range(10)]
    first, second = (
        SegmentSource(cache=cache, utterances=ids, config=CONFIG, batch_size=3, frames=10).batch(7) for _ in range(2)
    )
    assert all(bool((a == b).all()) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("order", [0, 16])
def test_segments_reach_beyond_both_ends(manifest: Path, order: int) -> None:
    cache = FeatureCache(manifest.parent / "features", CONFIG.mel)
    config = replace(CONFIG, lpc_order=order)
    for start in (0, 255):
        signal, lpc, frames, pulses, weight = segment(cache, "u0", start, 10, config)
        assert len(signal) == config.history + order + 1200
        assert lpc.shape == (10, order) and frames.shape == (14, 82) and pulses.shape == (200, 4)
        assert weight.sum() > 0 and np.isfinite(signal).all()
    assert not weight[600:].any()  # past the end there is nothing to learn


def test_too_short_utterances_are_refused(manifest: Path, tmp_path: Path) -> None:
    training = train.VocoderTraining(vocoder=CONFIG, segment_frames=5000)
    with pytest.raises(ValueError, match="5000 frames"):
        train.run(manifest, training, options(tmp_path, 1))


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_the_ablation_can_be_built_and_spoken(name: str) -> None:
    config = ROWS[name].config()
    assert ablation.shape_of(config).layers == len(config.dilations)


@pytest.mark.parametrize("bias", ["convolutions", "qrnn", "gru"])
def test_a_row_of_the_ablation(
    manifest: Path, tmp_path: Path, bias: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(ROWS, "tiny", Row(what="a small one", bias=bias))  # type: ignore[arg-type]
    monkeypatch.setattr(Row, "config", lambda row: CONFIG)
    out = tmp_path / "out"
    arguments = ["--row", "tiny", "--out", str(out), "--seconds", "0.2", "--utterances", "1"]
    monkeypatch.setattr(ablation, "mean_mos", lambda folder, scorer: 1.25)
    assert ablation.main([str(manifest), *arguments]) == 0
    row = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert row["steps"] >= 1 and 0 < row["bits"] < 12 and row["mos_cool"] == 1.25
    assert {path.name for path in (out / "tiny").iterdir()} == {"cool", "warm"}
    assert ablation.main(["--speed", "--row", "tiny", "--out", str(out)]) == 0
    table = capsys.readouterr().out
    assert "| `tiny` | a small one |" in table and "| lite |" in table


def test_a_scorer_prints_the_mean_last(tmp_path: Path) -> None:
    script = tmp_path / "scorer.py"
    script.write_text("import sys; print(sys.argv[1], 'has a mean of 3.5')")
    assert ablation.mean_mos(tmp_path, f"{sys.executable} {script}") == 3.5


def test_the_profile_of_a_step(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    training = train.VocoderTraining(vocoder=CONFIG, batch_size=2, segment_frames=12)
    shares, speed, operations = profile.measure(manifest, training, 2, 5)
    assert set(shares) == {"data", "forward", "backward", "optimiser"} and speed > 0 and "aten::" in operations


def test_a_thinner_conditioner_keeps_the_layers_it_is_told(manifest: Path, tmp_path: Path) -> None:
    deep = replace(CONFIG.conditioner, phone_layers=2, frame_dilations=(1, 2, 4))
    alignments = manifest.parent / "alignments.jsonl"
    run = train_conditioner.run(manifest, replace(CONFIG, conditioner=deep), options(tmp_path / "deep", 1), alignments)
    path = tmp_path / "thin.pt"
    thin.main([str(tmp_path / "deep" / "last.pt"), "--out", str(path), "--phone", "1", "--frame", "2", "0"])
    found = load_checkpoint(path)
    assert found["config"]["conditioner"]["frame_dilations"] == [1, 4]
    assert found["config"]["conditioner"]["phone_layers"] == 1
    for mine, theirs in [("phone_convs.0", "phone_convs.1"), ("frame_convs.1", "frame_convs.2")]:
        name = next(key for key in found["ema"] if key.startswith(mine) and key.endswith("weight"))
        assert (found["ema"][name] == run.ema[name.replace(mine, theirs)]).all()
    small = replace(CONFIG, conditioner=replace(deep, phone_layers=1, frame_dilations=(1, 4)))
    finish = replace(options(tmp_path / "thin", 1), warm_start=path)
    train_conditioner.run(manifest, small, finish, alignments)
    with pytest.raises(ValueError, match="has no layer 3"):
        thin.thin(load_checkpoint(tmp_path / "deep" / "last.pt"), [0], [3])
