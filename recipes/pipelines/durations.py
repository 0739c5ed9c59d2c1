"""The stage that gives training its alignments: frames of every symbol, by a checkpoint of the segmentation recipe."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from deepvoice import __version__
from deepvoice.config import load_toml, to_dict
from deepvoice.recipes.common.shards import file_hash
from deepvoice.recipes.pipelines.stage import Item, Row, Worker, hash_of
from deepvoice.recipes.segmentation.settings import AlignmentSettings, Settings, default_config

TOGETHER = 64  # utterances of an item: the network reads them in batches, whose padding is part of the result


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Groups of manifest rows ({rows: [{id, phones}]}), with features beside the manifest, to frames per symbol.

    config: settings of the recipe, its own by default
    """

    manifest: Path
    checkpoint: Path
    config: Path | None = None
    name: str = "durations"

    def _settings(self) -> AlignmentSettings:
        return load_toml(Settings, self.config or default_config()).alignment

    def key(self, item: Item) -> str:
        """Return the content key of a group."""
        files = [_known_hash(self.checkpoint), _known_hash(self.manifest.parent / "features" / "index.json")]
        return hash_of(__version__, files, to_dict(self._settings()), item["rows"])

    def open(self) -> Worker:
        """Load the network and open the features."""
        from deepvoice.audio.mel import MelSpec
        from deepvoice.recipes.common.data import Split
        from deepvoice.recipes.common.features import FeatureCache
        from deepvoice.recipes.segmentation.align import align
        from deepvoice.recipes.segmentation.corpus import Corpus
        from deepvoice.recipes.segmentation.train import load_model

        model, settings = load_model(self.checkpoint), self._settings()
        cache, no_rows = FeatureCache(self.manifest.parent / "features", MelSpec()), Split(train=(), dev=(), test=())
        corpus = Corpus(manifest=self.manifest, cache=cache, rows=no_rows)

        def work(item: Item, key: str, out: Path) -> Row:
            durations = align(model, corpus, corpus.utterances(item["rows"]), settings)
            return {"durations": {name: durations_P.tolist() for name, durations_P in durations.items()}}

        return work


def groups(rows: Sequence[dict[str, Any]]) -> list[Item]:
    """Return the items of the stage for a manifest, in its order."""
    plain = [{"id": row["id"], "phones": row["phones"]} for row in rows]
    return [{"rows": plain[start : start + TOGETHER]} for start in range(0, len(plain), TOGETHER)]


@lru_cache(maxsize=8)
def _known_hash(path: Path) -> str:
    return file_hash(path)
