"""The teacher's own durations and pitch, for scoring only: nothing that trains may open what this writes.

The teacher's graph holds the duration of every phoneme character (frames of 25 ms) in an internal tensor and has the
pitch as an output (frames of 12.5 ms). Both are merged to our phones and written to `truth/truth.jsonl` beside the
manifest, one row an utterance: {"id", "durations_ms": one per symbol, "f0_hz": one per 12.5 ms, 0 where the teacher has
none, "heard_db": one per 12.5 ms, how loud the pitch is heard there relative to the loudest of the sentence}.

    python -m deepvoice.recipes.corpora.truth corpus/manifest.jsonl [--training-rows 300]
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.recipes.corpora.misaki import to_misaki
from deepvoice.text.phones import SILENCES

FRAME_MS = 25.0  # one duration frame of the teacher
F0_FRAME_MS = 12.5
DURATIONS = "/Clip_output_0"  # internal tensor of hibari-tts 0.2: frames of each id, after rounding and clipping
VOICED_HZ = 40.0  # the teacher's pitch output is near zero where it is unvoiced
HEARD_BINS = slice(2, 50)  # 40 to 1000 Hz of the teacher's spectrum (20 Hz a bin): where voicing is heard
UNHEARD_DB = -60.0  # what frames without pitch are given
TRUTH_FILE = "truth/truth.jsonl"


def merge_durations(frames: Sequence[float], owners: Sequence[int], symbols: Sequence[str]) -> NDArray[np.float64]:
    """Merge the durations of the teacher's characters into durations of our symbols.

    frames: 25 ms frames of every id: the opening pad, one per character, the closing pad
    owners: index of the symbol that each character renders, -1 for a space between words
    symbols: the sentence
    A space next to a pause belongs to the pause; any other space is split evenly between its neighbours.
    Returns float64 [len(symbols)], milliseconds.
    """
    if len(frames) != len(owners) + 2:
        raise ValueError(f"{len(frames)} durations for {len(owners)} characters; expected two more (the pads)")
    merged = np.zeros(len(symbols))
    merged[0] += frames[0]
    merged[-1] += frames[-1]
    for i, (owner, duration) in enumerate(zip(owners, frames[1:-1], strict=True)):
        if owner >= 0:
            merged[owner] += duration
            continue
        left, right = owners[i - 1], owners[i + 1]
        pauses = [side for side in (left, right) if symbols[side] in SILENCES]
        for side in pauses[:1] or (left, right):
            merged[side] += duration / (1 if pauses else 2)
    return merged * FRAME_MS


def heard_decibels(f0_F: NDArray[np.float32], harmonics_BF: NDArray[np.float32]) -> NDArray[np.float64]:
    """Tell how loud the teacher's pitch is heard in every frame.

    f0_F: Hz; harmonics_BF: log magnitude of the harmonic part of its spectrum, [601, F]
    The teacher has a pitch in a quarter of all frames whose harmonic part is silent (devoiced phones, closures); no
    listener and no tracker can tell a pitch there.
    Returns float64 [F], decibels relative to the 95th percentile of the sentence, at least UNHEARD_DB.
    """
    power_F = 10.0 * np.log10(np.exp(2.0 * harmonics_BF[HEARD_BINS].astype(np.float64)).sum(axis=0) + 1e-12)
    relative_F = np.maximum(power_F - np.quantile(power_F, 0.95), UNHEARD_DB)
    return np.where(f0_F > VOICED_HZ, relative_F, UNHEARD_DB)


class TruthReader:
    """Runs the teacher's graph with its duration tensor exposed as an output."""

    def __init__(self) -> None:
        import hibari.tts
        import onnx
        import onnxruntime

        graph = onnx.load(Path(hibari.tts.ASSETS) / "hibari.onnx")
        if not any(DURATIONS in node.output for node in graph.graph.node):
            raise ValueError(f"this hibari-tts has no tensor {DURATIONS}; expected release 0.2")
        graph.graph.output.append(onnx.ValueInfoProto(name=DURATIONS))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self.vocabulary: dict[str, int] = hibari.tts.Hibari().vocab

    def row(self, utterance: dict[str, Any]) -> dict[str, Any]:
        """Return the truth row of a manifest row."""
        symbols = utterance["phones"].split()
        text, owners = to_misaki(symbols, utterance["word_of"])
        ids = [0, *(self.vocabulary[character] for character in text), 0]
        feeds = {"ids": np.array([ids], np.int64), "speed": np.array([utterance["speed"]], np.float32)}
        frames, f0, harmonics = self.session.run([DURATIONS, "f0", "lh"], feeds)
        f0_hz = np.where(f0.ravel() > VOICED_HZ, f0.ravel(), 0.0)
        return {
            "id": utterance["id"],
            "durations_ms": merge_durations(frames.ravel().tolist(), owners, symbols).tolist(),
            "f0_hz": [round(float(hz), 1) for hz in f0_hz],
            "heard_db": [round(float(db), 1) for db in heard_decibels(f0.ravel(), harmonics[0])],
        }


def read_truth(manifest: Path) -> dict[str, dict[str, Any]]:
    """Read the truth rows beside a manifest by id; an empty dict where there are none."""
    path = manifest.parent / TRUTH_FILE
    if not path.exists():
        return {}
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {row["id"]: row for row in rows}


def _chosen(manifest: Path, training_rows: int) -> Iterator[dict[str, Any]]:
    """Yield the held-out rows (the last 300) and the first `training_rows`."""
    lines = manifest.read_text(encoding="utf-8").splitlines()
    for line in lines[-300:] + lines[: max(0, min(training_rows, len(lines) - 300))]:
        yield json.loads(line)


def main() -> None:
    """Write truth/truth.jsonl beside a manifest."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--training-rows", type=int, default=300, help="training utterances beside the held-out ones")
    arguments = parser.parse_args()
    path = arguments.manifest.parent / TRUTH_FILE
    path.parent.mkdir(exist_ok=True)
    reader = TruthReader()
    rows = [json.dumps(reader.row(row)) for row in _chosen(arguments.manifest, arguments.training_rows)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(f"{len(rows)} utterances -> {path}")


if __name__ == "__main__":
    main()
