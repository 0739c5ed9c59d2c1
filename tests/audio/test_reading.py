"""Recordings of many formats are read in pieces; what is damaged is named."""

import numpy as np
import pytest
import soundfile

from deepvoice.audio import reading
from deepvoice.audio.reading import one_channel, open_recording
from deepvoice.errors import AudioError


def read(path):
    with open_recording(path) as (rate, pieces):
        return rate, list(pieces)


def tone(seconds=1.0, rate=16000):
    return (0.5 * np.sin(2 * np.pi * 440 * np.arange(int(seconds * rate)) / rate)).astype(np.float32)


@pytest.mark.parametrize(
    ("suffix", "subtype", "limit"),
    [("wav", "PCM_24", 1e-6), ("wav", "FLOAT", 0.0), ("flac", "PCM_16", 1e-4), ("mp3", None, 0.4)],
)
def test_formats_of_the_library(tmp_path, suffix, subtype, limit):
    soundfile.write(tmp_path / f"a.{suffix}", tone(), 16000, subtype=subtype)
    rate, pieces = read(tmp_path / f"a.{suffix}")
    assert rate == 16000
    assert np.abs(np.concatenate(pieces)[:15000] - tone()[:15000]).mean() <= limit


def test_formats_of_ffmpeg(tmp_path):
    from deepvoice.audio.io import open_writer

    with open_writer(tmp_path / "a.g722", 24000) as writer:
        writer.write(tone(2.0, 24000))
    rate, pieces = read(tmp_path / "a.g722")
    assert rate == 16000
    assert len(np.concatenate(pieces)) == pytest.approx(32000, abs=400)


def test_long_recordings_come_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_BLOCK", 1000)
    soundfile.write(tmp_path / "a.wav", tone(), 16000, subtype="FLOAT")
    _, pieces = read(tmp_path / "a.wav")
    assert [len(piece) for piece in pieces] == [1000] * 16
    assert np.array_equal(np.concatenate(pieces), tone())


def test_channels_are_mixed_but_never_cancel():
    sound = tone()
    both = one_channel(np.stack([sound, sound], axis=1))
    assert np.allclose(both, sound)
    assert np.allclose(one_channel(np.stack([sound, np.zeros_like(sound)], axis=1)), sound / 2)
    assert np.array_equal(one_channel(np.stack([sound, -sound], axis=1)), sound)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [("missing.wav", None, "is missing"), ("empty.wav", b"", "empty file"), ("text.wav", b"no sound " * 99, "decoded")],
)
def test_what_is_no_recording_is_named(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(AudioError, match=message) as caught:
        read(tmp_path / name)
    assert name in str(caught.value)
