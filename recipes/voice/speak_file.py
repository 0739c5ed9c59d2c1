"""Speak every line of a text file into numbered wav files, for scoring the whole chain with outside tools.

    python -m deepvoice.recipes.voice.speak_file SENTENCES.txt OUT_DIR [--voice NAME_OR_FOLDER] [--speed X]

Line i becomes OUT_DIR/i.wav (three digits). Nothing is given to the voice but the text.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import deepvoice
from deepvoice.recipes.common.command import reported
from deepvoice.recipes.common.progress import progress


def speak_file(sentences: Path, out: Path, voice_name: str | None, speed: float) -> tuple[float, float]:
    """Speak a file and return seconds of audio and seconds of work."""
    voice = deepvoice.load(voice_name) if voice_name else deepvoice.load()
    lines = [line.strip() for line in sentences.read_text(encoding="utf-8").splitlines() if line.strip()]
    out.mkdir(parents=True, exist_ok=True)
    audio = work = 0.0
    for number, line in enumerate(progress(lines, "speaking")):
        start = time.perf_counter()
        speech = voice.speak(line, speed=speed)
        work += time.perf_counter() - start
        audio += len(speech.samples) / speech.sample_rate
        speech.save(out / f"{number:03d}.wav")
    return audio, work


def run(arguments: argparse.Namespace) -> int:
    """Speak, and say how fast that was."""
    audio, work = speak_file(arguments.sentences, arguments.out, arguments.voice, arguments.speed)
    print(f"{audio:.1f} s of speech in {work:.1f} s: {audio / work:.1f} times real time")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentences", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--voice")
    parser.add_argument("--speed", type=float, default=1.0)
    arguments = parser.parse_args(argv)
    return reported(lambda: run(arguments))


if __name__ == "__main__":
    raise SystemExit(main())
