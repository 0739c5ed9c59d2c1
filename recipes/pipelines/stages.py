"""The stages: speaking a corpus, aligning it, computing its features, and speaking texts into files."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import soundfile

from deepvoice import __version__
from deepvoice.audio.io import replacing
from deepvoice.audio.mel import MelSpec
from deepvoice.recipes.common.features import ShardPlan, feature_hash, make_shard
from deepvoice.recipes.common.shards import file_hash
from deepvoice.recipes.corpora.labels import front_end
from deepvoice.recipes.corpora.teacher import (
    SAMPLE_RATE,
    Prompt,
    TeacherOptions,
    Utterance,
    label_sentences,
    speed_of,
    utterances,
)
from deepvoice.recipes.pipelines.stage import Item, Row, Worker, hash_of
from deepvoice.resume import loaded_voice, voice_key

HIBARI = "hibari"  # the teacher; any other name is a voice of ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesise:
    """Prompts ({id, text}) to utterances with labels: manifest rows and FLAC files.

    teacher: "hibari", or a voice of ours by name or folder
    g2p, homographs: checkpoints that label for the teacher; a voice of ours labels as it speaks
    """

    teacher: str = HIBARI
    g2p: Path | None = None
    homographs: Path | None = None
    options: TeacherOptions = field(default_factory=TeacherOptions)
    name: str = "synthesise"

    def key(self, item: Item) -> str:
        """Return the content key of a prompt: its id too, from which speed and random numbers are drawn."""
        options = [self.options.seed, self.options.varied, self.options.slowest, self.options.fastest]
        return hash_of(__version__, self._speaker(), options, item["id"], item["text"])

    def _speaker(self) -> list[str]:
        if self.teacher != HIBARI:
            return [voice_key(self.teacher)]
        return [version("hibari-tts"), *(file_hash(path) for path in (self.g2p, self.homographs) if path is not None)]

    def open(self) -> Worker:
        """Load the front end and the speaker."""
        if self.teacher != HIBARI:
            return _written(self._own_voice())
        from hibari import Hibari

        speaker, teacher = front_end(self.g2p, self.homographs), Hibari()
        return _written(lambda prompt: utterances(prompt, speaker, teacher, self.options))

    def _own_voice(self) -> "Callable[[Prompt], Iterator[Utterance | str]]":
        from deepvoice.pipeline import load_front_end

        voice, speaker = loaded_voice(self.teacher), load_front_end(self.teacher)

        def speak(prompt: Prompt) -> Iterator[Utterance | str]:
            labels = label_sentences(speaker, prompt.text)
            for number, label in enumerate(labels):
                name = prompt.id if len(labels) == 1 else f"{prompt.id}_{number + 1}"
                speed = speed_of(name, self.options)
                yield Utterance(name, label, speed, voice.speak(label.text, speed=speed).samples)

        return speak


def _written(speak: "Callable[[Prompt], Iterator[Utterance | str]]") -> Worker:
    """Return a worker that writes what a function speaks."""

    def work(item: Item, key: str, out: Path) -> Row:
        folder = Path("wav") / key[:2]
        (out / folder).mkdir(parents=True, exist_ok=True)
        rows, left_out = [], []
        for number, made in enumerate(speak(Prompt(id=item["id"], text=item["text"]))):
            if isinstance(made, str):
                left_out.append(made)
                continue
            file = str(folder / f"{key}-{number}.flac")
            with replacing(out / file) as temporary:
                soundfile.write(temporary, made.audio, SAMPLE_RATE, subtype="PCM_16", format="FLAC")
            rows.append(made.label.row(made.name, file, len(made.audio) / SAMPLE_RATE, made.speed))
        return {"rows": rows, "left_out": left_out, "files": [row["audio"] for row in rows]}

    return work


@dataclass(frozen=True, slots=True, kw_only=True)
class Align:
    """Recordings with texts ({audio, text}) to the times of words and phones.

    root: folder that the audio paths begin from; model: a voice that carries an aligner, None is the default
    """

    root: Path
    model: str | None = None
    name: str = "align"

    def key(self, item: Item) -> str:
        """Return the content key of a recording and its text."""
        return hash_of(__version__, voice_key(self.model), file_hash(self.root / item["audio"]), item["text"])

    def open(self) -> Worker:
        """Load the aligner."""
        from deepvoice.alignment import Aligner

        aligner = Aligner.load(self.model)

        def work(item: Item, key: str, out: Path) -> Row:
            samples, rate = soundfile.read(self.root / item["audio"], dtype="float32")
            found = aligner.align(samples, rate, item["text"])
            words = [[w.text, round(w.start, 4), round(w.end, 4), round(w.confidence, 4)] for w in found.words]
            phones = [[p.symbol, round(p.start, 4), round(p.end, 4), p.word] for p in found.phones]
            return {
                "seconds": round(found.seconds, 4), "confidence": round(found.confidence, 4),
                "accepted": found.accepted, "reasons": list(found.reasons), "words": words, "phones": phones,
            }  # fmt: skip

        return work


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Shards of a manifest ({number, first, rows}) to feature files; see recipes/common/features.py."""

    root: Path
    name: str = "features"

    def key(self, item: Item) -> str:
        """Return the content key of a shard."""
        return hash_of(feature_hash(MelSpec()), self._plan(item, Path()).path().stem)

    def _plan(self, item: Item, out: Path) -> ShardPlan:
        rows = tuple(item["rows"])
        return ShardPlan(number=item["number"], first=item["first"], rows=rows, root=self.root, out=out, spec=MelSpec())

    def open(self) -> Worker:
        """Nothing is loaded."""

        def work(item: Item, key: str, out: Path) -> Row:
            shard = make_shard(self._plan(item, out))
            return {"shard": shard.to_json(), "files": [shard.file]}

        return work


@dataclass(frozen=True, slots=True, kw_only=True)
class Speak:
    """Texts ({text, options}) to audio files, as `deepvoice batch` makes them; options: as JSON.

    voice: name or folder, None is the default
    """

    voice: str | None = None
    file_format: str = "wav"
    timings: str | None = None
    options: str = "{}"
    name: str = "speak"

    def _job(self, item: Item, folder: Path, name: str) -> Any:
        from deepvoice.batch import Job

        own = dict(item.get("options", {}))
        voice = own.pop("voice", self.voice)
        options: Any = {**json.loads(self.options), **own}
        return Job(
            folder=folder, name=name, text=item["text"], voice=voice, options=options, file_format=self.file_format,
            rate=None, timings=self.timings, strict=False,
        )  # fmt: skip

    def key(self, item: Item) -> str:
        """Return the content key of a text, a voice and options."""
        return str(self._job(item, Path(), "").key())

    def open(self) -> Worker:
        """Voices are loaded as they are named."""
        from deepvoice.batch import Spoken, speak_side_by_side

        def work(item: Item, key: str, out: Path) -> Row:
            (out / "audio").mkdir(parents=True, exist_ok=True)
            (spoken,) = speak_side_by_side([self._job(item, out / "audio", key)])
            if not isinstance(spoken, Spoken):
                raise spoken
            files = [f"audio/{name}" for name in (spoken.file, spoken.timings) if name]
            return {"seconds": spoken.seconds, "dropped": list(spoken.dropped), "files": files}

        return work


def shard_items(plans: Sequence[ShardPlan]) -> list[Item]:
    """Return the items of the `Features` stage."""
    return [{"number": plan.number, "first": plan.first, "rows": list(plan.rows)} for plan in plans]


__all__ = ["HIBARI", "Align", "Features", "Speak", "Synthesise", "shard_items"]
