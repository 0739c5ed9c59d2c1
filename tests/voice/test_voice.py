"""The voice folder: what is right loads, everything else is one clear error."""

import dataclasses
import hashlib
import json
import shutil

import numpy as np
import pytest

from deepvoice.errors import VoiceError
from deepvoice.voice import (
    FORMAT_VERSION,
    MODULES,
    SCALES,
    SPEAKING,
    expected_shapes,
    find_voice,
    load_voice,
    read_manifest,
    voice_names,
)
from deepvoice.voice_writer import counted, write_manifest, write_module, write_voice


@pytest.fixture
def folder(tiny_voice, tmp_path):
    return shutil.copytree(tiny_voice, tmp_path / "copy")


@pytest.fixture
def edit(folder):
    """Return a function that changes voice.json and returns the error that loading then raises."""

    def change(path, value):
        data = json.loads((folder / "voice.json").read_text())
        place = data
        for key in path[:-1]:
            place = place[key]
        if value is KeyError:
            del place[path[-1]]
        else:
            place[path[-1]] = value
        (folder / "voice.json").write_text(json.dumps(data))
        with pytest.raises(VoiceError) as caught:
            load_voice(folder)
        assert str(folder) in str(caught.value)
        return str(caught.value)

    return change


def rewrite(folder, module, raw):
    """Replace a module's file and refresh its hash, so that only the content is wrong."""
    (folder / f"{module}.safetensors").write_bytes(raw)
    data = json.loads((folder / "voice.json").read_text())
    data["modules"][module]["sha256"] = hashlib.sha256(raw).hexdigest()
    (folder / "voice.json").write_text(json.dumps(data))


def test_round_trip(tiny_voice, folder):
    loaded = load_voice(tiny_voice, tuple(MODULES))
    assert loaded.manifest.name == "tiny" and loaded.manifest.sample_rate == 24000
    for module, config in loaded.configs.items():
        tensors = loaded.tensors[module]
        assert {name: tensor.shape for name, tensor in tensors.items()} == expected_shapes(module, config)
        assert all(tensor.dtype == np.float32 for tensor in tensors.values())
    assert set(load_voice(tiny_voice).tensors) == set(SPEAKING)
    before = (folder / "voice.json").read_bytes()
    write_manifest(folder, read_manifest(folder))
    assert (folder / "voice.json").read_bytes() == before


def test_newer_version_is_refused_with_the_remedy(edit):
    assert "upgrade deepvoice" in edit(["format_version"], FORMAT_VERSION + 1)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["format_version"], True, "format_version"),
        (["format_version"], "1", "format_version"),
        (["format_version"], KeyError, "format_version"),
        (["phone_set", "hash"], "0" * 16, "another phone set"),
        (["phone_set", "symbols"], ["sil"], "another phone set"),
        (["sample_rate"], 22050, "sample_rate is 22050"),
        (["sample_rate"], 48000, "declares 48000"),
        (["name"], "../etc", "name is"),
        (["extra"], 1, "no setting 'extra'"),
        (["licence"], KeyError, "lacks the setting 'licence'"),
        (["modules", "f0"], KeyError, "modules"),
        (["modules", "f0", "file"], "../f0.safetensors", "not allowed"),
        (["modules", "f0", "file"], "/etc/passwd", "not allowed"),
        (["modules", "f0", "file"], "none.safetensors", "missing"),
        (["modules", "f0", "sha256"], "0" * 64, "damaged"),
        (["modules", "f0", "tensors", "norm.bias"], KeyError, "lists other tensors"),
        (["modules", "f0", "tensors", "norm.bias"], [9], "lists other tensors"),
        (["modules", "f0", "config", "channels"], 10**9, "channels is 1000000000"),
        (["modules", "f0", "config", "channels"], -1, "channels is -1"),
        (["modules", "f0", "config", "channels"], 8.0, "expected a whole number"),
        (["modules", "f0", "config", "log_mean"], "x", "expected a number"),
        (["modules", "f0", "config", "channels"], 9, "lists other tensors"),
        (["modules", "vocoder", "config", "dilations"], [1] * 1000, "dilations"),
        (["modules", "vocoder", "config", "mel", "bands"], 10**7, "bands"),
        (["modules", "vocoder", "config", "mel", "hop"], 0, "hop"),
        (["modules", "vocoder", "config", "mel", "fft"], 1 << 40, "fft"),
        (["synthesis", "floor"], 0.6, "floor is 0.6"),
        (["synthesis", "gap_seconds"], 1e9, "gap_seconds"),
    ],
)
def test_wrong_settings(edit, path, value, words):
    assert words in edit(path, value)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[" * 100_000,
        b'{"format_version": NaN}',
        b'{"a": 1, "a": 2}',
        b"9" * 5000,
    ],
)
def test_damaged_manifest(folder, raw):
    (folder / "voice.json").write_bytes(raw)
    with pytest.raises(VoiceError, match="cannot be used"):
        load_voice(folder)


def test_every_changed_byte_is_noticed(folder, tiny_voice):
    random = np.random.default_rng(3)
    for module in MODULES:
        original = (tiny_voice / f"{module}.safetensors").read_bytes()
        for place in random.integers(0, len(original), 5):
            damaged = bytearray(original)
            damaged[place] ^= 1 << int(random.integers(8))
            (folder / f"{module}.safetensors").write_bytes(damaged)
            with pytest.raises(VoiceError, match="damaged"):
                load_voice(folder)
        (folder / f"{module}.safetensors").write_bytes(original)
    load_voice(folder)


def test_tensors_with_refreshed_hashes(folder):
    from safetensors.numpy import load, save

    good = load((folder / "f0.safetensors").read_bytes())

    def refused(tensors, words):
        rewrite(folder, "f0", save(tensors))
        with pytest.raises(VoiceError, match=words):
            load_voice(folder)

    refused({name: value for name, value in good.items() if name != "norm.bias"}, "lacks tensor 'norm.bias'")
    refused({**good, "more": good["norm.bias"]}, "unknown tensor 'more'")
    refused({**good, "norm.bias": good["norm.bias"][:4]}, r"shape \(4,\); expected \(8,\)")
    refused({**good, "norm.bias": good["norm.bias"].astype(np.int16)}, "type I16; expected F16 or F32")
    for value in (np.nan, np.inf, -np.inf):
        refused({**good, "norm.bias": np.full(8, value, np.float16)}, "not finite")
    refused({**good, "norm.bias": np.full(8, 1e30, np.float32)}, "not finite numbers of at most")
    rewrite(folder, "f0", save({**good, "norm.bias": good["norm.bias"].astype(np.float32)}))
    load_voice(folder)
    rewrite(folder, "f0", b"\xff" * 64)
    with pytest.raises(VoiceError, match="not a safetensors file"):
        load_voice(folder)
    rewrite(folder, "f0", save(good) + b"\0" * (2 << 20))
    with pytest.raises(VoiceError, match="larger than"):
        load_voice(folder)


def test_missing_files(folder):
    (folder / "duration.safetensors").unlink()
    with pytest.raises(VoiceError, match=r"duration\.safetensors is missing"):
        load_voice(folder)
    (folder / "duration.safetensors").mkdir()
    with pytest.raises(VoiceError, match=r"duration\.safetensors is missing"):
        load_voice(folder)


@pytest.mark.parametrize(
    "name", ["nobody", "../heart", "/etc", "./none", "a\0b", "a/\0", "", "x" * 5000, "%2e%2e", "."]
)
def test_unknown_voices(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a relative path may name a voice, but there is none around here
    with pytest.raises(VoiceError, match=r"there is no voice|not a voice folder"):
        find_voice(name)


@pytest.mark.parametrize("name", [5, b"heart", ["heart"], True])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(VoiceError, match="expected a name or a folder's path"):
        load_voice(name)


def test_folders_of_the_current_directory_are_hinted(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    with pytest.raises(VoiceError, match=r"pass \./copy"):
        find_voice("copy")
    assert load_voice("./copy").manifest.name == "tiny"


SIZES = {"heart": 12_000_000, "heart-lite": 4_000_000}  # bytes of the voices in the package


def test_shipped_voices_are_whole():
    names = voice_names()
    assert set(names) == set(SIZES)
    for name in names:
        folder = load_voice(name, None)
        assert folder.manifest.name == name
        assert sum(file.stat().st_size for file in folder.path.iterdir()) <= SIZES[name]


def test_eight_bits_are_read_back_exactly(tiny_voice, tmp_path):
    whole = load_voice(tiny_voice, None)
    write = {
        "name": "small", "features": whole.manifest.features, "licence": "Apache-2.0", "provenance": "random numbers",
        "module_configs": {name: whole.configs[name] for name in SPEAKING},
    }  # fmt: skip
    tensors = {name: dict(whole.tensors[name]) for name in SPEAKING}
    tensors["vocoder"]["output.weight"][3] = 0.0
    write_voice(tmp_path / "small", tensors=tensors, eight_bits=True, **write)
    read = load_voice(tmp_path / "small", None)
    assert read.manifest.format_version == FORMAT_VERSION and set(read.tensors) == set(SPEAKING)
    for module in SPEAKING:
        for name, values in tensors[module].items():
            expected = values
            if values.ndim > 1:
                counts, scales = counted(values)
                assert counts.dtype == np.int8 and scales.shape == (len(values),)
                expected = (counts.reshape(len(values), -1) * scales[:, None]).reshape(values.shape)
                worst = np.abs(expected - values).reshape(len(values), -1).max(axis=1)
                assert (worst <= 0.5001 * scales).all()
            np.testing.assert_array_equal(read.tensors[module][name], expected.astype(np.float32))
    sizes = [sum(f.stat().st_size for f in folder.glob("*.safetensors")) for folder in (tiny_voice, tmp_path / "small")]
    assert sizes[1] < sizes[0]


def test_whole_numbers_stay_exact_in_eight_bits():
    numbers = np.arange(5000, dtype=np.float32) % 128
    counts, scales = counted(numbers)
    assert scales.shape == (1,) and scales[0] == 1.0
    np.testing.assert_array_equal(counts * scales[0], numbers)


def test_larger_whole_numbers_are_not_counted(tiny_voice, tmp_path):
    """Numbers of more than 127 classes of words: 127 steps would mix them up."""
    module = "homographs"
    voice = load_voice(tiny_voice, (module,))
    config = dataclasses.replace(voice.configs[module], classes=300, class_bits=13)
    tensors = {**voice.tensors[module], "classes": (np.arange(1 << 13) % 301).astype(np.float32)}
    tensors["coarse"] = np.zeros(301, np.float32)
    from safetensors.numpy import load_file

    write_module(tmp_path, module, config, tensors, eight_bits=True)
    held = load_file(tmp_path / f"{module}.safetensors")
    assert held["classes"].dtype == np.float16
    np.testing.assert_array_equal(held["classes"].astype(np.float32), tensors["classes"])


def test_damaged_eight_bits(folder):
    from safetensors.numpy import load, save

    good = load((folder / "f0.safetensors").read_bytes())
    name = next(name for name, value in good.items() if value.ndim > 1)
    counts, scales = counted(good[name].astype(np.float32))
    changed = {**good, name: counts, name + SCALES: scales}
    rewrite(folder, "f0", save(changed))
    load_voice(folder)
    for wrong, words in [
        ({**good, name: counts}, f"lacks tensor '{name}.scales'"),
        ({**good, name + SCALES: scales}, f"unknown tensor '{name}.scales'"),
        ({**changed, name + SCALES: scales[1:]}, r"expected \("),
        ({**changed, name + SCALES: scales * np.float32(np.nan)}, "not finite"),
        ({**changed, name: np.full_like(counts, 127), name + SCALES: scales * 0 + np.float32(6e4)}, "at most 65504"),
        ({**changed, name: counts[1:]}, "has the shape"),
    ]:
        rewrite(folder, "f0", save(wrong))
        with pytest.raises(VoiceError, match=words):
            load_voice(folder)


def test_a_voice_without_segmentation_speaks_and_says_what_it_cannot(folder):
    data = json.loads((folder / "voice.json").read_text())
    del data["modules"]["segmentation"]
    (folder / "voice.json").write_text(json.dumps(data))
    (folder / "segmentation.safetensors").unlink()
    assert set(load_voice(folder).tensors) == set(SPEAKING)
    with pytest.raises(VoiceError, match=r"has no segmentation.*'heart'"):
        load_voice(folder, ("segmentation",))
    del data["modules"]["duration"]
    (folder / "voice.json").write_text(json.dumps(data))
    with pytest.raises(VoiceError, match="it has the modules"):
        load_voice(folder)
