"""What the aligner makes of recordings, beside PocketSphinx, and pictures of those that fit worst."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.alignment import Aligner, Alignment
from deepvoice.recipes.common.progress import progress
from deepvoice.recipes.segmentation.corpus import base_ids
from deepvoice.recipes.segmentation.evaluate import KINDS, kinds_of
from deepvoice.recipes.segmentation.trials import sound_of
from deepvoice.text.phones import is_silence

LIMITS_MS = (10, 20, 25, 50)


def agreement(alignments: Mapping[str, Alignment], rows: Sequence[dict[str, Any]], folder: Path) -> Iterator[str]:
    """Align what is accepted with PocketSphinx too, by the same phones, and yield how far the boundaries agree."""
    from deepvoice.recipes.segmentation.pocketsphinx_baseline import PocketSphinxAligner

    other, errors, kinds, tried = PocketSphinxAligner(), [], [], 0
    for row in progress(rows, "pocketsphinx"):
        ours = alignments.get(row["id"])
        if ours is None or not ours.accepted:
            continue
        tried += 1
        symbols = [p.symbol for p in ours.phones]
        theirs = other(folder / row["audio"], symbols, [p.word for p in ours.phones])
        if theirs is not None:
            errors.append(1000 * np.array([p.end for p in ours.phones[:-1]]) - np.cumsum(theirs)[:-1])
            kinds.append(kinds_of(base_ids(symbols)))
    error_N, kind_N = np.concatenate(errors), np.concatenate(kinds)
    offset = float(np.median(error_N[kind_N == KINDS[0]]))
    yield f"PocketSphinx aligned {len(errors)} of {tried} accepted recordings; percent within, less {offset:+.1f} ms:"
    for kind in KINDS:
        size_N = np.abs(error_N[kind_N == kind] - offset)
        shares = "  ".join(f"<={limit} {100 * np.mean(size_N <= limit):5.1f}" for limit in LIMITS_MS)
        yield f"  {kind:24} {shares}  median {np.median(size_N):5.1f}  ({len(size_N)})"


def write_worst(
    aligner: Aligner,
    alignments: Mapping[str, Alignment],
    rows: Sequence[dict[str, Any]],
    folder: Path,
    out: Path,
    count: int = 10,
) -> None:
    """Draw the recordings whose own text fits worst, and list them."""
    out.mkdir(parents=True, exist_ok=True)
    by_id = {row["id"]: row for row in rows}
    ordered = sorted(alignments, key=lambda name: (alignments[name].accepted, alignments[name].confidence))[:count]
    lines = ["name\tconfidence\ttext\treasons"]
    for number, name in enumerate(ordered, 1):
        found = alignments[name]
        mel_FM = sound_of(folder / by_id[name]["audio"]).mel_FM
        draw(found, mel_FM, f"{name}: {found.text[:110]}", out / f"worst-{number:02d}.png")
        lines.append(f"{name}\t{found.confidence:.3f}\t{found.text}\t{'; '.join(found.reasons)}")
    (out / "worst.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def draw(found: Alignment, mel_FM: NDArray[np.float32], title: str, path: Path) -> None:
    """Write a picture: the spectrum with phones and words, words that were not read in red, and the goodness below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(min(40.0, max(8.0, 3.0 * found.seconds)), 5.0), layout="constrained")
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    bands = mel_FM.shape[1]
    axes.imshow(mel_FM.T, origin="lower", aspect="auto", cmap="magma", extent=(0.0, found.seconds, 0.0, bands))
    for phone in found.phones:
        axes.axvline(phone.start, color="white", linewidth=0.4)
        if not is_silence(phone.symbol):
            axes.text((phone.start + phone.end) / 2, bands + 1, phone.symbol, ha="center", fontsize=6)
    for word in found.words:
        colour = "white" if word.read else "red"
        axes.text(word.start, 2, word.text, color=colour, fontsize=8, rotation=45)
        axes.axvline(word.start, color=colour, linewidth=0.9)
    starts, goodness = [p.start for p in found.phones], [p.goodness for p in found.phones]
    below.step([*starts, found.seconds], [*goodness, goodness[-1]], where="post", linewidth=0.9)
    below.set_ylim(-6, 0.2)
    below.set_ylabel("goodness")
    below.set_xlabel("seconds")
    axes.set_title(title, fontsize=9, pad=16)
    figure.savefig(path, dpi=80)
