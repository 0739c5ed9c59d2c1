"""Damaged voices whose hashes were refreshed: speech or one of our errors, never a crash and nothing else.

`make soak` runs thousands of them under AddressSanitizer; the ordinary suite a share.
"""

import hashlib
import json
import shutil
import struct

import numpy as np
import pytest

import deepvoice
from deepvoice.voice import MODULES

TEXT = "At, zq."
NUMBERS = (0, -1, 1, 2, 3, 7, 255, 256, 4096, 2**15, 2**31, 2**32, 2**63, 2**64, 10**30, 0.5, -0.0, 1e-300, 1e308)
VALUES = (None, True, "", "x", "../x", [], {}, [1], [[]], {"a": 1}, [1] * 100, *NUMBERS)


def places(data, path=()):
    """Yield the path of every value in nested JSON."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def damage_settings(data, random):
    """Change, remove or add settings anywhere in voice.json."""
    choices = [path for path in places(data) if path[0] != "phone_set" or random.random() < 0.1]
    path = choices[random.integers(len(choices))]
    place = data
    for key in path[:-1]:
        place = place[key]
    kind = random.integers(4)
    old = place[path[-1]]
    if kind == 0 and isinstance(place, dict):
        del place[path[-1]]
    elif kind == 1 and isinstance(old, int | float) and not isinstance(old, bool):
        place[path[-1]] = type(old)(old + random.integers(-3, 4)) if random.random() < 0.5 else old * 2
    else:
        place[path[-1]] = VALUES[random.integers(len(VALUES))]


def damage_file(raw, random):
    """Flip, cut, insert or overwrite bytes; half of the time only among the weights: the file stays readable."""
    raw = bytearray(raw)
    header = 8 + struct.unpack("<Q", raw[:8])[0]
    kind = random.integers(6)
    first = header if random.random() < 0.5 else 0
    if kind == 0:
        return bytes(raw[: random.integers(len(raw))])
    if kind == 1:
        at = random.integers(len(raw))
        return bytes(raw[:at]) + random.bytes(int(random.integers(1, 64))) + bytes(raw[at:])
    if kind == 2:  # weights of any finite size
        values = np.frombuffer(bytes(raw[header:]), np.float16).copy()
        chosen = random.random(len(values)) < 10.0 ** -random.integers(0, 4)
        values[chosen] = (values[chosen].astype(np.float32) * 10.0 ** random.integers(0, 6)).clip(-6e4, 6e4)
        return bytes(raw[:header]) + values.tobytes()
    for at in random.integers(first, len(raw), int(random.integers(1, 20))):
        raw[at] = random.integers(256)
    return bytes(raw)


def damage(folder, seed):
    """Damage a voice folder in a few places and refresh its hashes."""
    random = np.random.default_rng(seed)
    data = json.loads((folder / "voice.json").read_text())
    for module in random.choice(list(MODULES), random.integers(0, 4), replace=False):
        path = folder / f"{module}.safetensors"
        path.write_bytes(damage_file(path.read_bytes(), random))
        data["modules"][module]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    if random.random() < 0.4:
        damage_settings(data, random)
    (folder / "voice.json").write_text(json.dumps(data))


def speak_with(tiny_voice, folder, seed):
    """Return whether a damaged copy still speaks; only DeepVoiceError may be raised."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(tiny_voice, folder)
    damage(folder, seed)
    try:
        speech = deepvoice.load(folder).speak(TEXT)
    except deepvoice.DeepVoiceError as error:
        assert 10 < len(str(error)) < 1000, seed
        return False
    assert np.isfinite(speech.samples).all() and np.abs(speech.samples).max() <= 1, seed
    return True


def check(tiny_voice, tmp_path, seeds):
    with np.errstate(all="ignore"):  # absurd weights overflow on the way
        spoke = [speak_with(tiny_voice, tmp_path / "voice", seed) for seed in seeds]
    assert 0 < sum(spoke) < len(spoke)  # both outcomes happen, so the mutations reach past the checks


def test_a_share_of_the_damaged_voices(tiny_voice, tmp_path):
    check(tiny_voice, tmp_path, range(200))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(200, 5200, 500))
def test_thousands_of_damaged_voices(tiny_voice, tmp_path, first):
    check(tiny_voice, tmp_path, range(first, first + 500))
