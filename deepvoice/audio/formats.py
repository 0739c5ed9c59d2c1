"""The audio formats by name: suffixes, content types and the sample rates that each can have.

It imports nothing, so that the command line can list the formats without numpy.
"""

from dataclasses import dataclass
from operator import index

from deepvoice.errors import AudioError

MIN_RATE, MAX_RATE = 8000, 48000  # Hz, of what is written; 24 kHz speech has nothing above
_MPEG_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format.

    content_type: for HTTP
    rates: the sample rates it can have, in Hz; empty for any
    usual_rate: what it has unless the caller asks for another; None is the rate of the samples, or the next it can have
    program: whether the program ffmpeg encodes it
    """

    content_type: str
    rates: tuple[int, ...] = ()
    usual_rate: int | None = None
    program: bool = False


TABLE = {
    "wav": Format(content_type="audio/wav"),
    "flac": Format(content_type="audio/flac"),
    "mp3": Format(content_type="audio/mpeg", rates=_MPEG_RATES),
    "ogg": Format(content_type="audio/ogg"),
    "opus": Format(content_type="audio/ogg; codecs=opus", rates=(8000, 12000, 16000, 24000, 48000)),
    # A frame of aac has 1024 samples, and not every decoder takes less than a whole one: at 48 kHz that is 21 ms.
    "aac": Format(content_type="audio/aac", rates=_MPEG_RATES, usual_rate=48000, program=True),
    "m4a": Format(content_type="audio/mp4", rates=_MPEG_RATES, usual_rate=48000, program=True),
    "pcm": Format(content_type="audio/pcm"),  # 16-bit little-endian samples without a header
    "mulaw": Format(content_type="audio/wav", usual_rate=8000),  # wav for telephones: G.711, 8 bits a sample
    "alaw": Format(content_type="audio/wav", usual_rate=8000),
    "g722": Format(content_type="audio/G722", rates=(16000,), program=True),
}
FORMATS = tuple(TABLE)
ALIASES = {"raw": "pcm", "oga": "ogg", "ulaw": "mulaw", "mp4": "m4a", "m4b": "m4a"}


def lookup(name: str) -> str | None:
    """Return the format that a name or a suffix without its dot means, in any case; None when there is none."""
    name = name.lower()
    name = ALIASES.get(name, name)
    return name if name in TABLE else None


def output_rate(name: str, sample_rate: int, rate: int | None = None) -> int:
    """Return the sample rate that a file of format `name` will have, in Hz.

    sample_rate: of the samples, Hz
    rate: what the caller asks for; None is what is usual
    Raises AudioError for a rate outside 8 to 48 kHz, or one that the format cannot have.
    """
    kind = TABLE[name]
    if rate is None:
        if kind.usual_rate:
            return kind.usual_rate
        return min((r for r in kind.rates if r >= sample_rate), default=kind.rates[-1]) if kind.rates else sample_rate
    if isinstance(rate, bool) or not hasattr(rate, "__index__") or not MIN_RATE <= index(rate) <= MAX_RATE:
        raise AudioError(f"the sample rate is {rate!r}; expected a whole number of Hz from {MIN_RATE} to {MAX_RATE}")
    if kind.rates and rate not in kind.rates:
        known = ", ".join(str(r) for r in kind.rates)
        raise AudioError(f"{name} cannot have {rate} samples a second; choose one of {known}, or another format")
    return index(rate)
