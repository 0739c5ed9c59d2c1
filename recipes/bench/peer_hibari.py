"""hibari-tts on the same sentences: `python -m deepvoice.recipes.bench.peer_hibari SENTENCES.json CORE`."""

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
    from hibari import Hibari

    voice = Hibari()
    voice(sentences[0])
    multiples = []
    for sentence in sentences:
        started = time.perf_counter()
        samples = voice(sentence)
        multiples.append(len(samples) / 24000 / (time.perf_counter() - started))
    json.dump({"x": median(multiples)}, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
