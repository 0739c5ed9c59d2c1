"""Predict the spectra of a corpus with a trained conditioner, so that the WaveNet can learn to speak from them.

python -m deepvoice.recipes.vocoder.spectra MANIFEST --conditioner RUN_DIR/last.pt --out DIR
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deepvoice.config import from_dict
from deepvoice.configs import VocoderConfig
from deepvoice.models.conditioner import Conditioner
from deepvoice.networks.conditioner import MEL_MEAN, MEL_SPREAD
from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.common.data import meta_of, read_alignments
from deepvoice.recipes.common.features import FeatureCache, read_manifest
from deepvoice.recipes.common.progress import progress
from deepvoice.recipes.vocoder.train_conditioner import prepare


class PredictedSpectra(Mapping[str, Any]):
    """Memory-mapped predicted log-mel spectra, float16 [F, bands], by utterance id."""

    def __init__(self, folder: Path, bands: int) -> None:
        """Open a folder that `predict_corpus` wrote."""
        if not (folder / "index.json").exists():
            raise FileNotFoundError(
                f"{folder} has no spectra; run python -m deepvoice.recipes.vocoder.spectra MANIFEST"
            )
        self._place: dict[str, list[int]] = json.loads((folder / "index.json").read_text())
        self._mel = np.memmap(folder / "mel.bin", np.float16, "r").reshape(-1, bands)

    def __getitem__(self, utterance: str) -> Any:
        start, frames = self._place[utterance]
        return self._mel[start : start + frames]

    def __iter__(self) -> Iterator[str]:
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)


def load_conditioner(path: Path) -> tuple[Conditioner, VocoderConfig]:
    """Load the averaged weights of a conditioner's checkpoint."""
    state = load_checkpoint(path)
    config = from_dict(VocoderConfig, state["config"])
    load_checkpoint(path, meta=meta_of(config.mel))
    model = Conditioner(config.conditioner, config.mel.bands)
    model.load_state_dict(state["ema"])
    return model.eval(), config


def predict_corpus(manifest: Path, checkpoint: Path, alignments: Path, out: Path) -> None:
    """Predict the spectrum of every aligned utterance from its true durations and F0."""
    model, config = load_conditioner(checkpoint)
    cache = FeatureCache(manifest.parent / "features", config.mel)
    aligned = read_alignments(alignments)
    rows = [row for row in read_manifest(manifest) if row["id"] in aligned and row["id"] in cache]
    out.mkdir(parents=True, exist_ok=True)
    index, start = {}, 0
    with (out / "mel.part").open("wb") as handle, torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for row in progress(rows, "spectra"):
            sentence = prepare(row, cache, aligned[row["id"]])
            mel_FM = model(
                torch.from_numpy(sentence.ids_P)[None], torch.from_numpy(sentence.context_PX)[None],
                torch.tensor([len(sentence.ids_P)]), torch.from_numpy(sentence.phone_F)[None],
                torch.from_numpy(sentence.frame_FX)[None],
            )[0].float().numpy()  # fmt: skip
            handle.write((mel_FM * MEL_SPREAD + MEL_MEAN).astype(np.float16).tobytes())
            index[row["id"]] = [start, len(mel_FM)]
            start += len(mel_FM)
    (out / "mel.part").replace(out / "mel.bin")
    (out / "index.json").write_text(json.dumps(index))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--conditioner", type=Path, required=True)
    parser.add_argument("--alignments", type=Path, help="default: alignments.jsonl beside the manifest")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    alignments = arguments.alignments or arguments.manifest.parent / "alignments.jsonl"
    predict_corpus(arguments.manifest, arguments.conditioner, alignments, arguments.out)


if __name__ == "__main__":
    main()
