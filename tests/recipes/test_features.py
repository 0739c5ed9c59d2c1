"""The feature cache: what it holds, how it lines up, and that it refuses other parameters."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from deepvoice.audio.mel import MelSpec
from deepvoice.recipes.common.features import FeatureCache, build_cache, extract, feature_hash, read_manifest

SPEC = MelSpec()


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    rows = []
    for number, frequency in enumerate((150.0, 220.0)):
        time = np.arange(12000 + 50 * number) / 24000
        voice = sum(np.cos(2 * np.pi * k * frequency * time) / k for k in range(1, 8)) * 0.1
        soundfile.write(tmp_path / f"{number}.flac", voice, 24000)
        rows.append({"id": f"u{number}", "audio": f"{number}.flac"})
    path = tmp_path / "manifest.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_cache_gives_back_what_was_computed(manifest: Path, tmp_path: Path) -> None:
    build_cache(manifest, tmp_path / "features", SPEC)
    cache = FeatureCache(tmp_path / "features", SPEC)
    assert [cache.frames(u) for u in ("u0", "u1")] == [100, 101]
    for number in range(2):
        samples, _ = soundfile.read(tmp_path / f"{number}.flac", dtype="float32")
        expected, found = extract(samples, SPEC, number), cache[f"u{number}"]
        for name in ("audio_T", "mel_FM", "f0_F", "phase_E", "energy_F"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert np.median(cache["u1"].f0_F[20:80]) == pytest.approx(220, rel=0.01)


def test_other_parameters_are_refused(manifest: Path, tmp_path: Path) -> None:
    build_cache(manifest, tmp_path / "features", SPEC)
    with pytest.raises(ValueError, match="other feature parameters"):
        FeatureCache(tmp_path / "features", replace(SPEC, window=600))
    assert feature_hash(SPEC) != feature_hash(replace(SPEC, floor=1e-8))


def test_silence_has_finite_features() -> None:
    features = extract(np.zeros(4800, np.float32), SPEC, 0)
    assert not features.f0_F.any()
    for array in (features.mel_FM, features.phase_E, features.energy_F):
        assert np.isfinite(array).all()


def test_wrong_rate_is_named(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.flac", np.zeros(100), 16000)
    (tmp_path / "manifest.jsonl").write_text(json.dumps({"id": "a", "audio": "a.flac"}))
    with pytest.raises(ValueError, match="16000 Hz, expected 24000"):
        build_cache(tmp_path / "manifest.jsonl", tmp_path / "features", SPEC)


def test_manifest_errors_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "manifest.jsonl"
    path.write_text('{"id": "a"}\n\nnot json\n')
    with pytest.raises(ValueError, match=r"manifest\.jsonl:3"):
        read_manifest(path)


def test_tracking_pitch_warns_of_nothing():
    code = (
        "import numpy as np; from deepvoice.recipes.common.pitch import track_f0;"
        "print(np.median(track_f0(np.sin(np.arange(24000) * 0.03).astype('f4'), 24000, 120, 200)))"
    )
    told = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert told.returncode == 0 and not told.stderr, told.stderr
    assert abs(float(told.stdout) - 24000 * 0.03 / (2 * np.pi)) < 1
