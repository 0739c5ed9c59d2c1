"""Encoding by libsndfile, forward only: flac, mp3, ogg (Vorbis) and opus.

libsndfile writes a file and at its end goes back to the head of it, to name the length. Here the head is made right at
once when the length is known, and otherwise says that it is not, so that nothing needs to be written twice.
"""

import io
import struct
import sys
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.encoders import to_pcm16
from deepvoice.errors import AudioError

if TYPE_CHECKING:
    from types import ModuleType

_SUBTYPES = {  # name -> (libsndfile format, subtype)
    "flac": ("FLAC", "PCM_16"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
    "ogg": ("OGG", "VORBIS"),
    "opus": ("OGG", "OPUS"),
}
_BLOCK = 1 << 16  # samples handed over at once: libsndfile's Vorbis encoder overflows its stack on long arrays
_SET_PAGE_LATENCY = 0x1302  # SFC_SET_OGG_PAGE_LATENCY_MS of sndfile.h
_PAGE_LATENCY = 100.0  # ms of opus in a page; the library's own second would delay the first sound by that much
_SET_COMPRESSION, _SET_BITRATE_MODE = 0x1301, 0x1305  # the same, for mp3
_CONSTANT = 0  # readers of a stream that does not name its length guess it from the size, at a constant rate
_MP3_BITRATE = 64  # kbit/s: what a variable rate takes for this speech too
_LAME_DELAY = 576  # samples that LAME adds in front, declared in its tag
_LAME_DECODING = 576  # samples that LAME adds behind at least, for the decoder's own delay
_FLAC_TOTAL = 21  # offset of the 36 bits of STREAMINFO that name the number of samples: 4 in the first byte


class LibraryEncoder:
    """flac, mp3, ogg or opus; see `deepvoice.audio.encoders.Encoder`."""

    def __init__(self, name: str, sample_rate: int, known: int | None) -> None:
        """Start; raises AudioError when this libsndfile cannot write the format."""
        self.sample_rate = sample_rate
        self._name, self._known = name, known
        self._lock = threading.Lock()
        self._sink = _Sink()
        self.patches = self._sink.patches
        soundfile = _soundfile(name)
        self._errors: tuple[type[Exception], ...] = (soundfile.SoundFileError, AssertionError)
        self._head_written = False
        container, subtype = _SUBTYPES[name]
        try:
            self._sound: Any = soundfile.SoundFile(self._sink, "w", sample_rate, 1, subtype, format=container)
            if name == "opus":
                _command(self._sound, _SET_PAGE_LATENCY, "double", _PAGE_LATENCY)
            if name == "mp3":
                _set_mp3_bitrate(self._sound)
        except self._errors as error:
            raise AudioError(f"libsndfile cannot write {name} with {sample_rate} samples a second: {error}") from None

    def write(self, samples_T: NDArray[np.float32]) -> bytes:
        """See Encoder."""
        with self._lock:
            try:
                for start in range(0, len(samples_T), _BLOCK):
                    block = samples_T[start : start + _BLOCK]
                    self._open().write(to_pcm16(block) if self._name == "flac" else np.clip(block, -1.0, 1.0))
            except self._errors as error:  # a short write is an assertion in soundfile
                raise AudioError(f"cannot encode {self._name}: {error or 'libsndfile took less than it got'}") from None
            return self._taken()

    def finish(self) -> bytes:
        """See Encoder."""
        with self._lock:
            self._open().close()
            self._sound = None
            return self._taken()

    def close(self) -> None:
        """See Encoder."""
        with self._lock:
            if self._sound is not None:
                self._sound.close()
                self._sound = None

    def _open(self) -> Any:
        if self._sound is None:
            raise AudioError(f"the {self._name} encoder is closed; open another")
        return self._sound

    def _taken(self) -> bytes:
        """Return the new bytes; the head of the first ones is made to say what is known of the length."""
        data = self._sink.take()
        if data and not self._head_written:
            self._head_written = True
            if self._name == "mp3":
                return _mp3_head(data, self.sample_rate, self._known)
            if self._name == "flac":
                return _flac_head(data, self._known or 0)
        return data


class _Sink:
    """A file for libsndfile: what is appended waits to be taken, what overwrites bytes already taken is a patch."""

    def __init__(self) -> None:
        self.patches: list[tuple[int, bytes]] = []
        self._pending = bytearray()
        self._taken = 0  # bytes handed out
        self._position = 0

    def take(self) -> bytes:
        """Return what was appended since the last time."""
        data = bytes(self._pending)
        self._taken += len(data)
        self._pending.clear()
        return data

    def write(self, data: Any) -> int:
        """Take bytes at the present position."""
        data = bytes(data)
        start = self._position - self._taken
        if start < 0:
            self.patches.append((self._position, data))
        else:
            self._pending[start : start + len(data)] = data
        self._position += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move."""
        size = self._taken + len(self._pending)
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: size}[whence]
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Nothing can be read back."""
        return b""


def _flac_head(data: bytes, known: int) -> bytes:
    """Name the number of samples in the STREAMINFO of a flac stream; 0 is an unknown one."""
    head = bytearray(data)
    head[_FLAC_TOTAL] = head[_FLAC_TOTAL] & 0xF0 | known >> 32 & 0x0F
    head[_FLAC_TOTAL + 1 : _FLAC_TOTAL + 5] = struct.pack(">I", known & 0xFFFFFFFF)
    return bytes(head)


def _mp3_head(data: bytes, sample_rate: int, known: int | None) -> bytes:
    """Put LAME's tag where libsndfile left room: the delays and, when it is known, the number of frames."""
    tag = bytearray(_mp3_tag(sample_rate))
    start = tag.find(b"Info")
    if start < 0 or any(data[4 : len(tag)]):  # the header of the frame, and room
        raise AudioError("this libsndfile writes mp3 in another way than expected; install soundfile from PyPI")
    frame = 1152 if sample_rate >= 32000 else 576  # samples: MPEG-1, and MPEG-2 for low rates
    frames = padding = 0
    if known is not None:
        frames = -(-(known + _LAME_DELAY + _LAME_DECODING) // frame)
        padding = frames * frame - known - _LAME_DELAY
    # 4 name, 4 flags, 4 frames, 4 bytes, 100 places for seeking, 4 quality, then LAME's own: 21 before the delays
    struct.pack_into(">III", tag, start + 4, 0x1 | 0x8, frames, 0)
    own = tag[start + 120 :]
    tag[start + 12 :] = bytes(len(tag) - start - 12)
    tag[start + 12 : start + 16] = bytes(4)
    tag[start + 16 : start + 16 + len(own)] = own
    tag[start + 16 + 21 : start + 16 + 24] = (_LAME_DELAY << 12 | padding).to_bytes(3, "big")
    return bytes(tag) + data[len(tag) :]


@lru_cache(maxsize=16)
def _mp3_tag(sample_rate: int) -> bytes:
    """Return the tag frame that libsndfile writes, in the end, at the head of a file."""
    sink = _Sink()
    container, subtype = _SUBTYPES["mp3"]
    with _soundfile("mp3").SoundFile(sink, "w", sample_rate, 1, subtype, format=container) as sound:
        _set_mp3_bitrate(sound)
        sound.write(np.zeros(sample_rate, np.float32))
        sink.take()
    return sink.patches[-1][1] if sink.patches else b""


def _set_mp3_bitrate(sound: Any) -> None:
    """Choose a constant rate, for libsndfile a level from 0, the highest of the MPEG version, to 1, the lowest."""
    low, high = (8, 64) if sound.samplerate <= 12000 else (8, 160) if sound.samplerate < 32000 else (32, 320)
    _command(sound, _SET_BITRATE_MODE, "int", _CONSTANT)
    _command(sound, _SET_COMPRESSION, "double", (high - _MP3_BITRATE) / (high - low))


def _command(sound: Any, command: int, kind: str, value: float) -> None:
    """Set what soundfile itself has no name for, or only in its latest versions."""
    library = sys.modules["soundfile"]
    cell = library._ffi.new(f"{kind}*", value)
    library._snd.sf_command(sound._file, command, cell, library._ffi.sizeof(kind))


def _soundfile(name: str) -> "ModuleType":
    """Import soundfile, only when a format needs it; its shared library may be missing on rare systems."""
    try:
        import soundfile
    except (ImportError, OSError) as error:
        raise AudioError(f"{name} needs the package soundfile ({error}); install it, or write wav") from None
    container, subtype = _SUBTYPES[name]
    if subtype not in soundfile.available_subtypes(container):
        raise AudioError(
            f"libsndfile {soundfile.__libsndfile_version__} cannot write {name}; "
            "install soundfile 0.12 or newer from PyPI, or write wav or flac"
        )
    return soundfile
