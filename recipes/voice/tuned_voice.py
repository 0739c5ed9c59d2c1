"""The first and the last stages of a tuning: recordings at the level of the voice, the packed voice, its figures."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

import deepvoice
from deepvoice.errors import ConfigError, TextError
from deepvoice.recipes.common.features import read_manifest
from deepvoice.recipes.common.progress import progress
from deepvoice.recipes.recordings.measure import levels
from deepvoice.recipes.vocoder.quantise import CALIBRATION
from deepvoice.recipes.voice.pack import CHECKPOINTS, pack
from deepvoice.recipes.voice.picture import draw
from deepvoice.recipes.voice.tuning import Places, Tuning
from deepvoice.recipes.voice.unpack import read, unpack
from deepvoice.voice import TEXT

_LEAST = 20  # utterances
_SPOKEN = 6  # sentences that the voice says to measure its level
SENTENCES = (
    "The ferry leaves at dawn.",
    "Could you send me the report before Friday?",
    "Seven thick feathers drifted over the quiet garden wall.",
)  # spoken at the end, for ears


def begin(places: Places, tuning: Tuning) -> None:
    """Unpack the voice, and write the recordings at its level.

    A vocoder knows one level: at another its noise, its codes and its clipping would all be new to it.
    """
    rows = usable_rows(places.manifest)
    for module in TEXT:  # what reads text does not change
        places.run(module).mkdir(parents=True, exist_ok=True)
    unpack(places.voice, places.start)
    gain = 10 ** ((voice_level(places.voice, rows) - corpus_level(places.manifest, rows)) / 20)
    print(f"{len(rows)} utterances; their level is changed by {20 * np.log10(gain):+.1f} dB to that of {places.voice}")
    (places.corpus.parent / "wav").mkdir(parents=True, exist_ok=True)
    for row in progress(rows, "recordings"):
        samples, rate = soundfile.read(places.manifest.parent / row["audio"], dtype="float32")
        row["audio"] = f"wav/{Path(row['audio']).stem}.flac"
        soundfile.write(places.corpus.parent / row["audio"], np.clip(gain * samples, -1, 1), rate, subtype="PCM_16")
    places.corpus.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def usable_rows(manifest: Path) -> list[dict[str, Any]]:
    """Read a manifest; raises DataError for a file that is none, ConfigError for one with too few rows."""
    rows = read_manifest(manifest)
    if len(rows) < _LEAST:
        raise ConfigError(f"{manifest} has {len(rows)} utterances; expected {_LEAST} or more, about 300 are good")
    for row in rows:
        if missing := [name for name in ("id", "audio", "text", "phones") if name not in row]:
            raise ConfigError(
                f"{manifest}: {row.get('id', row)} has no {missing[0]!r}; make it with: deepvoice prepare RECORDINGS"
            )
    return rows


def voice_level(name: str, rows: list[dict[str, Any]]) -> float:
    """Return the level of the loud parts of a voice, in dB of full scale: it says some of the texts."""
    voice = deepvoice.load(name)
    found = []
    for row in sorted(rows, key=lambda row: -len(row["text"]))[: 4 * _SPOKEN]:
        try:
            found.append(levels(voice.speak(row["text"][:200]).samples, voice.sample_rate)[0])
        except TextError:
            continue
        if len(found) == _SPOKEN:
            break
    return float(np.median(found))


def corpus_level(manifest: Path, rows: list[dict[str, Any]]) -> float:
    """Return the level of the loud parts of a corpus, in dB of full scale."""
    found = []
    for row in rows[:: max(1, len(rows) // 100)]:
        samples, rate = soundfile.read(manifest.parent / row["audio"], dtype="float32")
        found.append(levels(samples, rate)[0])
    return float(np.median(found))


def pack_voice(places: Places, tuning: Tuning) -> None:
    """Write the voice folder, of the best checkpoint of each module that was tuned."""
    chosen = places.work / "packed"
    for module in CHECKPOINTS:
        tuned = module not in TEXT
        (chosen / module).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(places.after(module) if tuned else places.before(module), chosen / module / "last.pt")
        for name in ("log.jsonl", CALIBRATION):
            if (places.run(module) / name).is_file():
                shutil.copyfile(places.run(module) / name, chosen / module / name)
    voice = read(places.voice)
    size = pack(
        chosen,
        places.out,
        name=places.name,
        licence="that of the recordings",
        provenance=f"tuned from the voice {voice.manifest.name} ({voice.manifest.provenance}) on recordings",
        scores={},
        synthesis=voice.manifest.synthesis,
    )
    print(f"{places.out}: {size / 1e6:.2f} MB")


def figures(places: Places, tuning: Tuning) -> None:
    """Measure each module on held-out recordings before and after, speak some sentences, draw one and the training."""
    from deepvoice.recipes.duration import evaluate as of_duration
    from deepvoice.recipes.f0 import evaluate as of_f0
    from deepvoice.recipes.voice.tuned_picture import draw_training

    found: dict[str, Any] = {}
    for module, recipe in (("duration", of_duration), ("f0", of_f0)):
        for moment, checkpoint in (("before", places.before(module)), ("after", places.after(module))):
            path = places.work / f"{module}_{moment}.json"
            data = str(places.data(module))
            recipe.main(["--data", data, "--checkpoint", str(checkpoint), "--json", str(path)])
            found.setdefault(module, {})[moment] = json.loads(path.read_text(encoding="utf-8"))
            path.unlink()
    (places.work / "figures.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    voice = deepvoice.load(places.out)
    (places.work / "samples").mkdir(exist_ok=True)
    for number, sentence in enumerate(SENTENCES):
        voice.speak(sentence).save(places.work / "samples" / f"{number}.wav")
    draw(voice.speak(SENTENCES[0]), places.work / "spectrogram.png")
    draw_training({module: places.run(module) / "log.jsonl" for module in CHECKPOINTS}, places.work / "training.png")
