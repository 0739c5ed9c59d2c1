"""Score the homographs module on held-out sentences, beside its baselines.

    python -m deepvoice.recipes.homographs.evaluate SENTENCES.tsv (--checkpoint FILE | --voice NAME_OR_FOLDER)
        [--json FILE] [--errors]

"majority" always takes the reading that is the commonest in training; "rules" are those of `deepvoice.text.heteronyms`,
which know fewer words: for the others they count as the majority. "right" is the percentage over all sentences, "mean"
the mean over the homographs, "ms" the milliseconds that a sentence takes.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from deepvoice.config import from_dict
from deepvoice.configs import HomographConfig
from deepvoice.networks.homographs import HomographNetwork
from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.common.command import markdown_table
from deepvoice.recipes.homographs.data import Place, default_readings, places, read_readings, read_rows
from deepvoice.recipes.homographs.score import Figures, majority, score, score_choice, usual_readings
from deepvoice.text.heteronyms import heteronym
from deepvoice.text.phones import PAUSES
from deepvoice.voice import load_voice


def load_network(checkpoint: Path | None, voice: str | None) -> HomographNetwork:
    """Return the network of a checkpoint or of a packed voice."""
    if checkpoint:
        state = load_checkpoint(checkpoint)
        tensors = {name: value.float().numpy() for name, value in state["ema"].items()}
        return HomographNetwork(tensors, from_dict(HomographConfig, state["config"]))
    folder = load_voice(Path(voice) if voice and Path(voice).is_dir() else voice, ["homographs"])
    return HomographNetwork(folder.tensors["homographs"], folder.configs["homographs"])


def rules(found: Sequence[Place], phones: dict[str, list[str]]) -> Figures:
    """Score the rules; a reading counts as theirs when it has their phones, stress included."""
    usual = usual_readings(found)

    def choose(place: Place) -> int:
        words = [spoken.text for spoken in place.words if spoken.text not in PAUSES]
        before = sum(spoken.text not in PAUSES for spoken in place.words[: place.index])
        chosen = heteronym(words, before)
        said = " ".join(chosen.phones) if chosen else ""
        named = [i for i, name in enumerate(phones[place.word]) if name == said]
        return named[0] if named else usual.get(place.word, 0)

    return score_choice(choose, lambda place: place.reading, [place for place in found if place.held_out])


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentences", type=Path)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--checkpoint", type=Path, metavar="FILE", help="last.pt of a training run")
    source.add_argument("--voice", metavar="NAME|DIR", help="a packed voice")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    parser.add_argument("--errors", action="store_true", help="list the words with errors")
    arguments = parser.parse_args(argv)
    network = load_network(arguments.checkpoint, arguments.voice)
    readings = read_readings(default_readings())
    found = list(places(read_rows(arguments.sentences), readings))
    started = time.perf_counter()
    ours = score(network, found, readings)
    milliseconds = 1000.0 * (time.perf_counter() - started) / max(1, ours.places)
    rows = {
        "majority": majority(found),
        "rules": rules(found, {word: [r.phones for r in entry] for word, entry in readings.items()}),
        "classifier": ours,
    }
    table = {name: {"right": figures.right, "mean": figures.mean} for name, figures in rows.items()}
    print(markdown_table(f"{ours.places} held-out sentences, {len(ours.words)} words", ["right", "mean"], table, 2))
    print(f"\n{milliseconds:.3f} ms a sentence")
    if arguments.errors:
        for word, (right, total) in sorted(ours.words.items(), key=lambda item: item[1][0] / item[1][1]):
            if right < total:
                print(f"{word} {right}/{total}")
    if arguments.json:
        figures = {"places": ours.places, "milliseconds": round(milliseconds, 3), "table": table}
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
