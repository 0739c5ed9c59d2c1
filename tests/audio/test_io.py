"""Audio files: every format, complete or absent."""

import io
import os
import stat
import struct
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile

from deepvoice.audio.formats import output_rate
from deepvoice.audio.io import FORMATS, format_of, open_stream, open_writer, to_pcm16, wav_header
from deepvoice.errors import AudioError
from deepvoice.speech import Speech

RATE = 24000


@pytest.fixture
def samples() -> np.ndarray:
    time = np.arange(RATE + 1) / RATE  # an odd number of samples
    return (0.5 * np.sin(2 * np.pi * 220 * time)).astype(np.float32)


@pytest.mark.parametrize("name", FORMATS)
def test_files_of_every_format_have_the_same_duration(tmp_path, samples, name, decode):
    path = Speech(samples=samples, sample_rate=RATE).save(tmp_path / f"a.{name.upper()}")
    rate = output_rate(name, RATE)
    decoded = decode(path.read_bytes(), name, rate)
    assert abs(len(decoded) / rate - len(samples) / RATE) < 0.03
    assert 0.4 < np.abs(decoded).max() < 0.6
    if name in ("wav", "flac"):
        assert np.array_equal(np.rint(soundfile.read(path)[0] * 32768), to_pcm16(samples))


@pytest.mark.parametrize("name", ["wav", "flac", "mp3", "ogg", "opus", "mulaw"])
def test_headers_of_files_name_the_exact_length(tmp_path, samples, name):
    path = Speech(samples=samples, sample_rate=RATE).save(tmp_path / f"a.{name}")
    count = len(samples) if name != "mulaw" else -(-len(samples) // 3)
    assert soundfile.info(path).frames == count


@pytest.mark.parametrize("rate", [8000, 22050, 48000])
def test_files_of_another_rate(tmp_path, samples, rate):
    with open_writer(tmp_path / "a.wav", RATE, rate=rate) as writer:
        for start in range(0, len(samples), 1001):
            writer.write(samples[start : start + 1001])
    with wave.open(str(tmp_path / "a.wav")) as handle:
        assert (handle.getframerate(), handle.getnframes()) == (rate, -(-len(samples) * rate // RATE))


def test_pieces_equal_the_whole(tmp_path, samples):
    for name in ("wav", "flac"):
        with open_writer(tmp_path / f"pieces.{name}", RATE) as writer:
            for start in range(0, len(samples), 1001):
                writer.write(samples[start : start + 1001])
        whole = Speech(samples=samples, sample_rate=RATE).save(tmp_path / f"whole.{name}")
        assert (tmp_path / f"pieces.{name}").read_bytes() == whole.read_bytes()


def test_wav_has_exact_sizes_and_even_data(tmp_path, samples):
    path = Speech(samples=samples, sample_rate=RATE).save(tmp_path / "a.wav")
    with wave.open(str(path)) as handle:
        assert (handle.getframerate(), handle.getnchannels(), handle.getsampwidth()) == (RATE, 1, 2)
        assert handle.getnframes() == len(samples)
    assert path.stat().st_size == 44 + 2 * len(samples)


def test_streams_declare_what_is_known(samples):
    known, unknown = io.BytesIO(), io.BytesIO()
    for handle, count in ((known, len(samples)), (unknown, None)):
        with open_stream(handle, RATE, "wav", count) as writer:
            writer.write(samples)
    assert known.getvalue()[:44] == wav_header(RATE, len(samples))
    assert struct.unpack("<I", unknown.getvalue()[40:44])[0] == 0xFFFFFFFF
    assert known.getvalue()[44:] == unknown.getvalue()[44:] == to_pcm16(samples).tobytes()


def test_full_scale_does_not_wrap():
    values = np.array([-5.0, -1.0, 0.0, 1.0, 5.0], np.float32)
    assert to_pcm16(values).tolist() == [-32767, -32767, 0, 32767, 32767]


@pytest.mark.parametrize("name", FORMATS)
def test_an_error_leaves_no_file_and_keeps_the_old_one(tmp_path, samples, name):
    old = tmp_path / f"old.{name}"
    old.write_bytes(b"before")
    for path in (old, tmp_path / f"new.{name}"):
        with pytest.raises(RuntimeError, match="halfway"), open_writer(path, RATE) as writer:
            writer.write(samples)
            raise RuntimeError("halfway")
    assert [file.name for file in tmp_path.iterdir()] == [old.name]
    assert old.read_bytes() == b"before"


@pytest.mark.parametrize("name", ("speech", "speech.", "speech.doc", ".wav"))
def test_unknown_suffixes_name_the_known_ones(tmp_path, name):
    with pytest.raises(AudioError, match=r"\.wav \.flac"):
        format_of(tmp_path / name)
    assert format_of(tmp_path / name, "FLAC") == "flac"


def test_missing_folder_folder_and_nul(tmp_path, samples):
    speech = Speech(samples=samples, sample_rate=RATE)
    with pytest.raises(AudioError, match="does not exist"):
        speech.save(tmp_path / "no" / "a.wav")
    (tmp_path / "folder.wav").mkdir()
    with pytest.raises(AudioError, match="is a folder"):
        speech.save(tmp_path / "folder.wav")
    with pytest.raises(AudioError, match="cannot write"):
        speech.save(f"{tmp_path}/a\0.wav")
    with pytest.raises(AudioError, match="cannot write"):
        speech.save(tmp_path / ("x" * 300 + ".wav"))


@pytest.mark.parametrize(("path", "name"), [(None, None), (5, None), (b"a.wav", None), ("a.wav", 5), ("a.wav", b"wav")])
def test_what_is_no_path_or_format_is_refused(samples, path, name):
    with pytest.raises(AudioError, match="expected a string"):
        Speech(samples=samples, sample_rate=RATE).save(path, name)


def test_a_trailing_slash_names_a_folder(tmp_path, samples):
    with pytest.raises(AudioError, match="is a folder"):
        Speech(samples=samples, sample_rate=RATE).save(f"{tmp_path}/a.wav/")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("letter", ["a", "é", "声", "👍"])
def test_names_as_long_as_the_file_system_takes(tmp_path, samples, letter):
    name = letter * (251 // len(os.fsencode(letter))) + ".wav"
    assert Speech(samples=samples, sample_rate=RATE).save(tmp_path / name).is_file()
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_devices_are_written_in_place(samples):
    speech = Speech(samples=samples, sample_rate=RATE)
    speech.save(os.devnull, "wav")
    speech.save(os.devnull, "flac")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    if Path("/dev/full").exists():
        with pytest.raises(AudioError, match="/dev/full: No space left"):
            speech.save("/dev/full", "wav")


def test_links_and_permissions_survive(tmp_path, samples):
    target, link = tmp_path / "target.wav", tmp_path / "link.wav"
    target.write_bytes(b"")
    target.chmod(0o640)
    link.symlink_to(target)
    Speech(samples=samples, sample_rate=RATE).save(link)
    assert link.is_symlink() and target.stat().st_size > 44
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.parametrize("name", FORMATS)
def test_a_full_disk_is_one_error_and_no_file(tmp_path, run_python, name):
    code = f"""
import numpy, resource, deepvoice
from deepvoice.speech import Speech
noise = numpy.random.default_rng(1).uniform(-1, 1, 480000).astype("f")
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
try:
    Speech(samples=noise, sample_rate=24000).save({str(tmp_path / ("a." + name))!r})
except deepvoice.AudioError as error:
    print("refused:", error)
"""
    result = run_python("-c", code)
    assert result.stdout.startswith((b"refused: cannot write", b"refused: ffmpeg stopped")), result.stderr.decode()
    assert b"space" in result.stdout or b"disk" in result.stdout
    assert list(tmp_path.iterdir()) == []
