"""What was heard in recordings, kept in a file: listening takes a second a sentence, and a teacher is heard once.

Rows are found by the samples themselves, so that speech which changed is heard again and nothing else is.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from deepvoice.audio.mel import FloatArray
from deepvoice.errors import ConfigError
from deepvoice.recipes.evaluation.listen import Recogniser, WordErrors, hear, word_errors
from deepvoice.recipes.evaluation.score import Quality
from deepvoice.recipes.grapheme_to_phoneme.score import edit_distance

_DRAWS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Listened:
    """The text that a recogniser wrote down, and the predicted mean opinion score."""

    text: str
    quality: float


class Listener:
    """Hears recordings with a recogniser and a predictor of quality, each recording once."""

    def __init__(self, recogniser: Recogniser, quality: Quality, path: Path) -> None:
        """Read what was heard before; path: a file of JSON lines, which grows with every recording."""
        self.recogniser, self._quality, self._path = recogniser, quality, path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._known: dict[str, Listened] = {}
        for number, line in enumerate(lines, 1):
            try:
                key, text, score = json.loads(line)
                self._known[key] = Listened(text=text, quality=float(score))
            except ValueError:
                if number < len(lines):  # the last one may have been cut off when a run was stopped
                    raise ConfigError(
                        f"{path}:{number} is {line[:40]!r}; expected [key, text, score]: remove it"
                    ) from None
                path.write_text("".join(f"{one}\n" for one in lines[:-1]), encoding="utf-8")

    def listen(self, samples_T: FloatArray, rate: int) -> Listened:
        """Return what is heard in float32 samples."""
        return self._find(samples_T, rate, self.recogniser)

    def quality(self, samples_T: FloatArray, rate: int) -> float:
        """Return the predicted mean opinion score alone, which takes half as long."""
        return self._find(samples_T, rate, None).quality

    def _find(self, samples_T: FloatArray, rate: int, recogniser: Recogniser | None) -> Listened:
        codes = np.rint(np.clip(samples_T, -1, 1) * 32767).astype("<i2")
        name = recogniser.name if recogniser else "quality"
        key = sha256(f"{name} {rate} ".encode() + codes.tobytes()).hexdigest()[:24]
        if key not in self._known:
            text = hear(recogniser, samples_T, rate) if recogniser else ""
            score = round(self._quality(samples_T, rate), 4)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, text, score], ensure_ascii=False) + "\n")
            self._known[key] = Listened(text=text, quality=score)
        return self._known[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean, with the 95 % interval of a bootstrap over sentences."""

    mean: float
    low: float
    high: float


def mean_of(values: Sequence[float]) -> Mean:
    """Return the mean of one value a sentence and its interval."""
    values_N = np.asarray(values, np.float64)
    pick = np.random.default_rng(0).integers(0, len(values_N), (_DRAWS, len(values_N)))
    low, high = np.percentile(values_N[pick].mean(axis=1), [2.5, 97.5])
    return Mean(mean=float(values_N.mean()), low=float(low), high=float(high))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A sentence in one voice: its words, what was heard, the words that are wrong, the predicted quality."""

    words: Sequence[str]
    heard: Sequence[str]
    text: str
    errors: int
    quality: float


def scored(words: Sequence[str], found: Sequence[str], listened: Listened) -> Scored:
    """Count the errors of a sentence; words: what was to be said; found: the words of the text that was heard."""
    return Scored(
        words=words, heard=found, text=listened.text, errors=edit_distance(found, words), quality=listened.quality
    )


def paired(ours: Sequence[Scored], theirs: Sequence[Scored]) -> dict[str, object]:
    """Return word errors and predicted quality of two voices that say the same, and their paired differences."""
    counts = [len(one.words) for one in ours]
    errors = [[one.errors for one in side] for side in (ours, theirs)]
    scores = [[one.quality for one in side] for side in (ours, theirs)]
    found: dict[str, WordErrors | Mean] = {
        "word_errors": word_errors(errors[0], counts),
        "teacher_word_errors": word_errors(errors[1], counts),
        "word_errors_above_teacher": word_errors(errors[0], counts, errors[1]),
        "distillmos": mean_of(scores[0]),
        "teacher_distillmos": mean_of(scores[1]),
    }
    return {"sentences": len(counts), "words": sum(counts), **{key: asdict(value) for key, value in found.items()}}
