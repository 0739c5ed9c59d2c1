"""Every stage from prompts, or from recordings with their texts, to a packed voice.

    python -m deepvoice.recipes.voice.run PROMPTS --homographs SENTENCES.tsv --work DIR --out deepvoice/voices/heart
        [--from STAGE] [--to STAGE]
    python -m deepvoice.recipes.voice.run --recordings FOLDER --work DIR --out voices/mine

The first has the teacher speak the prompts, and trains what reads text too. The second checks the recordings with
`deepvoice prepare` and takes what reads text from a voice that is there (--text-from).

A stage is a few commands of the other recipes. When they have all succeeded, a marker is left in DIR/done; a later run
skips the stage. `--from STAGE` does that stage and all after it again (training resumes from its checkpoints), `--to`
stops after one. Every training stage can be interrupted and started again, and pauses while a file named `pause` lies
in its run folder.
"""

import argparse
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deepvoice.recipes.voice.stages import run_stages

RECIPES = "deepvoice.recipes"
Command = tuple[str, ...]  # module below deepvoice.recipes, then its arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where everything lies: what the corpus is made of, the work folder's parts and the voice.

    prompts, homographs: sentences for the teacher, and with homographs; or else
    recordings: a folder for `deepvoice prepare`, with the modules that read text from the voice `text_from`
    configs: folder of MODULE.toml files that take the place of the recipes' own
    """

    work: Path
    voice: Path
    prompts: Path | None = None
    homographs: Path | None = None
    recordings: Path | None = None
    text_from: str = "heart"
    configs: Path | None = None

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

    def config(self, module: str) -> tuple[str, ...]:
        """Arguments that name a module's settings, none for the recipe's own."""
        path = self.configs / f"{module}.toml" if self.configs else None
        return ("--config", str(path)) if path and path.is_file() else ()

    def scores(self, module: str) -> str:
        """Where a module's figures go."""
        return str(self.work / "scores" / f"{module}.json")


def prepare_and_train(module: str) -> Callable[[Places], list[Command]]:
    """Commands of the modules whose recipes have a prepare step that writes a data folder."""

    def commands(places: Places) -> list[Command]:
        data, run = str(places.work / "data" / module), str(places.runs / module)
        return [
            (f"{module}.prepare", str(places.manifest), "--out", data),
            (f"{module}.train", "--data", data, "--out", run, *places.config(module)),
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


def text_modules(places: Places) -> list[Command]:
    """Take what reads text from a voice."""
    modules = ("--modules", "grapheme_to_phoneme", "homographs")
    return [("voice.unpack", places.text_from, "--out", str(places.runs), *modules)]


def own_corpus(places: Places) -> list[Command]:
    """Check the recordings and write those that can be used."""
    return [("recordings", str(places.recordings), "-o", str(places.manifest.parent), "--voice", places.text_from)]


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
    out = str(places.runs / "segmentation")
    return [("segmentation.train", str(places.manifest), "--out", out, *places.config("segmentation"))]


def align(places: Places) -> list[Command]:
    """Find the boundaries that the modules after this one learn from."""
    return [("segmentation.align", str(places.manifest), "--checkpoint", places.checkpoint("segmentation"))]


def vocoder(places: Places) -> list[Command]:
    """Train the conditioner on the alignments, the WaveNet on the spectra of the recordings; calibrate it for int8."""
    manifest = str(places.manifest)
    return [
        (
            "vocoder.train_conditioner", manifest, "--out", str(places.runs / "conditioner"),
            *places.config("vocoder"),
        ),
        ("vocoder.train", manifest, "--out", str(places.runs / "vocoder"), *places.config("vocoder")),
        ("vocoder.quantise", manifest, "--checkpoint", places.checkpoint("vocoder")),
    ]  # fmt: skip


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


def evaluate_own(places: Places) -> list[Command]:
    """Print the tables that need no teacher: durations and pitch against the alignments, the vocoder's."""
    commands: list[Command] = []
    for module in ("duration", "f0"):
        data, scores = str(places.work / "data" / module), places.scores(module)
        checkpoint = places.checkpoint(module)
        commands.append((f"{module}.evaluate", "--data", data, "--checkpoint", checkpoint, "--json", scores))
    checkpoint, scores = places.checkpoint("vocoder"), places.scores("vocoder")
    commands.append(("vocoder.evaluate", str(places.manifest), "--checkpoint", checkpoint, "--json", scores))
    return commands


def pack(places: Places) -> list[Command]:
    """Write the voice folder."""
    scores = sorted(str(path) for path in (places.work / "scores").glob("*.json"))
    return [("voice.pack", str(places.runs), "--out", str(places.voice), *(("--scores", *scores) if scores else ()))]


Stages = dict[str, Callable[[Places], list[Command]]]
_MODULES: Stages = {
    "features": features,
    "segmentation": segmentation,
    "align": align,
    "duration": prepare_and_train("duration"),
    "f0": prepare_and_train("f0"),
    "vocoder": vocoder,
}
STAGES: Stages = {
    "grapheme_to_phoneme": grapheme_to_phoneme,  # first: the corpus asks it for unknown words
    "homographs": homographs,  # before the corpus, whose labels it takes part in
    "corpus": corpus,
    **_MODULES,
    "evaluate": evaluate,
    "pack": pack,
}
OWN_STAGES: Stages = {
    "text": text_modules,
    "corpus": own_corpus,
    **_MODULES,
    "evaluate": evaluate_own,
    "pack": pack,
}


def stages_of(places: Places) -> Stages:
    """Return the stages from what is given to a voice."""
    return OWN_STAGES if places.recordings else STAGES


def run(
    places: Places,
    first: str | None = None,
    last: str | None = None,
    execute: Callable[[Command], None] | None = None,
) -> list[str]:
    """Do the stages that are not done yet and return their names; an error of a command ends the run.

    execute: what to do with each command; the default runs it as a process
    """
    (places.work / "scores").mkdir(parents=True, exist_ok=True)
    stages = stages_of(places)

    def doing(name: str) -> Callable[[], None]:
        def stage() -> None:
            for command in stages[name](places):
                print(f"{name}: python -m {RECIPES}.{shlex.join(command)}", flush=True)
                (execute or _execute)(command)

        return stage

    return run_stages({name: doing(name) for name in stages}, places.work / "done", first, last)


def _execute(command: Command) -> None:
    subprocess.run([sys.executable, "-m", f"{RECIPES}.{command[0]}", *command[1:]], check=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    names = list(dict.fromkeys([*STAGES, *OWN_STAGES]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "prompts", type=Path, nargs="?", help="a text file with a sentence a line, or LJSpeech's metadata.csv"
    )
    parser.add_argument("--homographs", type=Path, metavar="FILE", help="sentences, see recipes/homographs")
    parser.add_argument("--recordings", type=Path, metavar="DIR", help="recordings and their texts, for `prepare`")
    parser.add_argument("--text-from", default="heart", metavar="VOICE", help="with --recordings: who reads text")
    parser.add_argument("--configs", type=Path, metavar="DIR", help="MODULE.toml files in place of the recipes'")
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="corpus, checkpoints, markers")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the voice folder to write")
    parser.add_argument("--from", dest="first", choices=names, help="begin with this stage, even if it is done")
    parser.add_argument("--to", dest="last", choices=names, help="end after this stage")
    arguments = parser.parse_args(argv)
    if (arguments.prompts is None) == (arguments.recordings is None):
        parser.error("expected PROMPTS for the teacher to speak, or --recordings DIR")
    if arguments.prompts is not None and arguments.homographs is None:
        parser.error("PROMPTS need --homographs FILE")
    try:
        places = Places(
            prompts=arguments.prompts, homographs=arguments.homographs, recordings=arguments.recordings,
            text_from=arguments.text_from, configs=arguments.configs, work=arguments.work, voice=arguments.out,
        )  # fmt: skip
        run(places, arguments.first, arguments.last)
    except ValueError as error:
        parser.error(str(error))
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"run: a command ended with status {error.returncode}; mend it and start again") from None


if __name__ == "__main__":
    main()
