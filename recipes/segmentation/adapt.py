"""Adapt the aligner to a corpus: what `deepvoice align DIR --adapt OUT` runs.

The recordings are checked and written as a corpus (as `deepvoice prepare` does, but what does not fit its text stays),
aligned by the aligner that is there, and the network goes on learning from that alignment: frames and boundaries, as in
the last stage of `train`. Then right and wrong texts are tried, and the confidences fitted to what tells them apart
with the new network. OUT becomes a voice folder, the given voice with another aligner, for `deepvoice align
--model OUT`; OUT/work keeps the corpus and the run, so that a second call goes on where the first was stopped.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from deepvoice.alignment import Aligner
from deepvoice.alignment.confidence import CONFIDENCE, ConfidenceRule
from deepvoice.audio.mel import MelSpec
from deepvoice.config import load_toml, to_dict
from deepvoice.errors import ConfigError
from deepvoice.recipes.common.checkpoint import load_checkpoint, save_checkpoint
from deepvoice.recipes.common.data import read_alignments
from deepvoice.recipes.common.features import build_cache, read_manifest
from deepvoice.recipes.common.options import DEFAULT
from deepvoice.recipes.recordings.prepare import LEAST_ROWS, prepare
from deepvoice.recipes.segmentation.corpus import open_corpus
from deepvoice.recipes.segmentation.settings import Settings, default_config
from deepvoice.recipes.segmentation.train import Stage, align_by_frames, loss_of_frames, train_stage
from deepvoice.recipes.segmentation.trials import LEAST_WORDS, fitted, run_trials
from deepvoice.recipes.voice.unpack import checkpoint_of, read, weights_of
from deepvoice.voice import DEFAULT_VOICE, VoiceFolder
from deepvoice.voice_writer import write_voice

STEPS, RATE = 400, 3e-4  # of the adaptation, from weights that are trained already
MOST_TRIED = 400  # recordings with which the confidences are fitted
LEAST_TRIED = 50  # right and wrong texts, below which the confidences of the network before are kept


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
    source, settings = read(voice or DEFAULT_VOICE), load_toml(Settings, default_config())
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
    training = {**source.manifest.training, "aligner": f"adapted to {len(utterances)} recordings"}
    _write(out, source, tensors, training)
    rule = suiting_confidences(Aligner.load(out), manifest)
    if rule is not None:
        _write(out, source, tensors, {**training, CONFIDENCE: to_dict(rule)})


def suiting_confidences(
    aligner: Aligner, manifest: Path, most: int = MOST_TRIED, least: int = LEAST_TRIED
) -> ConfidenceRule | None:
    """Fit the confidences to an aligner and a corpus; None where it has too few recordings of several words.

    A recording that already looks as if it said another text is not used: its text may be wrong.
    """
    rows = read_manifest(manifest)
    rows = rows[:: -(-len(rows) // most)]
    trials, rule = run_trials(aligner, rows, manifest.parent), aligner.settings.confidence
    ids = [name for name, found in trials.right.items() if found.confidence >= rule.utterance_limit]
    right = [name for name in ids if len(trials.right[name].text.split()) >= LEAST_WORDS]
    wrong = [name for name in ids if trials.swapped.get(name)]
    replaced = [name for name in ids if name in trials.replaced]
    return fitted(trials, ids, rule) if min(map(len, (right, wrong, replaced))) >= least else None


def _write(out: Path, source: VoiceFolder, tensors: Mapping[str, Any], training: Mapping[str, Any]) -> None:
    manifest = source.manifest
    write_voice(
        out, name=manifest.name, features=manifest.features, module_configs=source.configs, tensors=tensors,
        licence=manifest.licence, provenance=manifest.provenance, synthesis=manifest.synthesis, training=training,
    )  # fmt: skip
