"""Encoders that take samples and return bytes, forward only: what files, standard output and the server share.

    encoder = open_encoder("mp3", 24000, num_samples=len(samples_T))
    body = encoder.write(samples_T) + encoder.finish()

Every format is one stream with one header and decodes to as many samples as were written, but for silence at the end:
0.02 s of aac and m4a, 0.07 s of mp3 without `num_samples`. A header that names the length is exact when `num_samples`
is given. When it is not, wav declares the largest length, flac and mp3 an unknown one, and `patches` holds what would
have been written had it been known, for outputs that can seek.
"""

import struct
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio import g711
from deepvoice.audio.formats import FORMATS, TABLE, lookup, output_rate
from deepvoice.audio.resample import Resampler
from deepvoice.errors import AudioError

FloatArray = NDArray[np.float32]

CONTENT_TYPES = {name: kind.content_type for name, kind in TABLE.items()}
_WAV_LIMIT = 2**32 - 1 - 64  # bytes of samples that the header's 32-bit sizes can name
_UNKNOWN_SIZE = 0xFFFFFFFF  # what a streamed wav declares when its length is not known in advance
_PCM, _ALAW, _MULAW = 1, 6, 7  # format tags of wav


class Encoder(Protocol):
    """Samples in, bytes out. It belongs to one thread, but any thread may close it.

    sample_rate: of what comes out, Hz
    patches: after `finish`, (offset, bytes) that an output which can seek should be overwritten with
    """

    sample_rate: int
    patches: list[tuple[int, bytes]]

    def write(self, samples_T: FloatArray) -> bytes:
        """Take samples, float32 [T], clipped to [-1, 1]; returns the bytes that are ready, perhaps none."""

    def finish(self) -> bytes:
        """Return the remaining bytes; nothing can be written afterwards. Raises AudioError when encoding failed."""

    def close(self) -> None:
        """Give up, or clean up after `finish`; it may be called again, and from another thread."""


def open_encoder(
    file_format: str,
    sample_rate: int,
    rate: int | None = None,
    num_samples: int | None = None,
    *,
    path: str | None = None,
) -> Encoder:
    """Start an encoder.

    file_format: one of formats.FORMATS, or an alias such as "raw"
    sample_rate: of the samples that will be written, Hz
    rate: of what comes out, from 8000 to 48000 Hz; None is what the format usually has
    num_samples: how many samples will be written, at `sample_rate`, when that is known
    path: an existing file to which m4a is written instead of being returned
    Raises AudioError for an unknown format or rate, and when what encodes the format is not installed.
    """
    name = lookup(file_format)
    if name is None:
        raise AudioError(f"the format {file_format!r} is unknown; use one of {' '.join(FORMATS)}")
    out_rate = output_rate(name, sample_rate, rate)
    resampler = Resampler(sample_rate, out_rate)
    known = None if num_samples is None else resampler.count(num_samples)
    encoder: Encoder
    if name in _WAV_TAGS or name == "pcm":
        encoder = _PlainEncoder(name, out_rate, known)
    elif TABLE[name].program:
        from deepvoice.audio.ffmpeg import ProgramEncoder

        encoder = ProgramEncoder(name, out_rate, path)
    else:
        from deepvoice.audio.libsndfile import LibraryEncoder

        encoder = LibraryEncoder(name, out_rate, known)
    return encoder if out_rate == sample_rate else _ResamplingEncoder(encoder, resampler)


class _ResamplingEncoder:
    """An encoder behind a change of the sample rate."""

    def __init__(self, encoder: Encoder, resampler: Resampler) -> None:
        self._encoder, self._resampler = encoder, resampler
        self.sample_rate = encoder.sample_rate
        self.patches = encoder.patches

    def write(self, samples_T: FloatArray) -> bytes:
        return self._encoder.write(self._resampler.write(samples_T))

    def finish(self) -> bytes:
        return self._encoder.write(self._resampler.finish()) + self._encoder.finish()

    def close(self) -> None:
        self._encoder.close()


class _PlainEncoder:
    """Samples as they are, with a header of wav or without: pcm, wav, mulaw, alaw."""

    def __init__(self, name: str, sample_rate: int, known: int | None) -> None:
        self.sample_rate = sample_rate
        self.patches: list[tuple[int, bytes]] = []
        self._name, self._known = name, known
        self._width = 1 if name in ("mulaw", "alaw") else 2
        self._count = 0
        self._header = b"" if name == "pcm" else wav_header(sample_rate, known, name)

    def write(self, samples_T: FloatArray) -> bytes:
        self._count += len(samples_T)
        if self._name != "pcm" and self._width * self._count > _WAV_LIMIT:
            raise AudioError("a wav file holds 4 GB (about 24 hours); split the text or write flac")
        header, self._header = self._header, b""
        whole_T = to_pcm16(samples_T)
        if self._name == "mulaw":
            return header + g711.encode_mulaw(whole_T).tobytes()
        return header + (g711.encode_alaw(whole_T) if self._name == "alaw" else whole_T).tobytes()

    def finish(self) -> bytes:
        header, self._header = self._header, b""
        if self._name == "pcm":
            return b""
        if self._known != self._count:
            self.patches.append((0, wav_header(self.sample_rate, self._count, self._name)))
        return header + bytes(self._width * self._count % 2)  # chunks of wav are of even length

    def close(self) -> None:
        pass


_WAV_TAGS = {"wav": _PCM, "alaw": _ALAW, "mulaw": _MULAW}


def to_pcm16(samples_T: FloatArray) -> NDArray[np.int16]:
    """Convert to 16-bit samples: clipped to [-1, 1], rounded, -1 -> -32767, so that nothing wraps around."""
    return np.rint(np.clip(samples_T, -1.0, 1.0) * np.float32(32767)).astype("<i2")


def wav_header(sample_rate: int, num_samples: int | None, name: str = "wav") -> bytes:
    """Return what comes before mono samples: 44 bytes for wav, 58 for mulaw and alaw; None is an unknown length."""
    tag = _WAV_TAGS[name]
    width = 2 if tag == _PCM else 1
    size = _UNKNOWN_SIZE if num_samples is None else width * num_samples
    form = struct.pack("<HHIIHH", tag, 1, sample_rate, width * sample_rate, width, 8 * width)
    if tag == _PCM:
        chunks = _chunk(b"fmt ", form)
    else:  # what is not PCM has an extension of the format, and a chunk with the number of samples
        count = _UNKNOWN_SIZE if num_samples is None else num_samples
        chunks = _chunk(b"fmt ", form + bytes(2)) + _chunk(b"fact", struct.pack("<I", count))
    riff = _UNKNOWN_SIZE if num_samples is None else 4 + len(chunks) + 8 + size + size % 2
    return b"RIFF" + struct.pack("<I", riff) + b"WAVE" + chunks + b"data" + struct.pack("<I", size)


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content
