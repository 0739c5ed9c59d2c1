import sys

import numpy as np
import pytest
import soundfile

from deepvoice.recipes.corpora.recordings import (
    SAMPLE_RATE,
    TrimRule,
    read_audio,
    read_sound,
    to_mono,
    to_rate,
    trim,
    with_margins,
)


def tone(seconds, rate, hertz=440.0, level=0.3):
    return (level * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)).astype(np.float32)


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 44100, 48000, 96000])
def test_resampling_keeps_duration_and_pitch(rate):
    samples = to_rate(tone(1.0, rate), rate)
    assert abs(len(samples) - SAMPLE_RATE) <= 1
    spectrum = np.abs(np.fft.rfft(samples[:SAMPLE_RATE]))
    assert abs(int(np.argmax(spectrum)) - 440) <= 1


def test_resampling_does_not_alias():
    folded = to_rate(tone(1.0, 48000, hertz=15000.0), 48000)
    assert np.sqrt(np.mean(folded[1000:-1000] ** 2)) < 0.01


@pytest.mark.parametrize(
    ("name", "subtype"), [("a.wav", "PCM_24"), ("a.wav", "FLOAT"), ("a.flac", "PCM_16"), ("a.mp3", None)]
)
def test_formats_and_channels(tmp_path, name, subtype):
    stereo = np.stack([tone(0.5, 44100), np.zeros(22050, np.float32)], axis=1)
    soundfile.write(tmp_path / name, stereo, 44100, subtype=subtype)
    samples, rate = read_audio(tmp_path / name)
    assert rate == 44100
    assert samples.ndim == 1
    assert 0.25 < np.abs(samples).max() < 0.35  # the silent channel does not halve the other


def test_channels_are_mixed_and_never_cancel():
    voice = tone(0.1, 8000)
    mixed, note = to_mono(np.stack([voice, 0.5 * voice], axis=1))
    np.testing.assert_allclose(mixed, 0.75 * voice, atol=1e-6)
    assert not note
    for other, words in ((-voice, "cancel"), (np.zeros_like(voice), "silent")):
        mono, note = to_mono(np.stack([voice, other], axis=1))
        np.testing.assert_array_equal(mono, voice)
        assert words in note and "channel 1 of 2" in note


def test_an_empty_and_a_long_file_are_refused_before_they_are_read(tmp_path):
    (tmp_path / "a.wav").touch()
    with pytest.raises(ValueError, match=r"a\.wav is an empty file"):
        read_sound(tmp_path / "a.wav")
    soundfile.write(tmp_path / "b.flac", np.zeros(8000 * 60, np.float32), 8000)
    with pytest.raises(ValueError, match=r"lasts 60\.0 s; expected 30 s"):
        read_sound(tmp_path / "b.flac", longest=30)
    assert len(read_sound(tmp_path / "b.flac").samples_TC) == 480_000


@pytest.mark.parametrize("pad", [0.0, 0.05, 2.0])
def test_both_margins_are_exact_whatever_the_recording_had(pad):
    silence = np.zeros(round(pad * SAMPLE_RATE), np.float32)
    pause = np.zeros(SAMPLE_RATE // 2, np.float32)
    sound = np.concatenate([tone(0.5, SAMPLE_RATE), pause, tone(0.5, SAMPLE_RATE)])
    out = with_margins(np.concatenate([silence, sound, silence]), TrimRule(margin=0.15))
    assert len(out) == len(sound) + 2 * round(0.15 * SAMPLE_RATE)
    assert abs(int(np.flatnonzero(out)[0]) - 3600) <= 1
    assert not len(with_margins(np.zeros(SAMPLE_RATE, np.float32), TrimRule()))


FAKE_FFMPEG = """#!{python}
import struct, sys
if "broken" in " ".join(sys.argv):
    sys.exit("Invalid data found")
sys.stdout.buffer.write(b".snd" + struct.pack(">5I", 24, 0xFFFFFFFF, 6, 16000, 1) + struct.pack(">3f", 0.0, 0.5, -0.5))
"""


def test_what_libsndfile_does_not_know_is_decoded_by_ffmpeg(tmp_path, monkeypatch):
    (tmp_path / "ffmpeg").write_text(FAKE_FFMPEG.format(python=sys.executable))
    (tmp_path / "ffmpeg").chmod(0o755)
    for name in ("a.g722", "broken.g722"):
        (tmp_path / name).write_bytes(b"anything")
    monkeypatch.setenv("PATH", str(tmp_path))
    samples, rate = read_audio(tmp_path / "a.g722")
    assert (samples.tolist(), rate) == ([0.0, 0.5, -0.5], 16000)
    with pytest.raises(ValueError, match=r"broken\.g722 cannot be decoded: Invalid data"):
        read_audio(tmp_path / "broken.g722")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="install ffmpeg"):
        read_audio(tmp_path / "a.g722")


def test_a_missing_or_broken_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"b\.wav is missing"):
        read_audio(tmp_path / "b.wav")
    (tmp_path / "c.wav").write_bytes(b"not a wav")
    with pytest.raises(ValueError, match=r"c\.wav cannot be read"):
        read_audio(tmp_path / "c.wav")


def test_edges_are_trimmed_to_the_margin_and_pauses_inside_stay():
    pad, pause = np.zeros(2 * SAMPLE_RATE, np.float32), np.zeros(SAMPLE_RATE, np.float32)
    samples = np.concatenate([pad, tone(0.5, SAMPLE_RATE), pause, tone(0.5, SAMPLE_RATE), pad])
    cut = trim(samples, TrimRule(margin=0.1))
    assert len(cut) == pytest.approx(2.2 * SAMPLE_RATE, abs=240)
    assert not np.any(cut[: round(0.09 * SAMPLE_RATE)])


def test_silence_and_faint_noise_leave_nothing():
    noise = np.random.default_rng(0).standard_normal(SAMPLE_RATE).astype(np.float32)
    assert len(trim(np.zeros(SAMPLE_RATE, np.float32), TrimRule())) == 0
    assert len(trim(noise * 10 ** (-90 / 20), TrimRule())) == 0
    assert len(trim(np.zeros(3, np.float32), TrimRule())) == 0


def test_a_recording_without_silence_is_kept_whole():
    samples = tone(0.6, SAMPLE_RATE)
    assert len(trim(samples, TrimRule())) == len(samples)
