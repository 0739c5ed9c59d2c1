"""Packing and the order of the stages, on made-up checkpoints."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import torch

import deepvoice
from deepvoice.alignment.aligner import Aligner
from deepvoice.config import to_dict
from deepvoice.configs import ConditionerConfig
from deepvoice.errors import KernelUnavailableError, VoiceError
from deepvoice.networks.vocoder import CONDITIONER, LIMITS
from deepvoice.recipes.vocoder.quantise import CALIBRATION
from deepvoice.recipes.voice.pack import CHECKPOINTS, check_hashes, pack
from deepvoice.recipes.voice.replace import holds_int8, replace_module
from deepvoice.recipes.voice.round_trip import read_sentences, words_of
from deepvoice.recipes.voice.run import STAGES, Places, run
from deepvoice.recipes.voice.stages import select
from deepvoice.text.phones import phone_set_hash
from deepvoice.voice import MODULES, SynthesisDefaults, load_voice, read_manifest

META = {"features": "0123456789abcdef", "phones": phone_set_hash()}


@pytest.fixture
def runs(tmp_path, tiny_voice):
    """Checkpoints with the weights of the miniature voice."""
    folder = load_voice(tiny_voice, tuple(MODULES))
    for module in CHECKPOINTS:
        source = "vocoder" if module == "conditioner" else module
        tensors = {name: torch.from_numpy(np.array(value)) for name, value in folder.tensors[source].items()}
        inner = {name.removeprefix(CONDITIONER): t for name, t in tensors.items() if name.startswith(CONDITIONER)}
        outer = {name: t for name, t in tensors.items() if not name.startswith(CONDITIONER)}
        config = folder.configs[source]
        if (
            module == "vocoder"
        ):  # the WaveNet's run may have another conditioner in its config; the conditioner's counts
            config = dataclasses.replace(config, conditioner=ConditionerConfig(bias_channels=8))
        state = {"config": to_dict(config), "meta": META, "step": 3, "ema": inner if module == "conditioner" else outer}
        (tmp_path / "runs" / module).mkdir(parents=True)
        torch.save(state, tmp_path / "runs" / module / "last.pt")
        (tmp_path / "runs" / module / "log.jsonl").write_text(
            '{"step": 1, "loss": 2.0}\n{"step": 3, "held_out": 1.5}\n'
        )
    return tmp_path / "runs"


def places_in(folder):
    return Places(
        prompts=folder / "prompts.txt", homographs=folder / "h.tsv", work=folder / "work", voice=folder / "voice"
    )


def packed(runs, out):
    return pack(
        runs, out, name="copy", licence="Apache-2.0", provenance="made up", scores={"f0": {"mae": 5.0}},
        synthesis=SynthesisDefaults(),
    )  # fmt: skip


def packed_at(runs, out):
    packed(runs, out)
    return out


def test_a_packed_voice_speaks_like_its_source(runs, tmp_path, tiny_voice):
    assert packed(runs, tmp_path / "copy") < 200_000
    manifest = read_manifest(tmp_path / "copy")
    assert manifest.scores == {"f0": {"mae": 5.0}} and manifest.features == META["features"]
    assert manifest.training["f0"] == {"steps": 3, "log": [{"step": 3.0, "held_out": 1.5}]}
    again, source = deepvoice.load(tmp_path / "copy"), deepvoice.load(tiny_voice)
    assert np.array_equal(again.speak("Two cats.").samples, source.speak("Two cats.").samples)


def test_a_calibration_makes_a_voice_that_speaks_in_int8(runs, tmp_path):
    layers = len(load_voice(packed_at(runs, tmp_path / "plain"), ["vocoder"]).configs["vocoder"].dilations)
    calibration = {"step": 3, "limits": [2.5] * (layers + 2)}
    (runs / "vocoder" / CALIBRATION).write_text(json.dumps(calibration))
    folder = packed_at(runs, tmp_path / "calibrated")
    assert load_voice(folder, ["vocoder"]).tensors["vocoder"][LIMITS].tolist() == calibration["limits"]
    samples = {p: deepvoice.load(folder, precision=p).speak("Two cats.").samples for p in ("float32", "int8")}
    assert samples["int8"].shape == samples["float32"].shape
    assert not np.array_equal(samples["int8"], samples["float32"])
    with pytest.raises(KernelUnavailableError, match="not calibrated"):
        deepvoice.load(tmp_path / "plain", precision="int8")
    (runs / "vocoder" / CALIBRATION).write_text(json.dumps({**calibration, "step": 2}))
    with pytest.raises(VoiceError, match="calibrate again"):
        packed(runs, tmp_path / "stale")


def test_a_small_voice_has_eight_bits_and_no_segmentation(runs, tmp_path, tiny_voice):
    shutil.rmtree(runs / "segmentation")
    whole = sum(file.stat().st_size for file in tiny_voice.iterdir())
    size = pack(
        runs, tmp_path / "small", name="small", licence="Apache-2.0", provenance="made up", scores={},
        synthesis=SynthesisDefaults(), small=True,
    )  # fmt: skip
    assert size < whole
    assert "segmentation" not in read_manifest(tmp_path / "small").modules
    assert len(deepvoice.load(tmp_path / "small").speak("Two cats.").samples) > 0
    with pytest.raises(VoiceError, match="has no segmentation"):
        Aligner.load(tmp_path / "small")
    before = {path.name: path.read_bytes() for path in (tmp_path / "small").iterdir()}
    assert replace_module(tmp_path / "small", "duration", runs / "duration") == size  # as int8 again
    assert (tmp_path / "small" / "duration.safetensors").read_bytes() == before["duration.safetensors"]


def test_modules_that_do_not_fit_are_refused(runs, tmp_path):
    path = runs / "f0" / "last.pt"
    good = torch.load(path, weights_only=True)

    def refused(words, **changes):
        torch.save({**good, **changes}, path)
        with pytest.raises(VoiceError, match=words):
            packed(runs, tmp_path / "bad")

    refused("different features", meta={**META, "features": "other"})
    refused("another phone set", meta={**META, "phones": "other"})
    refused("config of another version", config={**good["config"], "new": 1})
    refused("missing", ema={name: value for name, value in good["ema"].items() if name != "norm.bias"})
    refused("beyond float16", ema={**good["ema"], "norm.bias": torch.full((8,), 1e6)})
    refused("beyond float16", ema={**good["ema"], "norm.bias": torch.full((8,), torch.nan)})
    path.unlink()
    with pytest.raises(VoiceError, match=r"f0/last\.pt is missing"):
        packed(runs, tmp_path / "bad")
    assert check_hashes({"grapheme_to_phoneme": {"phones": phone_set_hash()}, "f0": META}) == META["features"]


def test_stages_leave_markers_and_are_skipped(tmp_path):
    places = places_in(tmp_path)
    commands = []
    assert run(places, execute=commands.append) == list(STAGES)
    assert [command[0] for command in commands][:5] == [
        "grapheme_to_phoneme.prepare",
        "grapheme_to_phoneme.train",
        "grapheme_to_phoneme.relabel",
        "grapheme_to_phoneme.train",
        "homographs.train",
    ]
    assert run(places, execute=commands.append) == []
    assert run(places, "vocoder", "evaluate", commands.append) == ["vocoder", "evaluate"]
    assert run(places, execute=commands.append) == ["pack"]

    def fail(command):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        run(places, "pack", execute=fail)
    assert run(places, execute=commands.append) == ["pack"]
    with pytest.raises(ValueError, match="comes after"):
        select(list(STAGES), "pack", "corpus")


def test_every_command_of_the_stages_exists(tmp_path):
    import importlib.util

    places = places_in(tmp_path)
    for stage in STAGES.values():
        for command in stage(places):
            assert importlib.util.find_spec(f"deepvoice.recipes.{command[0]}"), command[0]


def test_history_is_json(runs, tmp_path):
    packed(runs, tmp_path / "copy")
    assert json.loads((tmp_path / "copy" / "voice.json").read_text())["training"]["vocoder"]["steps"] == 3


def test_the_round_trip_reads_its_sentences_as_the_file_says():
    voice = deepvoice.load()
    sentences = read_sentences()
    assert len(sentences) == 200
    assert [(written, words_of(voice, written)) for written, _ in sentences] == sentences


def test_one_module_is_replaced_and_the_others_stay(runs, tmp_path):
    voice, run = tmp_path / "voice", runs / "duration"
    packed(runs, voice)
    files = {path.name: path.read_bytes() for path in voice.iterdir()}
    before = read_manifest(voice)
    state = torch.load(run / "last.pt", weights_only=True)
    state["ema"] = {name: value + 1.0 for name, value in state["ema"].items()}
    torch.save(state | {"step": 7}, run / "last.pt")
    (voice / "duration.safetensors").write_bytes(b"damaged")  # the old one need not be readable
    assert replace_module(voice, "duration", run, {"mae": 1.0}) > 0
    after = read_manifest(voice)
    changed = {path.name for path in voice.iterdir() if files[path.name] != path.read_bytes()}
    assert changed == {"duration.safetensors", "voice.json"}
    assert after.scores == before.scores | {"duration": {"mae": 1.0}}
    assert after.training["duration"]["steps"] == 7
    new = load_voice(voice, ("duration",)).tensors["duration"]
    assert all(np.allclose(new[name], value.numpy(), atol=1e-2) for name, value in state["ema"].items())
    torch.save(state | {"meta": META | {"phones": "0" * 16}}, run / "last.pt")
    with pytest.raises(VoiceError, match="was trained with phones 0000"):
        replace_module(voice, "duration", run)


def test_one_module_alone_may_have_eight_bits(runs, tmp_path):
    voice = tmp_path / "voice"
    packed(runs, voice)
    before = {path.name: path.read_bytes() for path in voice.iterdir()}
    module = "grapheme_to_phoneme"
    replace_module(voice, module, runs / module, eight_bits=True)
    assert read_manifest(voice).format_version == 2
    rounded = load_voice(voice, (module,)).tensors[module]
    assert holds_int8(voice / f"{module}.safetensors")
    weights = torch.load(runs / module / "last.pt", weights_only=True)["ema"]
    for name, value in weights.items():
        assert np.abs(rounded[name] - value.numpy()).max() <= np.abs(value.numpy()).max() / 200
    replace_module(voice, "duration", runs / "duration")  # the others stay as they are
    assert (voice / "duration.safetensors").read_bytes() == before["duration.safetensors"]


def test_the_wavenet_is_replaced_and_the_conditioner_stays(runs, tmp_path):
    voice, run = tmp_path / "voice", runs / "vocoder"
    packed(runs, voice)
    before = load_voice(voice, ("vocoder",)).tensors["vocoder"]
    state = torch.load(run / "last.pt", weights_only=True)
    state["ema"] = {name: value + 1.0 for name, value in state["ema"].items()}
    torch.save(state | {"step": 9}, run / "last.pt")
    if (run / "calibration.json").is_file():
        with pytest.raises(VoiceError, match="calibrate again"):
            replace_module(voice, "vocoder", run)
        (run / "calibration.json").unlink()
    replace_module(voice, "vocoder", run)
    after = load_voice(voice, ("vocoder",)).tensors["vocoder"]
    conditioner = [name for name in after if name.startswith("conditioner.")]
    assert conditioner and all(np.array_equal(after[name], before[name]) for name in conditioner)
    assert all(np.allclose(after[name], value.numpy(), atol=1e-2) for name, value in state["ema"].items())
    assert read_manifest(voice).training["vocoder"]["steps"] == 9
    state = torch.load(runs / "conditioner" / "last.pt", weights_only=True)
    state["ema"] = {name: value - 1.0 for name, value in state["ema"].items()}
    torch.save(state | {"step": 11}, runs / "conditioner" / "last.pt")
    replace_module(voice, "vocoder", run, conditioner=runs / "conditioner")
    both = load_voice(voice, ("vocoder",)).tensors["vocoder"]
    assert all(
        np.allclose(both["conditioner." + name], value.numpy(), atol=1e-2) for name, value in state["ema"].items()
    )
    assert read_manifest(voice).training["conditioner"]["steps"] == 11
    with pytest.raises(VoiceError, match="belongs to the vocoder"):
        replace_module(voice, "duration", runs / "duration", conditioner=runs / "conditioner")
