"""Align a corpus: frames of 5 ms for every symbol of every utterance.

    python -m deepvoice.recipes.segmentation.align MANIFEST --checkpoint DIR/last.pt [--out FILE]

Writes alignments.jsonl beside the manifest: {"id", "durations": frames per symbol}; their sum is the number of frames,
phones have at least one, pauses and ends may have none. An utterance too short for its text is left out and named.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from deepvoice.alignment.edges import settle_edges
from deepvoice.config import load_toml
from deepvoice.models.segmentation import Segmentation
from deepvoice.recipes.common.shards import write_whole
from deepvoice.recipes.segmentation.corpus import Corpus, IntArray, Utterance, open_corpus
from deepvoice.recipes.segmentation.decode import durations_from_frames
from deepvoice.recipes.segmentation.gaps import share_gaps
from deepvoice.recipes.segmentation.model import load_model
from deepvoice.recipes.segmentation.settings import AlignmentSettings, Settings, default_config
from deepvoice.text.phones import NUM_SILENCES


def align(
    model: Segmentation, corpus: Corpus, utterances: Sequence[Utterance], settings: AlignmentSettings
) -> dict[str, IntArray]:
    """Return the frames of every symbol by utterance id."""
    durations = durations_from_frames(
        model, corpus.cache, utterances, settings.pair_weight, settings.passes, settings.least_frames
    )
    settled = {}
    for utterance in utterances:
        silent_P, energy_F = utterance.bases_P < NUM_SILENCES, corpus.cache[utterance.id].energy_F
        settled_P = settle_edges(durations[utterance.id], silent_P, energy_F, settings.edges)
        settled[utterance.id] = share_gaps(settled_P, utterance.bases_P, utterance.word_of, energy_F, settings.gaps)
    return settled


def write_alignments(durations: dict[str, IntArray], order: Sequence[str], out: Path) -> None:
    """Write alignments in the order of the manifest, atomically."""
    rows = [json.dumps({"id": name, "durations": durations[name].tolist()}) for name in order if name in durations]
    write_whole(out, ("\n".join(rows) + "\n").encode())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Align a corpus with a trained segmentation network.")
    parser.add_argument("manifest", type=Path, help="corpus manifest, with features/ beside it")
    parser.add_argument("--checkpoint", type=Path, required=True, help="last.pt of the training run")
    parser.add_argument("--out", type=Path, default=None, help="default: alignments.jsonl beside the manifest")
    parser.add_argument("--config", type=Path, default=None, metavar="FILE", help="settings (default: the recipe's)")
    arguments = parser.parse_args(argv)
    settings = load_toml(Settings, arguments.config or default_config())
    corpus = open_corpus(arguments.manifest)
    rows = [*corpus.rows.train, *corpus.rows.dev, *corpus.rows.test]
    utterances = corpus.utterances(rows)
    durations = align(load_model(arguments.checkpoint), corpus, utterances, settings.alignment)
    out = arguments.out or arguments.manifest.parent / "alignments.jsonl"
    write_alignments(durations, [row["id"] for row in rows], out)
    left_out = [row["id"] for row in rows if row["id"] not in durations]
    print(f"{len(durations)} utterances -> {out}")
    if left_out:
        print(f"left out (too short for their text): {len(left_out)}: {' '.join(left_out[:10])}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
