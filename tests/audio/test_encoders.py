"""Encoders: bytes as they are ready, one header, right lengths; public bug cases A2, A3, A5, A12, A16 and A19."""

import io
import struct
import threading
import wave

import numpy as np
import pytest
import soundfile

from deepvoice.audio import formats
from deepvoice.audio.encoders import CONTENT_TYPES, open_encoder, wav_header
from deepvoice.errors import AudioError

RATE = 24000
COUNT = 2 * RATE + 13  # an odd number
EXACT = {"wav", "flac", "pcm", "mp3", "mulaw", "alaw", "g722"}
MAGIC = {
    "wav": b"RIFF",
    "flac": b"fLaC",
    "mp3": b"\xff\xf3",
    "ogg": b"OggS",
    "opus": b"OggS",
    "aac": b"\xff\xf1",
    "mulaw": b"RIFF",
    "alaw": b"RIFF",
}


@pytest.fixture(scope="module")
def tone() -> np.ndarray:
    time = np.arange(COUNT) / RATE
    return (0.5 * np.sin(2 * np.pi * 330 * time)).astype(np.float32)


def encode(name, samples, *, rate=None, known=None, size=2400, sample_rate=RATE):
    """Encode in pieces; returns the bytes and the rate that they really have."""
    encoder = open_encoder(name, sample_rate, rate, known)
    try:
        pieces = [encoder.write(samples[start : start + size]) for start in range(0, len(samples), size)]
        return b"".join([*pieces, encoder.finish()]), encoder.sample_rate
    finally:
        encoder.close()


@pytest.mark.parametrize("name", formats.FORMATS)
@pytest.mark.parametrize("declared", [True, False])
def test_every_format_has_the_same_duration_and_pitch(name, declared, tone, decode, measure_pitch):
    data, rate = encode(name, tone, known=COUNT if declared else None)
    assert data.startswith(MAGIC.get(name, b"")) and (name != "m4a" or data[4:8] == b"ftyp")
    decoded = decode(data, name, rate)
    tail = 0.05 if name == "mp3" and not declared else 0.03
    assert abs(len(decoded) / rate - COUNT / RATE) < (2 / rate if name in EXACT and tail == 0.03 else tail)
    assert abs(measure_pitch(decoded, rate) - 330) < 330 * 0.002
    assert 0.4 < np.abs(decoded[rate // 4 : rate]).max() < 0.6


@pytest.mark.parametrize("name", formats.FORMATS)
@pytest.mark.parametrize("rate", [8000, 16000, 22050, 24000, 44100, 48000])
def test_every_rate_keeps_pitch_and_duration(name, rate, tone, decode, measure_pitch):
    allowed = formats.TABLE[name].rates
    if allowed and rate not in allowed:
        with pytest.raises(AudioError, match=rf"{name} cannot have {rate}.*choose one of"):
            open_encoder(name, RATE, rate)
        return
    data, real = encode(name, tone, rate=rate, known=COUNT)
    assert real == rate
    if name == "pcm":
        assert len(data) == 2 * -(-COUNT * rate // RATE)
        return
    decoded = decode(data, name, rate)
    # a frame of aac has 1,024 samples
    assert abs(len(decoded) / rate - COUNT / RATE) < max(0.03, 1100 / rate if name in ("aac", "m4a") else 0)
    assert abs(measure_pitch(decoded, rate) - 330) < 330 * 0.002


@pytest.mark.parametrize("sample_rate", [8000, 11025, 16000, 22050, 32000, 44100, 48000])
@pytest.mark.parametrize("name", ["opus", "mp3", "ogg", "flac"])
def test_voices_of_any_rate_are_encoded(name, sample_rate, decode, measure_pitch):
    tone = (0.5 * np.sin(2 * np.pi * 330 * np.arange(sample_rate) / sample_rate)).astype(np.float32)
    data, rate = encode(name, tone, sample_rate=sample_rate, known=len(tone))
    decoded = decode(data, name, rate)
    assert abs(len(decoded) / rate - 1) < 0.03
    assert abs(measure_pitch(decoded, rate) - 330) < 1


@pytest.mark.parametrize("name", sorted(set(formats.FORMATS) - {"ogg", "opus"}))  # their streams have random names
def test_pieces_of_any_size_give_the_same_bytes(name, tone):
    expected, _ = encode(name, tone, known=COUNT, size=COUNT)
    for size in (333, 24000):
        assert encode(name, tone, known=COUNT, size=size)[0] == expected


@pytest.mark.parametrize("name", ["mp3", "ogg", "opus", "wav", "pcm"])
def test_bytes_come_early(name, tone):
    encoder = open_encoder(name, RATE)
    assert len(encoder.write(tone[: RATE // 5])) > 0
    encoder.close()


def test_empty_writes_and_no_samples_at_all():
    for name in formats.FORMATS:
        encoder = open_encoder(name, RATE, None, 0)
        data = encoder.write(np.zeros(0, np.float32)) + encoder.finish()
        encoder.close()
        assert name != "wav" or data == wav_header(RATE, 0)


def test_lossless_formats_hold_the_samples_of_pcm(tone, decode):
    expected = np.frombuffer(encode("pcm", tone)[0], np.int16)
    for name in ("wav", "flac"):
        for known in (COUNT, None):
            decoded = decode(encode(name, tone, known=known)[0], name, RATE)
            assert np.array_equal(np.rint(decoded * 32768), expected)


def test_nothing_follows_the_samples_of_a_wav(tone):
    data, _ = encode("wav", tone, known=COUNT)
    assert len(data) == 44 + 2 * COUNT
    with wave.open(io.BytesIO(data)) as handle:
        assert handle.getnframes() == COUNT


def test_telephone_headers(tone):
    for name, tag in (("alaw", 6), ("mulaw", 7)):
        data, rate = encode(name, tone, known=COUNT)
        assert rate == 8000 and len(data) % 2 == 0
        assert struct.unpack("<IHHIIHH", data[16:36]) == (18, tag, 1, 8000, 8000, 1, 8)
        assert struct.unpack("<I", data[4:8])[0] == len(data) - 8
        assert data[:58] == wav_header(8000, -(-COUNT // 3), name)
        assert soundfile.info(io.BytesIO(data)).frames == -(-COUNT // 3)
        assert struct.unpack("<I", encode(name, tone)[0][54:58])[0] == 0xFFFFFFFF


def test_mp3_names_its_frames_and_delays(tone):
    for rate in formats.TABLE["mp3"].rates:
        for count in (1, 577, 5000, COUNT):
            data, _ = encode("mp3", tone[:count], known=count, sample_rate=rate)
            assert soundfile.info(io.BytesIO(data)).frames == count, (rate, count)


def test_one_header_for_many_pieces(tone):
    for name, magic in (
        ("wav", b"RIFF"),
        ("flac", b"fLaC"),
        ("mp3", b"Info"),
        ("opus", b"OpusHead"),
        ("ogg", b"vorbis"),
    ):
        data, _ = encode(name, tone, size=4800)
        assert data.count(magic) == (3 if name == "ogg" else 1)  # vorbis has three header packets


def test_full_scale_survives(decode):
    square = np.where(np.arange(RATE) % 200 < 100, -1.0, 1.0).astype(np.float32)
    data, _ = encode("wav", square, known=RATE)
    assert set(np.frombuffer(data[44:], np.int16)) == {-32767, 32767}
    assert np.abs(decode(encode("flac", 5 * square)[0], "flac", RATE)).min() > 0.99


@pytest.mark.parametrize("name", formats.FORMATS)
def test_closing_twice_and_elsewhere(name, tone):
    encoder = open_encoder(name, RATE)
    encoder.write(tone[:4800])
    thread = threading.Thread(target=encoder.close)
    thread.start()
    thread.join()
    encoder.close()


def test_writing_after_closing_is_an_error(tone):
    for name in ("mp3", "aac"):
        encoder = open_encoder(name, RATE)
        encoder.close()
        with pytest.raises(AudioError):
            encoder.write(tone)


def test_a_missing_program_is_said_at_once(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    for name in ("aac", "m4a", "g722"):
        with pytest.raises(AudioError, match=r"ffmpeg is not installed.*install it"):
            open_encoder(name, RATE)


def test_names():
    assert set(CONTENT_TYPES) == set(formats.FORMATS)
    assert [formats.lookup(name) for name in ("WAV", "raw", "ulaw", "M4B", "xyz", "")] == [
        "wav", "pcm", "mulaw", "m4a", None, None
    ]  # fmt: skip
    with pytest.raises(AudioError, match="the format 'xyz' is unknown; use one of wav flac"):
        open_encoder("xyz", RATE)
    for rate in (0, 7999, 48001, 8000.0, "8000", True):
        with pytest.raises(AudioError, match="from 8000 to 48000"):
            open_encoder("wav", RATE, rate)
