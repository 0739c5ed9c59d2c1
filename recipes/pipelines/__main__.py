"""Corpora on many cores or many machines.

    python -m deepvoice.recipes.pipelines synthesise PROMPTS... --out DIR [--teacher hibari|VOICE]
    python -m deepvoice.recipes.pipelines align MANIFEST [--voice VOICE | --checkpoint last.pt]
    python -m deepvoice.recipes.pipelines features MANIFEST
    python -m deepvoice.recipes.pipelines speak TEXTS --out DIR [--voice VOICE] [--format flac] [--timings json]

Each takes --workers N and --ray [ADDRESS]. Without --ray the workers are processes of this machine; with it they are
actors of the cluster at ADDRESS (or of RAY_ADDRESS, or of one that is started here), and the folders must be on a file
system that all its machines share. Stop at any time and start again; what is finished stays.
"""

import argparse
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from deepvoice.audio.mel import MelSpec
from deepvoice.machine import usable_cores
from deepvoice.recipes.common.command import reported
from deepvoice.recipes.common.features import FeatureCache, plan_shards, read_manifest, write_index
from deepvoice.recipes.common.shards import Shard, write_whole
from deepvoice.recipes.corpora.recorded import write_manifest
from deepvoice.recipes.corpora.teacher import TeacherOptions, finished
from deepvoice.recipes.corpora.transcripts import read_transcripts
from deepvoice.recipes.pipelines.durations import Durations, groups
from deepvoice.recipes.pipelines.executors import Executor, Local, OnRay
from deepvoice.recipes.pipelines.run import Result, run_stage
from deepvoice.recipes.pipelines.stage import Item, Row
from deepvoice.recipes.pipelines.stages import HIBARI, Align, Features, Speak, Synthesise, shard_items

_HERE = "here"  # --ray without an address


def executor(arguments: argparse.Namespace) -> Executor:
    """Return who does the work."""
    workers = usable_cores() if arguments.workers is None else arguments.workers
    if arguments.ray is None:
        return Local(workers)
    address = os.environ.get("RAY_ADDRESS") if arguments.ray == _HERE else arguments.ray
    return OnRay(workers, address)


def report(result: Result, names: Sequence[str], what: str) -> int:
    """Print what became of the items; returns the exit status, 1 where something failed."""
    done = sum(row is not None for row in result.rows)
    print(f"{what}: {done} of {len(result.rows)} done, {result.done_before} of them before")
    for number, error in list(result.errors.items())[:20]:
        print(f"  {names[number]}: {error}")
    return 1 if result.errors else 0


def synthesise(arguments: argparse.Namespace) -> int:
    """Speak prompts; writes manifest.jsonl in the order of the prompts, and left_out.txt."""
    prompts: list[Item] = []
    for path in arguments.prompts:
        prefix = f"{path.stem}-" if len(arguments.prompts) > 1 else ""
        for row in read_transcripts(path):
            prompts.append({"id": prefix + row.id.replace("/", "_"), "text": finished(row.text)})
    options = TeacherOptions(varied=arguments.varied, seed=arguments.seed)
    stage = Synthesise(teacher=arguments.teacher, g2p=arguments.g2p, homographs=arguments.homographs, options=options)
    result = run_stage(stage, prompts, arguments.out, executor(arguments))
    rows = [row for made in result.rows if made is not None for row in made["rows"]]
    write_manifest(rows, arguments.out / "manifest.jsonl")
    left_out = [line for made in result.rows if made is not None for line in made["left_out"]]
    left_out += [f"{prompts[number]['id']}: {error}" for number, error in result.errors.items()]
    write_whole(arguments.out / "left_out.txt", "".join(line + "\n" for line in left_out).encode())
    print(f"{len(rows)} utterances -> {arguments.out / 'manifest.jsonl'}; {len(left_out)} left out")
    return report(result, [item["id"] for item in prompts], "prompts")


def align(arguments: argparse.Namespace) -> int:
    """Align a manifest: timings.jsonl of words and phones; with a checkpoint alignments.jsonl, as training reads it."""
    rows = read_manifest(arguments.manifest)
    if arguments.checkpoint is not None:
        return _durations(arguments, rows)
    root = arguments.manifest.parent
    stage = Align(root=root.resolve(), model=arguments.voice)
    items: list[Item] = [{"audio": row["audio"], "text": row["text"]} for row in rows]
    result = run_stage(stage, items, root, executor(arguments))
    pairs = zip(rows, result.rows, strict=True)
    lines = [{"id": row["id"], **{k: v for k, v in made.items() if k != "files"}} for row, made in pairs if made]
    write_manifest(lines, root / "timings.jsonl")
    print(f"{len(lines)} utterances -> {root / 'timings.jsonl'}, {sum(line['accepted'] for line in lines)} accepted")
    return report(result, [row["id"] for row in rows], "recordings")


def _durations(arguments: argparse.Namespace, rows: list[Row]) -> int:
    root = arguments.manifest.parent
    FeatureCache(root / "features", MelSpec())  # what is missing is said at once
    stage = Durations(manifest=arguments.manifest.resolve(), checkpoint=arguments.checkpoint.resolve())
    items = groups(rows)
    result = run_stage(stage, items, root, executor(arguments))
    found = {name: frames for made in result.rows if made for name, frames in made["durations"].items()}
    lines = [{"id": row["id"], "durations": found[row["id"]]} for row in rows if row["id"] in found]
    write_manifest(lines, root / "alignments.jsonl")
    print(f"{len(lines)} utterances -> {root / 'alignments.jsonl'}; {len(rows) - len(lines)} too short for their text")
    return report(result, [f"utterances from {item['rows'][0]['id']}" for item in items], "groups")


def features(arguments: argparse.Namespace) -> int:
    """Compute the features of a manifest in shards, and their index."""
    root = arguments.manifest.parent
    out = root / "features"
    plans = plan_shards(arguments.manifest, out, MelSpec(), arguments.shard_seconds)
    result = run_stage(Features(root=root.resolve()), shard_items(plans), out, executor(arguments))
    status = report(result, [f"shard {plan.number}" for plan in plans], "shards")
    shards = [Shard.from_json(row["shard"]) for row in result.rows if row is not None]
    if len(shards) == len(plans):
        write_index(out, shards, MelSpec())
    return status


def speak(arguments: argparse.Namespace) -> int:
    """Speak the rows of a batch into files named by their content; writes results.jsonl in the order of the rows."""
    from deepvoice.batch import read_rows

    rows = [row for row in read_rows(arguments.texts.read_text(encoding="utf-8"), arguments.texts.suffix)]
    bad = [f"line {row.line}: {row.error}" for row in rows if row.error is not None]
    good = [row for row in rows if row.error is None]
    items: list[Item] = [{"text": row.text, "options": dict(row.options)} for row in good]
    stage = Speak(voice=arguments.voice, file_format=arguments.format, timings=arguments.timings)
    result = run_stage(stage, items, arguments.out, executor(arguments))
    lines = []
    for number, (row, made) in enumerate(zip(good, result.rows, strict=True)):
        found = {"error": result.errors[number]} if made is None else {**made, "files": list(made["files"])}
        lines.append({"line": row.line, "text": row.text, **found})
    write_whole(arguments.out / "results.jsonl", "".join(json.dumps(line) + "\n" for line in lines).encode())
    print("\n".join(bad), end="\n" if bad else "")
    return max(report(result, [f"line {row.line}" for row in good], "texts"), int(bool(bad)))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="pipelines", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(function: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(function.__name__, help=text, description=function.__doc__)
        added.add_argument("--workers", type=int, metavar="N", help="processes or actors (default: one a core)")
        added.add_argument("--ray", nargs="?", const=_HERE, metavar="ADDRESS", help="work on a Ray cluster")
        added.set_defaults(run=function)
        return added

    added = command(synthesise, "speak prompts into a corpus")
    added.add_argument("prompts", type=Path, nargs="+", help="files of text, as recipes/corpora reads them")
    added.add_argument("--out", type=Path, required=True, metavar="DIR", help="corpus folder")
    added.add_argument("--teacher", default=HIBARI, metavar="NAME", help="hibari (default), or a voice of ours")
    added.add_argument("--g2p", type=Path, metavar="FILE", help="last.pt of the g2p run, for unknown words")
    added.add_argument("--homographs", type=Path, metavar="FILE", help="last.pt of the homographs run")
    added.add_argument("--varied", type=float, default=0.15, help="share of utterances at another speed")
    added.add_argument("--seed", type=int, default=0)
    added = command(align, "find words and phones in recordings")
    added.add_argument("manifest", type=Path)
    added.add_argument("--voice", metavar="NAME|DIR", help="voice whose aligner is used (default: the default voice)")
    added.add_argument("--checkpoint", type=Path, metavar="FILE", help="last.pt of the segmentation recipe")
    added = command(features, "compute the features of a corpus")
    added.add_argument("manifest", type=Path)
    added.add_argument("--shard-seconds", type=float, default=1800.0, metavar="S", help="audio in a shard")
    added = command(speak, "speak texts into files")
    added.add_argument("texts", type=Path, help=".txt, .csv, .tsv or .jsonl, as `deepvoice batch` reads them")
    added.add_argument("--out", type=Path, required=True, metavar="DIR")
    added.add_argument("--voice", metavar="NAME|DIR")
    added.add_argument("--format", default="wav")
    added.add_argument("--timings", metavar="FORMAT", help="json, srt, vtt, TextGrid ...")
    arguments = parser.parse_args(argv)
    return reported(lambda: int(arguments.run(arguments)))


if __name__ == "__main__":
    raise SystemExit(main())
