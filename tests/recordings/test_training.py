"""From a folder of recordings to a voice: the whole plumbing with miniature modules and a minute of made-up sound."""

import dataclasses
import json
import runpy
import sys

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("pyworld")

import deepvoice
from deepvoice.errors import ConfigError
from deepvoice.recipes.recordings.prepare import prepare
from deepvoice.recipes.voice.finetune import STAGES, finetune
from deepvoice.recipes.voice.finetune import main as finetune_main
from deepvoice.recipes.voice.run import OWN_STAGES, main, run
from deepvoice.recipes.voice.run import Places as RunPlaces
from deepvoice.recipes.voice.stages import run_stages
from deepvoice.recipes.voice.tuning import Places, Schedule, Tuning
from deepvoice.recipes.voice.unpack import unpack
from deepvoice.voice import MODULES, load_voice


def tiny(steps=2):
    one = Schedule(steps=steps, learning_rate=1e-3)
    return Tuning(
        pairs=one, frames=one, duration=one, f0=one, conditioner=one, vocoder=one, batch_size=4, evaluations=1
    )


def test_stages_are_done_once_and_again_on_demand(tmp_path):
    said = []
    stages = {name: (lambda name=name: said.append(name)) for name in "abc"}
    assert run_stages(stages, tmp_path / "done") == ["a", "b", "c"]
    assert run_stages(stages, tmp_path / "done") == []
    assert run_stages(stages, tmp_path / "done", "b", "b") == ["b"]
    assert run_stages(stages, tmp_path / "done") == ["c"]
    assert said == list("abcbc")


def test_a_voice_comes_apart_as_it_was_packed(small_voice, tmp_path):
    import torch

    paths = {path.parent.name: path for path in unpack(small_voice, tmp_path / "apart")}
    assert paths.keys() == {*MODULES, "conditioner"}
    voice = load_voice(small_voice, tuple(MODULES))
    state = torch.load(paths["vocoder"], weights_only=True)
    assert state["step"] == 0 and not any(name.startswith("conditioner.") for name in state["ema"])
    for name, value in voice.tensors["f0"].items():
        assert np.array_equal(torch.load(paths["f0"], weights_only=True)["ema"][name].numpy(), value)
    assert [path.parent.name for path in unpack(small_voice, tmp_path / "two", ["f0"])] == ["f0"]


def test_the_corpus_of_a_tuning_has_the_level_of_the_voice(small_voice, takes, tmp_path):
    prepare(takes, tmp_path / "corpus", listen=False)
    manifest = tmp_path / "corpus" / "manifest.jsonl"
    places = Places(manifest=manifest, voice=str(small_voice), work=tmp_path / "work")
    assert finetune(places, tiny(), last="features") == ["start", "features"]
    from deepvoice.recipes.common.features import read_manifest
    from deepvoice.recipes.voice.tuned_voice import corpus_level, voice_level

    rows = read_manifest(places.corpus)
    assert len(rows) == 24
    assert corpus_level(places.corpus, rows) == pytest.approx(voice_level(str(small_voice), rows), abs=0.5)
    assert finetune(places, tiny(), last="features") == []
    other = dataclasses.replace(places, voice="heart")
    with pytest.raises(ConfigError, match="holds the tuning of"):
        finetune(other, tiny())
    lines = manifest.read_text().splitlines(keepends=True)
    manifest.write_text("".join(lines[:19]))
    with pytest.raises(ConfigError, match="19 utterances; expected 20"):
        finetune(dataclasses.replace(places, work=tmp_path / "few"), tiny())
    with pytest.raises(ConfigError, match="deepvoice prepare"):
        finetune(dataclasses.replace(places, manifest=tmp_path / "none.jsonl"), tiny())
    assert finetune_main([str(tmp_path / "none.jsonl"), "--out", str(tmp_path / "w")]) == 1


def test_what_cannot_be_tuned_leaves_nothing_behind(small_voice, takes, tmp_path, capsys):
    (tmp_path / "latin.csv").write_bytes(b"caf\xe9|caf\xe9\n" * 30)
    (tmp_path / "rows.jsonl").write_text('{"id": "a", "audio": "a.wav", "text": "a"}\n' * 30)
    prepare(takes, tmp_path / "corpus", listen=False)
    tries = [
        (takes, "small", f"manifest.jsonl is missing; make it with: deepvoice prepare {takes}"),
        (tmp_path / "latin.csv", "small", "latin.csv:1: not a JSON object"),
        (tmp_path / "rows.jsonl", "small", "a has no 'phones'"),
        (tmp_path / "corpus", "nobody", "nobody"),
    ]
    for manifest, voice, message in tries:
        given = [str(manifest), "--from", str(small_voice) if voice == "small" else voice, "--out", str(tmp_path / "w")]
        assert finetune_main(given) == 1
        assert message in capsys.readouterr().err
        assert not (tmp_path / "w").exists()
    given = [str(tmp_path / "corpus"), "--from", str(small_voice), "--out", str(tmp_path / "w"), "--to", "start"]
    assert finetune_main(given) == 0 and (tmp_path / "w" / "tuning.json").is_file()


@pytest.mark.slow
def test_a_small_corpus_becomes_a_voice(small_voice, takes, tmp_path):
    prepare(takes, tmp_path / "corpus", listen=False)
    manifest = tmp_path / "corpus" / "manifest.jsonl"
    places = Places(manifest=manifest, voice=str(small_voice), work=tmp_path / "work", name="mine")
    assert finetune(places, tiny()) == list(STAGES)
    voice = deepvoice.load(places.out)
    assert voice.name == "mine" and len(voice.speak("One two.").samples)
    found = json.loads((places.work / "figures.json").read_text())
    assert found["duration"].keys() == {"before", "after"}
    for name in ("spectrogram.png", "training.png", "samples/0.wav"):
        assert (places.work / name).stat().st_size > 1000
    before = load_voice(small_voice, tuple(MODULES)).tensors
    after = load_voice(places.out, tuple(MODULES)).tensors
    for module in MODULES:
        same = all(
            np.array_equal(before[module][name], value)
            for name, value in after[module].items()
            if name in before[module]
        )
        assert same == (module in ("homographs", "grapheme_to_phoneme")), module
    assert finetune(places, tiny(), "pack", "pack") == ["pack"]


CONFIGS = {
    "duration": "[model]\nchannels=8\nlayers=1\nrecurrent=8\nhidden=8\n[training]\nsteps=2\nbatch_size=4\n"
    "learning_rate=1e-3\nweight_decay=0.0\nema=0.9\nevaluate_every=2\nseed=0\n",
    "f0": "[model]\nchannels=8\nlayers=1\nrecurrent=8\nframe_channels=8\nframe_dilations=[1]\n[training]\nsteps=2\n"
    "batch_size=4\nlearning_rate=1e-3\nweight_decay=0.0\nema=0.9\nvoicing_weight=1.0\nevaluate_every=2\nseed=0\n",
    "segmentation": "[model]\nchannels=8\nlayers=1\n[training]\npair_steps=2\nframe_steps=2\nvaried_steps=2\n"
    "batch_size=4\n",
    "vocoder": "steps=2\nbatch_size=2\nsegment_frames=20\nevaluate_every=2\n[vocoder]\ndilations=[1, 2]\nresidual=8\n"
    "skip=8\nhead=8\n[vocoder.conditioner]\nphone_channels=8\nphone_layers=1\nframe_channels=8\nframe_dilations=[1]\n"
    "bias_channels=8\n",
}


@pytest.mark.slow
def test_own_recordings_become_a_voice_from_the_first_weight(takes, tmp_path, small_voice, monkeypatch):
    (tmp_path / "configs").mkdir()
    for module, text in CONFIGS.items():
        (tmp_path / "configs" / f"{module}.toml").write_text(text)
    places = RunPlaces(
        recordings=takes, text_from=str(small_voice), configs=tmp_path / "configs", work=tmp_path / "work",
        voice=tmp_path / "voice",
    )  # fmt: skip

    def execute(command):  # as a process would, without the seconds that each takes to load torch
        monkeypatch.setattr(sys, "argv", [command[0], *command[1:]])
        try:
            runpy.run_module(f"deepvoice.recipes.{command[0]}", run_name="__main__", alter_sys=False)
        except SystemExit as end:
            assert not end.code, command

    assert run(places, execute=execute) == list(OWN_STAGES)
    assert len(deepvoice.load(tmp_path / "voice").speak("One two.").samples)


def test_prompts_or_recordings_are_given_not_both(tmp_path, capsys):
    for words in ([], ["prompts.txt", "--recordings", "takes"], ["prompts.txt"]):
        with pytest.raises(SystemExit):
            main([*words, "--work", str(tmp_path), "--out", str(tmp_path / "voice")])
    assert "--homographs" in capsys.readouterr().err
