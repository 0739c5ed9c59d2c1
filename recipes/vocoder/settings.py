"""The TOML file of the vocoder recipe."""

from dataclasses import dataclass, field

from deepvoice.configs import VocoderConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class VocoderTraining:
    """The TOML file of the recipe: sizes and how to train them."""

    vocoder: VocoderConfig = field(default_factory=VocoderConfig)
    steps: int = 60000
    learning_rate: float = 2e-3
    batch_size: int = 8
    segment_frames: int = 60
    noise_levels: float = 1.0  # largest standard deviation of the training noise, in quantiser steps
    ema: float = 0.9995
    evaluate_every: int = 1000
