"""Adapt the aligner to a corpus: what `deepvoice align DIR --adapt OUT` runs.

The recordings are checked and written as a corpus (as `deepvoice prepare` does, but what does not fit its text stays),
aligned by the aligner that is there, and the network goes on learning from that alignment: frames and boundaries, as in
the last stage of `train`. OUT becomes a voice folder, the given voice with another aligner, for `deepvoice align
--model OUT`; OUT/work keeps the corpus and the run, so that a second call goes on where the first was stopped.
"""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

from deepvoice.audio.mel import MelSpec
from deepvoice.config import load_toml
from deepvoice.errors import ConfigError
from deepvoice.recipes.common.checkpoint import load_checkpoint, save_checkpoint
from deepvoice.recipes.common.data import read_alignments
from deepvoice.recipes.common.features import build_cache
from deepvoice.recipes.common.options import DEFAULT
from deepvoice.recipes.recordings.prepare import LEAST_ROWS, prepare
from deepvoice.recipes.segmentation.corpus import open_corpus
from deepvoice.recipes.segmentation.settings import Settings, default_config
from deepvoice.recipes.segmentation.train import Stage, align_by_frames, loss_of_frames, train_stage
from deepvoice.recipes.voice.unpack import checkpoint_of, read, weights_of
from deepvoice.voice_writer import write_voice

STEPS, RATE = 400, 3e-4  # of the adaptation, from weights that are trained already


def adapt(
    folder: Path,
    out: Path,
    *,
    table: Path | None = None,
    voice: str | Path | None = None,
    minutes: float | None = None,
    steps: int = STEPS,
    jobs: int = 1,
    tell: Callable[[int, int], None] | None = None,
) -> None:
    """Train the aligner of a voice on the recordings of a folder and write a voice folder that has it.

    minutes: of training at most; the folder then has what was learned until then
    tell(done, all): called after each recording that is checked
    Raises ConfigError for a folder that does not hold at least LEAST_ROWS recordings that can be used.
    """
    work = out / "work"
    prepared = prepare(folder, work / "corpus", table=table, listen=False, jobs=jobs, tell=tell)
    if len(prepared.kept) < LEAST_ROWS:
        raise ConfigError(
            f"{folder} has {len(prepared.kept)} recordings that can be used; adapting needs {LEAST_ROWS} or more: "
            f"see {work / 'corpus' / 'refused.tsv'}"
        )
    manifest = work / "corpus" / "manifest.jsonl"
    build_cache(manifest, work / "corpus" / "features", MelSpec())
    source, settings = read(voice), load_toml(Settings, default_config())
    settings = dataclasses.replace(settings, model=source.configs["segmentation"])
    start, aligned = work / "start.pt", work / "alignments.jsonl"
    if not start.exists():
        save_checkpoint(checkpoint_of(source, "segmentation", weights_of(source)["segmentation"]), start)
    corpus = open_corpus(manifest)
    utterances = corpus.utterances(corpus.rows.train)
    if not aligned.exists():
        align_by_frames(corpus, utterances, start, settings.alignment, aligned)
    stage = Stage(
        folder=work / "run", loss_fn=loss_of_frames, steps=steps, rate=RATE, start=start,
        alignments=read_alignments(aligned),
    )  # fmt: skip
    train_stage(corpus, utterances, settings, stage, dataclasses.replace(DEFAULT, minutes=minutes or math.inf))
    learned = load_checkpoint(work / "run" / "last.pt")["ema"]
    tensors = {**source.tensors, "segmentation": {name: value.float().numpy() for name, value in learned.items()}}
    manifest_of = source.manifest
    write_voice(
        out, name=manifest_of.name, features=manifest_of.features, module_configs=source.configs, tensors=tensors,
        licence=manifest_of.licence, provenance=manifest_of.provenance, synthesis=manifest_of.synthesis,
        training={**manifest_of.training, "aligner": f"adapted to {len(utterances)} recordings"},
    )  # fmt: skip
