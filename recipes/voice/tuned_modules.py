"""The training stages of a tuning, each with the recipe of its module and the sizes of the voice it begins from."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from deepvoice.config import from_dict, load_toml
from deepvoice.configs import VocoderConfig
from deepvoice.errors import ConfigError
from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.common.features import build_cache
from deepvoice.recipes.common.options import Launch, TrainOptions
from deepvoice.recipes.common.sentences import build
from deepvoice.recipes.common.trainer import Trainer
from deepvoice.recipes.voice.tuning import Places, Schedule, Tuning
from deepvoice.voice import MODULES


def features(places: Places, tuning: Tuning) -> None:
    """Compute spectra, pitch and energy of the recordings."""
    build_cache(places.corpus, places.corpus.parent / "features", vocoder_config(places).mel)


def segmentation(places: Places, tuning: Tuning) -> None:
    """Teach the aligner this speaker: pairs by CTC, then frames on the alignments that those give."""
    from deepvoice.recipes.segmentation import train

    settings = load_toml(train.Settings, train.default_config())
    training = dataclasses.replace(
        settings.training,
        batch_size=min(settings.training.batch_size, tuning.batch_size),
        pair_steps=tuning.pairs.steps,
        pair_rate=tuning.pairs.learning_rate,
        frame_steps=tuning.frames.steps,
        frame_rate=tuning.frames.learning_rate,
        varied_steps=tuning.frames.steps,
        varied_rate=tuning.frames.learning_rate,
        ema=tuning.ema,
    )
    settings = dataclasses.replace(settings, model=module_config(places, "segmentation"), training=training)
    launch = Launch(warm_start=places.before("segmentation"))
    if not train.run(settings, places.corpus, places.run("segmentation"), launch=launch):
        raise KeyboardInterrupt


def align(places: Places, tuning: Tuning) -> None:
    """Find the boundaries that the modules after this one learn from; what does not fit is named and left out."""
    from deepvoice.recipes.segmentation import align as aligning

    checkpoint = places.run("segmentation") / "last.pt"
    status = aligning.main([str(places.corpus), "--checkpoint", str(checkpoint), "--out", str(places.alignments)])
    if status:
        raise ConfigError(f"{places.corpus} could not be aligned; look at its report")


def duration(places: Places, tuning: Tuning) -> None:
    """Tune the durations."""
    from deepvoice.recipes.duration import train

    build(places.corpus, places.alignments, places.data("duration"))
    settings = load_toml(train.Settings, train.default_config())
    settings = train.Settings(
        model=module_config(places, "duration"), training=scheduled(settings.training, tuning.duration, tuning)
    )
    launch = Launch(warm_start=places.before("duration"))
    finished(train.run(settings, places.data("duration"), places.run("duration"), launch=launch))


def f0(places: Places, tuning: Tuning) -> None:
    """Tune the pitch; its mean and spread are those of the recordings from the beginning."""
    from deepvoice.recipes.f0 import prepare, train

    build(places.corpus, places.alignments, places.data("f0"), None, prepare.heard_f0)
    settings = load_toml(train.Settings, train.default_config())
    settings = train.Settings(
        model=module_config(places, "f0"), training=scheduled(settings.training, tuning.f0, tuning)
    )
    launch = Launch(warm_start=places.before("f0"))
    finished(train.run(settings, places.data("f0"), places.run("f0"), launch=launch))


def conditioner(places: Places, tuning: Tuning) -> None:
    """Tune phones to spectrum."""
    from deepvoice.recipes.vocoder import train_conditioner

    options = options_of(places, "conditioner", tuning.conditioner, tuning, best="held_out_mel_decibels", ema=0.995)
    finished(train_conditioner.run(places.corpus, vocoder_config(places), options, places.alignments))


def vocoder(places: Places, tuning: Tuning) -> None:
    """Tune spectrum to samples, and measure the limits for int8 anew."""
    from deepvoice.recipes.vocoder import quantise, train

    training = dataclasses.replace(train.VocoderTraining(), vocoder=vocoder_config(places))
    options = options_of(places, "vocoder", tuning.vocoder, tuning, best="held_out_bits", ema=training.ema)
    finished(train.run(places.corpus, training, options))
    limits = quantise.run(places.corpus, places.after("vocoder"), 16)
    path = places.run("vocoder") / quantise.CALIBRATION
    path.write_text(json.dumps(limits, indent=1) + "\n", encoding="utf-8")


def scheduled(training: Any, schedule: Schedule, tuning: Tuning) -> Any:
    """Return a recipe's training settings with the schedule of a tuning."""
    return dataclasses.replace(
        training,
        steps=schedule.steps,
        learning_rate=schedule.learning_rate,
        batch_size=min(training.batch_size, tuning.batch_size),
        ema=tuning.ema,
        evaluate_every=tuning.every(schedule),
    )


def options_of(
    places: Places, module: str, schedule: Schedule, tuning: Tuning, *, best: str, ema: float
) -> TrainOptions:
    """Return how to train a module of the vocoder."""
    return TrainOptions(
        out_dir=places.run(module),
        steps=schedule.steps,
        learning_rate=schedule.learning_rate,
        warmup=min(100, schedule.steps // 5),
        ema=ema,
        evaluate_every=tuning.every(schedule),
        warm_start=places.before(module),
        best=best,
    )


def finished(trainer: Trainer) -> None:
    """End the job, without a marker for its stage, when a training was stopped before its last step."""
    if trainer.step < trainer.options.steps:
        raise KeyboardInterrupt


def module_config(places: Places, module: str) -> Any:
    """Return the config of a module of the voice that the tuning begins from."""
    return from_dict(MODULES[module][0], _config(places.before(module)), module)


def vocoder_config(places: Places) -> VocoderConfig:
    """Return the config that conditioner and vocoder share."""
    return from_dict(VocoderConfig, _config(places.before("vocoder")), "vocoder")


def _config(checkpoint: Path) -> Any:
    return load_checkpoint(checkpoint)["config"]
