"""An output module for Speech Dispatcher, through which screen readers speak: the command `sd_deepvoice`.

The voice is loaded once; the first samples of a message leave as soon as they are made, a stop takes effect within a
piece of 40 ms, and index marks are sent at their samples. It speaks the module protocol on standard input and output;
sound goes to the server, which plays it. `deepvoice/integrations/speech-dispatcher` has the configuration.
"""

import contextlib
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.encoders import to_pcm16
from deepvoice.errors import DeepVoiceError, TextError

if TYPE_CHECKING:
    from deepvoice.pipeline import Voice
    from deepvoice.stream import SpeechStream

_TAG = re.compile(r"<[^>]*>")
_PUNCTUATION = {  # mode -> characters that are named
    "none": "",
    "some": "#$%&@*/\\^_|~<>=+{}[]",
    "most": '#$%&@*/\\^_|~<>=+{}[]()"`-:;',
    "all": "#$%&@*/\\^_|~<>=+{}[]()\"`-:;,.!?'",
}
_ENTITY = re.compile(r"&[#\w]+;|<[^>]*>")
_DEFAULTS = {"rate": "0", "pitch": "0", "volume": "100", "punctuation_mode": "none", "spelling_mode": "off"}
_FASTEST = 3.0  # times the usual rate, at rate 100
_WIDEST = 6.0  # semitones, at pitch 100
_ESCAPE, _FLIP = 0x7D, 0x20  # bytes of sound that would end a line are marked and flipped


class Protocol:
    """Lines to the server, from any thread."""

    def __init__(self, output: BinaryIO) -> None:
        """Write to `output`."""
        self._output, self._lock = output, threading.Lock()

    def send(self, *lines: str) -> None:
        """Send lines."""
        with self._lock:
            self._output.write("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
            self._output.flush()

    def send_audio(self, samples_T: NDArray[np.float32], sample_rate: int) -> None:
        """Send samples, float32 [T]."""
        if len(samples_T) == 0:
            return
        data = to_pcm16(samples_T).tobytes()
        for byte in (_ESCAPE, ord("\n")):
            data = data.replace(bytes([byte]), bytes([_ESCAPE, byte ^ _FLIP]))
        fields = {
            "bits": 16,
            "num_channels": 1,
            "sample_rate": sample_rate,
            "num_samples": len(samples_T),
            "big_endian": 0,
        }
        head = "".join(f"705-{name}={value}\n" for name, value in fields.items())
        with self._lock:
            self._output.write(head.encode("ascii") + b"705-AUDIO\0" + data + b"\n705 AUDIO\n")
            self._output.flush()


class Message:
    """One message being spoken in a thread of its own."""

    def __init__(self, protocol: Protocol, stream: "SpeechStream | None") -> None:
        """Begin to speak; None is a message without anything to be heard."""
        self._protocol, self._stream = protocol, stream
        self._ending = ""
        self._thread = threading.Thread(target=self._speak, daemon=True)
        self._thread.start()

    def end(self, event: str) -> None:
        """Stop: with the event "703 STOP" or "704 PAUSE", unless it has ended already."""
        self._ending = event

    def wait(self) -> None:
        """Wait until the message has ended."""
        self._thread.join()

    def _speak(self) -> None:
        self._protocol.send("701 BEGIN")
        try:
            if self._stream is not None:
                self._send(self._stream)
        except DeepVoiceError as error:  # what only shows while speaking; the server waits for an end in any case
            sys.stderr.write(f"sd_deepvoice: {error}\n")
        self._protocol.send(self._ending or "702 END")

    def _send(self, stream: "SpeechStream") -> None:
        """Send samples, and each mark between the samples where it lies."""
        at = marks = 0
        with contextlib.closing(stream):
            for piece in stream:
                first = 0
                for mark in stream.marks[marks:]:
                    if mark.sample > at + len(piece) or self._ending:
                        break
                    self._protocol.send_audio(piece[first : mark.sample - at], stream.sample_rate)
                    first = max(first, mark.sample - at)
                    self._protocol.send(f"700-{mark.name}", "700 INDEX MARK")
                    marks += 1
                if self._ending:
                    return
                self._protocol.send_audio(piece[first:], stream.sample_rate)
                at += len(piece)
            for mark in stream.marks[marks:]:
                self._protocol.send(f"700-{mark.name}", "700 INDEX MARK")


class Module:
    """The commands of the protocol."""

    def __init__(self, protocol: Protocol, voice: str | None = None) -> None:
        """Answer through `protocol` with the voice of a name; None is the default voice."""
        self._protocol, self._voice_name = protocol, voice
        self._voice: Voice | None = None
        self._settings = {
            "rate": "0",
            "pitch": "0",
            "volume": "100",
            "punctuation_mode": "none",
            "spelling_mode": "off",
        }
        self._message: Message | None = None

    def serve(self, lines: Iterable[str]) -> None:
        """Answer commands until QUIT or the end."""
        rest = iter(lines)
        for line in rest:
            if line == "QUIT":
                self._finish()
                self._protocol.send("210 OK QUIT")
                return
            if not self._answer(line, rest):
                self._protocol.send("300 ERR UNKNOWN COMMAND")
        self._finish()

    def _finish(self) -> None:
        """Stop what is being spoken, and wait for its end."""
        self._stop("703 STOP")
        if self._message is not None:
            self._message.wait()

    def _answer(self, line: str, rest: Iterator[str]) -> bool:
        if line == "INIT":
            self._load()
        elif line in ("SPEAK", "CHAR", "KEY", "SOUND_ICON"):
            self._protocol.send("202 OK RECEIVING MESSAGE")
            self._speak(line, "\n".join(_block(rest)))
        elif line in ("STOP", "PAUSE"):
            self._stop("703 STOP" if line == "STOP" else "704 PAUSE")
        elif line == "SET":
            self._protocol.send("203 OK RECEIVING SETTINGS")
            self._settings.update(_pairs(rest))
            self._protocol.send("203 OK SETTINGS RECEIVED")
        elif line == "AUDIO":
            self._protocol.send("207 OK RECEIVING AUDIO SETTINGS")
            method = _pairs(rest).get("audio_output_method")
            # the server tries its own output first; without it there is nothing that we could open ourselves
            self._protocol.send("203 OK AUDIO INITIALIZED" if method == "server" else "300 MODULE NEEDS SERVER AUDIO")
        elif line == "LOGLEVEL":
            self._protocol.send("207 OK RECEIVING LOGLEVEL SETTINGS")
            list(_block(rest))
            self._protocol.send("203 OK LOG LEVEL SET")
        elif line.startswith("LIST VOICES"):
            self._list_voices()
        elif line.startswith("DEBUG"):
            self._protocol.send("200 OK DEBUGGING ON" if line.startswith("DEBUG ON") else "200 OK DEBUGGING OFF")
        else:
            return False
        return True

    def _load(self) -> None:
        from deepvoice.pipeline import Voice

        try:
            self._voice = Voice.load(self._voice_name, threads=1)
            next(self._voice.stream("Ready."))  # what is made at first use is made now
        except DeepVoiceError as error:
            self._protocol.send(f"399-{error}", "399 ERR CANT INIT MODULE")
            return
        self._protocol.send(f"299-deepvoice with the voice {self._voice.name}", "299 OK LOADED SUCCESSFULLY")

    def _list_voices(self) -> None:
        from deepvoice.voice import read_manifest, voice_names

        manifests = [read_manifest(name) for name in voice_names()]
        lines = [f"200-{manifest.name}\t{manifest.language}\tnone" for manifest in manifests]
        self._protocol.send(*lines, "200 OK VOICE LIST SENT")

    def _speak(self, kind: str, text: str) -> None:
        if self._voice is None:
            self._protocol.send("301 ERROR CANT SPEAK")
            return
        if self._message is not None:
            self._message.wait()  # the server sends no message before the last has ended
        stream = self._stream(kind, text)
        self._protocol.send("200 OK SPEAKING")
        self._message = Message(self._protocol, stream)

    def _stream(self, kind: str, text: str) -> "SpeechStream | None":
        """Begin to speak a text; None when there is nothing in it that can be heard."""
        assert self._voice is not None
        rate, pitch, volume = (self._number(name) for name in ("rate", "pitch", "volume"))
        for ssml in self._forms(kind, text):
            with contextlib.suppress(TextError):
                return self._voice.stream(
                    ssml,
                    ssml=True,
                    speed=_FASTEST ** (rate / 100),
                    pitch=_WIDEST * pitch / 100,
                    volume=(volume + 100) / 200,
                )
        return None

    def _forms(self, kind: str, text: str) -> Iterator[str]:
        """Yield the SSML of a message, and plainer forms for when that one cannot be spoken."""
        plain = _TAG.sub(" ", text) if kind == "SPEAK" else text
        if kind == "SOUND_ICON":
            return
        if kind == "KEY":
            plain = plain.replace("_", " ") if len(plain) > 1 else plain
        spelled = "".join(f"{_characters(word)} " for word in plain.split()) or _characters(plain)
        if kind == "CHAR" or (kind == "KEY" and len(plain) == 1):
            yield f"<speak>{_characters(plain)}</speak>"
        elif kind == "SPEAK" and self._settings["spelling_mode"] == "on":
            yield f"<speak>{spelled}</speak>"
        elif kind == "SPEAK":
            yield self._with_punctuation(text) if text.lstrip().startswith("<") else f"<speak>{escape(text)}</speak>"
        yield f"<speak>{escape(plain)}</speak>"
        yield f"<speak>{spelled}</speak>"

    def _with_punctuation(self, text: str) -> str:
        """Name the signs that the punctuation mode asks for, outside of tags and entities."""
        named = _PUNCTUATION.get(self._settings["punctuation_mode"], "")
        if not named:
            return text
        pattern = re.compile(f"({_ENTITY.pattern})|([{re.escape(named)}])")
        return pattern.sub(lambda match: match[1] or f" {_characters(match[2])}{match[2]} ", text)

    def _number(self, name: str) -> int:
        try:
            return max(-100, min(100, int(self._settings[name])))
        except ValueError:
            return int(_DEFAULTS[name])

    def _stop(self, event: str) -> None:
        if self._message is not None:
            self._message.end(event)


def _characters(text: str) -> str:
    return f'<say-as interpret-as="characters">{escape(text)}</say-as>'


def _block(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines of a block up to the one with a single dot; two dots at the beginning of a line are one."""
    for line in lines:
        if line == ".":
            return
        yield line[1:] if line.startswith("..") else line


def _pairs(lines: Iterator[str]) -> Mapping[str, str]:
    return {name: value for name, _, value in (line.partition("=") for line in _block(lines))}


def main() -> int:
    """Serve one Speech Dispatcher; an argument is the path of a configuration file, of which nothing is needed."""
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print must not reach the server
    lines = (line.decode("utf-8", "replace").rstrip("\r\n") for line in sys.stdin.buffer)
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        Module(Protocol(output), os.environ.get("DEEPVOICE_VOICE")).serve(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
