"""Corpora as the recipes see them: manifest rows with their phones, split the same way for every module."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepvoice.audio.mel import MelSpec
from deepvoice.recipes.common.faults import DataError
from deepvoice.recipes.common.features import feature_hash, read_manifest
from deepvoice.text.phones import phone_set_hash
from deepvoice.text.sequence import PhoneSequence, from_manifest

HELD_OUT = 300  # utterances at the end of the manifest: the first half for choices, the second for reported figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Manifest rows of one corpus."""

    train: tuple[dict[str, Any], ...]
    dev: tuple[dict[str, Any], ...]
    test: tuple[dict[str, Any], ...]


def split(manifest: Path, held_out: int = HELD_OUT) -> Split:
    """Split a manifest; a corpus of fewer than 10 times `held_out` rows gives up a tenth instead."""
    rows = read_manifest(manifest)
    held_out = min(held_out, len(rows) // 10)
    if held_out < 2:
        raise DataError(f"{manifest} has {len(rows)} utterances; at least 20 are needed to hold some out")
    cut, middle = len(rows) - held_out, len(rows) - held_out // 2
    return Split(train=tuple(rows[:cut]), dev=tuple(rows[cut:middle]), test=tuple(rows[middle:]))


def sequence_of(row: dict[str, Any]) -> PhoneSequence:
    """Return the phone sequence of a manifest row."""
    return from_manifest(row["phones"], row["word_of"])


def meta_of(spec: MelSpec) -> dict[str, str]:
    """Return the hashes that every checkpoint carries and packing compares."""
    return {"features": feature_hash(spec), "phones": phone_set_hash()}


def read_alignments(path: Path) -> dict[str, list[int]]:
    """Read alignments.jsonl: frames of 5 ms per symbol, by utterance id."""
    return {row["id"]: row["durations"] for row in read_manifest(path)}


__all__: Sequence[str] = ("HELD_OUT", "Split", "meta_of", "read_alignments", "sequence_of", "split")
