"""Recordings with transcripts -> a corpus: 24 kHz audio with even margins, phones, a report of what was left out."""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from deepvoice.errors import ConfigError
from deepvoice.recipes.common.progress import progress
from deepvoice.recipes.common.shards import write_whole
from deepvoice.recipes.corpora.labels import front_end, try_label
from deepvoice.recipes.corpora.recordings import SAMPLE_RATE, FloatArray, TrimRule, read_audio, to_rate, with_margins
from deepvoice.recipes.corpora.transcripts import Transcript, read_transcripts
from deepvoice.text.frontend import FrontEnd

SHORTEST, LONGEST = 0.25, 30.0  # seconds of sound that one utterance may have


@dataclass(slots=True)
class ImportReport:
    """What became of every transcript."""

    kept: int = 0
    seconds: float = 0.0
    rates: Counter[int] = field(default_factory=Counter)  # sample rates found
    left_out: dict[str, list[str]] = field(default_factory=dict)  # reason -> ids
    trimmed: float = 0.0  # seconds of silence cut from edges

    def leave_out(self, name: str, reason: str) -> None:
        """Record an utterance that is not used."""
        self.left_out.setdefault(reason, []).append(name)

    def lines(self) -> Iterator[str]:
        """Describe the import for a reader."""
        yield f"{self.kept} utterances, {self.seconds / 3600:.3f} h; {self.trimmed:.1f} s of silent edges cut"
        for rate, count in sorted(self.rates.items()):
            yield f"  {count} recordings at {rate} Hz" + (
                "" if rate == SAMPLE_RATE else f", resampled to {SAMPLE_RATE} Hz"
            )
        for reason, names in sorted(self.left_out.items(), key=lambda item: -len(item[1])):
            yield f"  left out {len(names)}: {reason} ({', '.join(names[:5])}{', ...' if len(names) > 5 else ''})"


def usable_audio(path: Path, rule: TrimRule, report: ImportReport) -> FloatArray | str:
    """Return the trimmed recording at the corpus rate, or why it cannot be used."""
    samples, rate = read_audio(path)
    report.rates[rate] += 1
    if not np.isfinite(samples).all():
        return "samples that are not numbers"
    resampled = to_rate(samples, rate)
    cut = with_margins(resampled, rule)
    if not len(cut):
        return "silent recording"
    seconds = len(cut) / SAMPLE_RATE
    if seconds < SHORTEST or seconds > LONGEST:
        return f"shorter than {SHORTEST} s or longer than {LONGEST:.0f} s"
    report.trimmed += max(0, len(resampled) - len(cut)) / SAMPLE_RATE
    return np.clip(cut, -1.0, 1.0)


def import_corpus(
    transcripts: Sequence[Transcript],
    find: Callable[[Transcript], Path],
    speaker: FrontEnd,
    out: Path,
    rule: TrimRule | None = None,
) -> ImportReport:
    """Write a corpus: wav/*.flac and manifest.jsonl, the manifest last and atomically.

    find(transcript) gives the recording; a missing or unreadable one raises ValueError naming it
    """
    (out / "wav").mkdir(parents=True, exist_ok=True)
    report, rows = ImportReport(), []
    for transcript in progress(transcripts, "recordings"):
        label = try_label(speaker, transcript.text)
        if isinstance(label, str):
            report.leave_out(transcript.id, "text: " + label)
            continue
        audio = usable_audio(find(transcript), rule or TrimRule(), report)
        if isinstance(audio, str):
            report.leave_out(transcript.id, audio)
            continue
        utterance = transcript.id.replace("/", "_")  # prompts may lie in folders
        name = f"wav/{utterance}.flac"
        soundfile.write(out / name, audio, SAMPLE_RATE, subtype="PCM_16")
        seconds = len(audio) / SAMPLE_RATE
        rows.append(label.row(utterance, name, seconds))
        report.kept += 1
        report.seconds += seconds
    write_manifest(rows, out / "manifest.jsonl")
    return report


def write_manifest(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write manifest rows, atomically."""
    write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())


def import_from_arguments(arguments: argparse.Namespace, metadata: Path, find: Callable[[Transcript], Path]) -> int:
    """Run an import for a command line that has `out`, `g2p` and `margin`; returns the exit status."""
    try:
        transcripts = read_transcripts(metadata)
        speaker = front_end(arguments.g2p, arguments.homographs)
        report = import_corpus(transcripts, find, speaker, arguments.out, TrimRule(margin=arguments.margin))
    except (OSError, ValueError, ConfigError) as error:
        print(f"error: {error}")
        return 1
    print("\n".join(report.lines()))
    return 0 if report.kept else 1


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that every import of recordings has."""
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="corpus folder to write")
    parser.add_argument(
        "--g2p", type=Path, default=None, metavar="FILE", help="last.pt of the g2p run, for unknown words"
    )
    parser.add_argument(
        "--homographs", type=Path, default=None, metavar="FILE", help="last.pt of the homographs run, goes with --g2p"
    )
    parser.add_argument("--margin", type=float, default=0.15, help="seconds of silence kept at both ends")
