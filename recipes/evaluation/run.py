"""An evaluation from the sentences to the page; `deepvoice evaluate` is its command line."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepvoice.alignment import Aligner
from deepvoice.audio.io import open_writer
from deepvoice.errors import ConfigError
from deepvoice.recipes.common.shards import write_whole
from deepvoice.recipes.evaluation import page
from deepvoice.recipes.evaluation.listen import open_recogniser
from deepvoice.recipes.evaluation.score import Example, Quality, Row, Scorer, distill_mos, summary
from deepvoice.recipes.evaluation.sentences import Item

if TYPE_CHECKING:
    from deepvoice.pipeline import Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What to measure and where to write it.

    out: folder of the page, the sounds and the pictures; None writes none of them
    recogniser, model: as `open_recogniser` takes them
    align: let the aligner of the package say which words it does not hear
    quality: predict mean opinion scores (needs torch and distillmos)
    pictures: draw spectrograms (needs matplotlib)
    options: keywords of `Voice.speak`
    say: told about every sentence
    """

    out: Path | None = None
    recogniser: str = "auto"
    model: str | None = None
    align: bool = False
    quality: bool = True
    pictures: bool = True
    options: dict[str, Any] = field(default_factory=dict)
    say: Callable[[str], None] = print


def evaluate(voice: "Voice", items: Sequence[Item], settings: Settings) -> dict[str, Any]:
    """Speak and score sentences; returns {"voice", "options", "figures", "rows"}, fit for JSON."""
    recogniser = open_recogniser(settings.recogniser, settings.model)
    aligner = Aligner.load() if settings.align else None
    scorer = Scorer(voice, recogniser, predictor() if settings.quality else None, aligner)
    rows = []
    for number, example in enumerate(scorer.examples(items, settings.options), 1):
        rows.append(example.row)
        if settings.out is not None:
            _keep(example, settings.out, settings.pictures)
        settings.say(f"{number} of {len(items)}: {example.row.item.name}")
    step = int(voice.manifest.modules["vocoder"].config.get("bunch", 1))
    figures = summary(rows, scorer.spectrum, step, recogniser.name if recogniser else None)
    options = {name: value for name, value in settings.options.items() if isinstance(value, (int, float, str))}
    result = {"voice": voice.name, "options": options, "figures": figures, "rows": [_plain(row) for row in rows]}
    if settings.out is not None:
        page.write_page(settings.out, f"Evaluation of the voice {voice.name}", figures, rows, settings.pictures)
        write_json(result, settings.out / "evaluation.json")
    return result


def write_json(result: dict[str, Any], path: Path) -> None:
    """Write a result; the file is complete or absent."""
    write_whole(path, (json.dumps(result, indent=1, ensure_ascii=False) + "\n").encode())


def predictor() -> Quality:
    """Return the predictor of opinion scores. Raises ConfigError when it is not installed."""
    try:
        return distill_mos()
    except (ImportError, OSError) as error:  # OSError: a torchaudio that was built for another torch
        raise ConfigError(
            f"predicted opinion scores need distillmos, which does not load ({error}): pip install 'deepvoice[eval]', "
            "or leave them out with --no-mos"
        ) from None


def _keep(example: Example, out: Path, pictures: bool) -> None:
    name = example.row.item.name
    for folder in ("audio", *(["reference"] if example.reference_T is not None else [])):
        (out / folder).mkdir(parents=True, exist_ok=True)
    example.speech.save(out / "audio" / f"{name}.flac")
    if example.reference_T is not None:
        with open_writer(out / "reference" / f"{name}.flac", example.reference_rate, None) as writer:
            writer.write(example.reference_T)
    if pictures:
        (out / "pictures").mkdir(parents=True, exist_ok=True)
        try:
            page.draw(example, out / "pictures" / f"{name}.png")
        except ImportError as error:
            raise ConfigError(
                f"pictures need {error.name}: pip install 'deepvoice[train]', or leave them out with --no-pictures"
            ) from None


def _plain(row: Row) -> dict[str, Any]:
    found = asdict(row)
    item = found.pop("item")
    return {"name": item["name"], "text": item["text"], **found}
