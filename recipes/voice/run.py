"""Every stage from prompts to a packed voice.

    python -m deepvoice.recipes.voice.run PROMPTS --homographs SENTENCES.tsv --work DIR --out deepvoice/voices/heart
        [--from STAGE] [--to STAGE]

A stage is a few commands of the other recipes. When they have all succeeded, a marker is left in DIR/done; a later run
skips the stage. `--from STAGE` does that stage and all after it again (training resumes from its checkpoints), `--to`
stops after one. Every training stage can be interrupted and started again, and pauses while a file named `pause` lies
in its run folder.
"""

import argparse
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

RECIPES = "deepvoice.recipes"
Command = tuple[str, ...]  # module below deepvoice.recipes, then its arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where everything lies: prompts, sentences with homographs, the work folder's parts and the voice."""

    prompts: Path
    homographs: Path
    work: Path
    voice: Path

    @property
    def manifest(self) -> Path:
        """The corpus that all modules learn from."""
        return self.work / "corpus" / "manifest.jsonl"

    @property
    def runs(self) -> Path:
        """One folder for each module's checkpoints and logs."""
        return self.work / "runs"

    def checkpoint(self, module: str) -> str:
        """The last checkpoint of a module."""
        return str(self.runs / module / "last.pt")

    def scores(self, module: str) -> str:
        """Where a module's figures go."""
        return str(self.work / "scores" / f"{module}.json")


def prepare_and_train(module: str) -> Callable[[Places], list[Command]]:
    """Commands of the modules whose recipes have a prepare step that writes a data folder."""

    def commands(places: Places) -> list[Command]:
        data, run = str(places.work / "data" / module), str(places.runs / module)
        return [
            (f"{module}.prepare", str(places.manifest), "--out", data),
            (f"{module}.train", "--data", data, "--out", run),
        ]

    return commands


def grapheme_to_phoneme(places: Places) -> list[Command]:
    """Train once on the words as listed, then on words that the first run has labelled."""
    module = "grapheme_to_phoneme"
    data, relabelled = (str(places.work / "data" / name) for name in (module, f"{module}_relabelled"))
    first, start = str(places.runs / f"{module}_first"), places.checkpoint(f"{module}_first")
    config = str(Path(__file__).parents[1] / module / "distil.toml")
    again = ("--data", relabelled, "--out", str(places.runs / module), "--start", start, "--config", config)
    return [
        (f"{module}.prepare", "--teacher-lexicon", "--out", data),
        (f"{module}.train", "--data", data, "--out", first),
        (f"{module}.relabel", "--data", data, "--teacher", start, "--names", "--out", relabelled),
        (f"{module}.train", *again),
    ]


def homographs(places: Places) -> list[Command]:
    """Learn which reading of a homograph a sentence means."""
    out = str(places.runs / "homographs")
    return [("homographs.train", str(places.homographs), "--text", str(places.prompts), "--out", out)]


def corpus(places: Places) -> list[Command]:
    """Have the teacher speak the prompts."""
    g2p, readings = places.checkpoint("grapheme_to_phoneme"), places.checkpoint("homographs")
    out = str(places.manifest.parent)
    return [("corpora.teacher", str(places.prompts), "--out", out, "--g2p", g2p, "--homographs", readings)]


def features(places: Places) -> list[Command]:
    """Compute spectra, F0, phase and energy once."""
    return [("common.features", str(places.manifest))]


def segmentation(places: Places) -> list[Command]:
    """Train on audio and phones alone."""
    return [("segmentation.train", str(places.manifest), "--out", str(places.runs / "segmentation"))]


def align(places: Places) -> list[Command]:
    """Find the boundaries that the modules after this one learn from."""
    return [("segmentation.align", str(places.manifest), "--checkpoint", places.checkpoint("segmentation"))]


def vocoder(places: Places) -> list[Command]:
    """Train the conditioner on the alignments, the WaveNet on the spectra of the recordings; calibrate it for int8."""
    manifest = str(places.manifest)
    return [
        ("vocoder.train_conditioner", manifest, "--out", str(places.runs / "conditioner")),
        ("vocoder.train", manifest, "--out", str(places.runs / "vocoder")),
        ("vocoder.quantise", manifest, "--checkpoint", places.checkpoint("vocoder")),
    ]


def evaluate(places: Places) -> list[Command]:
    """Print each module's table beside its trivial baseline, and keep the figures for voice.json."""
    manifest = str(places.manifest)
    commands: list[Command] = [("corpora.truth", manifest), ("segmentation.evaluate", manifest)]
    for module in ("grapheme_to_phoneme", "duration", "f0"):
        data = str(places.work / "data" / module)
        truth = () if module == "grapheme_to_phoneme" else ("--truth", manifest)
        command = (f"{module}.evaluate", "--data", data, "--checkpoint", places.checkpoint(module), *truth)
        commands.append((*command, "--json", places.scores(module)))
    checkpoint, scores = places.checkpoint("homographs"), places.scores("homographs")
    commands.append(("homographs.evaluate", str(places.homographs), "--checkpoint", checkpoint, "--json", scores))
    checkpoint, scores = places.checkpoint("vocoder"), places.scores("vocoder")
    commands.append(("vocoder.evaluate", manifest, "--checkpoint", checkpoint, "--json", scores))
    return commands


def pack(places: Places) -> list[Command]:
    """Write the voice folder."""
    scores = sorted(str(path) for path in (places.work / "scores").glob("*.json"))
    return [("voice.pack", str(places.runs), "--out", str(places.voice), *(("--scores", *scores) if scores else ()))]


STAGES: dict[str, Callable[[Places], list[Command]]] = {
    "grapheme_to_phoneme": grapheme_to_phoneme,  # first: the corpus asks it for unknown words
    "homographs": homographs,  # before the corpus, whose labels it takes part in
    "corpus": corpus,
    "features": features,
    "segmentation": segmentation,
    "align": align,
    "duration": prepare_and_train("duration"),
    "f0": prepare_and_train("f0"),
    "vocoder": vocoder,
    "evaluate": evaluate,
    "pack": pack,
}


def select(first: str | None, last: str | None) -> list[str]:
    """Return the names of the stages from `first` to `last`, both included; raises ValueError when there is none."""
    names = list(STAGES)
    start, stop = names.index(first) if first else 0, names.index(last) if last else len(names) - 1
    if start > stop:
        raise ValueError(f"--from {first} comes after --to {last}; the order is {', '.join(names)}")
    return names[start : stop + 1]


def run(
    places: Places,
    first: str | None = None,
    last: str | None = None,
    execute: Callable[[Command], None] | None = None,
) -> list[str]:
    """Do the stages that are not done yet and return their names; an error of a command ends the run.

    execute: what to do with each command; the default runs it as a process
    """
    chosen = select(first, last)
    done = places.work / "done"
    done.mkdir(parents=True, exist_ok=True)
    (places.work / "scores").mkdir(exist_ok=True)
    if first:
        for name in list(STAGES)[list(STAGES).index(first) :]:
            (done / name).unlink(missing_ok=True)
    finished = []
    for name in chosen:
        if (done / name).exists():
            print(f"{name}: done before ({done / name}); --from {name} does it again")
            continue
        started = time.monotonic()
        for command in STAGES[name](places):
            print(f"{name}: python -m {RECIPES}.{shlex.join(command)}", flush=True)
            (execute or _execute)(command)
        (done / name).write_text(f"{time.monotonic() - started:.0f} s\n")
        finished.append(name)
    return finished


def _execute(command: Command) -> None:
    subprocess.run([sys.executable, "-m", f"{RECIPES}.{command[0]}", *command[1:]], check=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prompts", type=Path, help="a text file with a sentence a line, or LJSpeech's metadata.csv")
    parser.add_argument(
        "--homographs", type=Path, required=True, metavar="FILE", help="sentences, see recipes/homographs"
    )
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="corpus, checkpoints, markers")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the voice folder to write")
    parser.add_argument("--from", dest="first", choices=list(STAGES), help="begin with this stage, even if it is done")
    parser.add_argument("--to", dest="last", choices=list(STAGES), help="end after this stage")
    arguments = parser.parse_args(argv)
    try:
        places = Places(
            prompts=arguments.prompts, homographs=arguments.homographs, work=arguments.work, voice=arguments.out
        )
        run(places, arguments.first, arguments.last)
    except ValueError as error:
        parser.error(str(error))
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"run: a command ended with status {error.returncode}; mend it and start again") from None


if __name__ == "__main__":
    main()
