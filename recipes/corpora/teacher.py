"""Text -> a corpus spoken by the teacher (hibari-tts), labelled by our own front end.

    python -m deepvoice.recipes.corpora.teacher PROMPTS... --out DIR [--hours 8] [--g2p last.pt] [--shard K/N]

PROMPTS are files of text: plain (one utterance a line), `id<TAB>text`, or LJSpeech's metadata.csv. Every sentence is
one utterance; short ones are generated beside them, and a share is spoken faster or slower. The teacher is given our
phones in its own notation, so that audio and labels agree. Finished blocks are never made again: stop at any time and
run again, or run several `--shard K/N` side by side; the one that finds enough blocks writes manifest.jsonl.
"""

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Protocol

import numpy as np
import soundfile
from numpy.typing import NDArray

from deepvoice.config import require_range
from deepvoice.errors import ConfigError, TextError
from deepvoice.recipes.common.progress import progress
from deepvoice.recipes.corpora.labels import Label, UnknownWordError, front_end, label_sentences
from deepvoice.recipes.corpora.misaki import to_misaki
from deepvoice.recipes.corpora.recorded import write_manifest
from deepvoice.recipes.corpora.short_prompts import short_prompts
from deepvoice.recipes.corpora.transcripts import read_transcripts
from deepvoice.text.frontend import FrontEnd

SAMPLE_RATE = 24000
BLOCK = 200  # prompts between two done-markers
MAX_CHARACTERS = 400  # of a sentence in the teacher's notation; it splits longer ones itself, differently


@dataclass(frozen=True, slots=True, kw_only=True)
class TeacherOptions:
    """What the corpus is made of; a corpus folder keeps them and refuses others."""

    hours: float = 1000.0  # stop when there is so much audio
    short: int = 2000  # generated short utterances, at most a third of the corpus
    varied: float = 0.15  # share of utterances at another speed
    slowest: float = 0.7
    fastest: float = 1.5
    leave_out: int = 0  # prompts at the end of the files that are kept for tests
    seed: int = 0

    def __post_init__(self) -> None:
        require_range("hours", self.hours, 0.001, 100_000)
        require_range("short", self.short, 0, 1_000_000)
        require_range("varied", self.varied, 0.0, 1.0)
        require_range("slowest", self.slowest, 0.5, 1.0)
        require_range("fastest", self.fastest, 1.0, 2.0)
        require_range("leave_out", self.leave_out, 0, 1_000_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One text to speak."""

    id: str
    text: str


class Teacher(Protocol):
    """What this recipe needs of hibari-tts."""

    vocab: dict[str, int]

    def from_phonemes(self, phonemes: str, speed: float, seed: int) -> NDArray[np.float32]:
        """Speak a phoneme string at 24 kHz."""


def plan(files: Sequence[Path], options: TeacherOptions) -> list[Prompt]:
    """Return every prompt in the order of the corpus: shuffled, with the short ones spread among them."""
    prompts: list[Prompt] = []
    for path in files:
        prefix = f"{path.stem}-" if len(files) > 1 else ""
        prompts += [
            Prompt(id=prefix + row.id.replace("/", "_"), text=finished(row.text)) for row in read_transcripts(path)
        ]
    if options.leave_out:
        prompts = prompts[: -options.leave_out]
    short = short_prompts([prompt.text for prompt in prompts], min(options.short, len(prompts) // 2), options.seed)
    prompts += [Prompt(id=f"short{number:05d}", text=text) for number, text in enumerate(short)]
    if len({prompt.id for prompt in prompts}) < len(prompts):
        raise ValueError("two files give the same ids; expected files of different names, or ids that differ")
    Random(options.seed).shuffle(prompts)
    return prompts


def finished(text: str) -> str:
    """Add the final mark that many prompts lack."""
    text = text.strip()
    bare = text.rstrip("\"'”’)]")
    return text if bare.endswith((".", "?", "!", "…")) else re.sub(r"[,;:\-\s]+$", "", text) + "."


def speed_of(name: str, options: TeacherOptions) -> float:
    """Draw the speed of an utterance from its id, so that it never depends on what was made before."""
    random = Random(f"{options.seed} {name}")
    return round(random.uniform(options.slowest, options.fastest), 2) if random.random() < options.varied else 1.0


def speak(teacher: Teacher, name: str, label: Label, speed: float) -> NDArray[np.float32]:
    """Speak a label; a character outside the teacher's vocabulary raises ValueError instead of being dropped."""
    text, _ = to_misaki(label.phones.split(), label.word_of)
    strange = [character for character in text if character not in teacher.vocab]
    if strange:
        raise ValueError(f"{name}: {strange[0]!r} (U+{ord(strange[0]):04X}) is not in the teacher's vocabulary: {text}")
    seed = int.from_bytes(sha256(name.encode()).digest()[:4], "little")
    return np.clip(teacher.from_phonemes(text, speed, seed), -1.0, 1.0)


def make_block(
    prompts: Sequence[Prompt], speaker: FrontEnd, teacher: Teacher, options: TeacherOptions, out: Path
) -> tuple[list[dict[str, Any]], list[str]]:
    """Speak the prompts of one block; returns manifest rows and what was left out, with the reason."""
    rows: list[dict[str, Any]] = []
    left_out = []
    for prompt in prompts:
        for made in utterances(prompt, speaker, teacher, options):
            if isinstance(made, str):
                left_out.append(made)
                continue
            file = f"wav/{made.name}.flac"
            soundfile.write(out / file, made.audio, SAMPLE_RATE, subtype="PCM_16")
            rows.append(made.label.row(made.name, file, len(made.audio) / SAMPLE_RATE, made.speed))
    return rows, left_out


class Utterance(NamedTuple):
    """One sentence of a prompt, spoken; audio: float32 [T] at SAMPLE_RATE."""

    name: str
    label: Label
    speed: float
    audio: NDArray[np.float32]


def utterances(
    prompt: Prompt, speaker: FrontEnd, teacher: Teacher, options: TeacherOptions
) -> Iterator[Utterance | str]:
    """Speak the sentences of a prompt; yields, instead of one that cannot be spoken, its name and the reason."""
    try:
        labels = label_sentences(speaker, prompt.text)
    except (TextError, UnknownWordError) as error:
        yield f"{prompt.id}: {error}"
        return
    for number, label in enumerate(labels):
        name = prompt.id if len(labels) == 1 else f"{prompt.id}_{number + 1}"
        if len(to_misaki(label.phones.split(), label.word_of)[0]) > MAX_CHARACTERS:
            yield f"{name}: longer than {MAX_CHARACTERS} characters"
            continue
        speed = speed_of(name, options)
        yield Utterance(name, label, speed, speak(teacher, name, label, speed))


def keep_options(out: Path, options: TeacherOptions, files: Sequence[Path]) -> None:
    """Store what the corpus is made of, or refuse to continue one that is made of something else."""
    digests = [sha256(path.read_bytes()).hexdigest()[:16] for path in files]
    wanted = {**asdict(options), "prompts": digests}
    path = out / "options.json"
    if path.exists():
        found = json.loads(path.read_text())
        different = [key for key in wanted if key != "hours" and found.get(key) != wanted[key]]
        if different:
            key = different[0]
            raise ConfigError(f"{out} was begun with {key} = {found.get(key)}, not {wanted[key]}; use another --out")
    path.write_text(json.dumps(wanted, indent=1))


def block_file(out: Path, number: int) -> Path:
    """Return the done-marker of a block, which holds its manifest rows."""
    return out / "blocks" / f"{number:05d}.jsonl"


def read_block(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a finished block."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def seconds_of(rows: Sequence[dict[str, Any]]) -> float:
    """Sum the seconds of rows."""
    return float(sum(row["seconds"] for row in rows))


def generate(
    prompts: Sequence[Prompt],
    speaker: FrontEnd,
    teacher: Teacher,
    options: TeacherOptions,
    out: Path,
    shard: tuple[int, int] = (0, 1),
) -> None:
    """Make this shard's blocks (number % N == K) until they hold their part of the hours."""
    (out / "wav").mkdir(parents=True, exist_ok=True)
    (out / "blocks").mkdir(exist_ok=True)
    blocks = range(shard[0], -(-len(prompts) // BLOCK), shard[1])
    seconds = 0.0
    for number in progress(blocks, "blocks"):
        if seconds >= options.hours * 3600 / shard[1]:
            break
        path = block_file(out, number)
        if not path.exists():
            chosen = prompts[number * BLOCK : (number + 1) * BLOCK]
            rows, left_out = make_block(chosen, speaker, teacher, options, out)
            with (out / f"left_out-{shard[0]}.txt").open("a", encoding="utf-8") as handle:
                handle.writelines(line + "\n" for line in left_out)
            write_manifest(rows, path)
        seconds += seconds_of(read_block(path))


def merge(prompts: Sequence[Prompt], options: TeacherOptions, out: Path) -> int:
    """Write manifest.jsonl from the blocks in order, up to the hours wanted; 0 when blocks are still missing."""
    paths = [block_file(out, number) for number in range(-(-len(prompts) // BLOCK))]
    rows: list[dict[str, Any]] = []
    for path in paths:
        if path.exists() and seconds_of(rows) < options.hours * 3600:
            rows += read_block(path)
    if seconds_of(rows) < options.hours * 3600 and not all(path.exists() for path in paths):
        return 0
    write_manifest(rows, out / "manifest.jsonl")
    return len(rows)


def _shard(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not int(match[1]) < int(match[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a shard; expected K/N with 0 <= K < N, such as 0/2")
    return int(match[1]), int(match[2])


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    defaults = TeacherOptions()
    parser = argparse.ArgumentParser(description="Make a corpus with the teacher.")
    parser.add_argument("prompts", type=Path, nargs="+", help="files of text")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="corpus folder to write or continue")
    parser.add_argument(
        "--g2p", type=Path, default=None, metavar="FILE", help="last.pt of the g2p run, for unknown words"
    )
    parser.add_argument(
        "--homographs", type=Path, default=None, metavar="FILE", help="last.pt of the homographs run, goes with --g2p"
    )
    parser.add_argument(
        "--hours", type=float, default=defaults.hours, help="stop at so much audio (default: all prompts)"
    )
    parser.add_argument("--short", type=int, default=defaults.short, help="generated short utterances")
    parser.add_argument("--varied", type=float, default=defaults.varied, help="share of utterances at another speed")
    parser.add_argument("--leave-out", type=int, default=0, help="prompts at the end of the files kept for tests")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shard", type=_shard, default=(0, 1), metavar="K/N", help="make every Nth block from K on")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    arguments = _arguments(argv)
    try:
        options = TeacherOptions(
            hours=arguments.hours, short=arguments.short, varied=arguments.varied, leave_out=arguments.leave_out,
            seed=arguments.seed,
        )  # fmt: skip
        prompts = plan(arguments.prompts, options)
        arguments.out.mkdir(parents=True, exist_ok=True)
        keep_options(arguments.out, options, arguments.prompts)
        speaker = front_end(arguments.g2p, arguments.homographs)
    except (OSError, ValueError, ConfigError) as error:
        print(f"error: {error}")
        return 1
    from hibari import Hibari

    generate(prompts, speaker, Hibari(), options, arguments.out, arguments.shard)
    count = merge(prompts, options, arguments.out)
    print(
        f"{count} utterances -> {arguments.out / 'manifest.jsonl'}"
        if count
        else "other shards still have blocks to make"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
