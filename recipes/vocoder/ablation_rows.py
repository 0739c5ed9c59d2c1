"""The rows of the vocoder's ablation bench: the shipped configuration, and what each row changes in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from deepvoice.configs import VocoderConfig

BiasKind = Literal["convolutions", "qrnn", "gru"]
_PAPER_CYCLE = tuple(2**i for i in range(10))
_OWN_CYCLE = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row.

    what: the difference from the shipped configuration, for the table
    changes: fields of VocoderConfig; bias_channels and bias_kernel are those of its conditioner
    noise: largest standard deviation of the training noise in quantiser steps; None: a clean past
    bias: what turns the spectrum into the layers' biases
    """

    what: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    noise: float | None = 1.0
    bias: BiasKind = "convolutions"

    def config(self) -> VocoderConfig:
        """Return the configuration of the row."""
        base = VocoderConfig()
        inner = {name: value for name, value in self.changes.items() if name.startswith("bias_")}
        outer = {name: value for name, value in self.changes.items() if name not in inner}
        return replace(base, conditioner=replace(base.conditioner, **inner), **outer)


def _row(what: str, **changes: Any) -> Row:
    return Row(what=what, changes=changes)


def _plain(**changes: Any) -> dict[str, Any]:
    """Without linear prediction the signal itself is coded: another scale fills the range."""
    return {"lpc_order": 0, "code_scale": 3.2, **changes}


_PAPER = _plain(bunch=1, harmonics=0, dilations=_PAPER_CYCLE * 2, head=256, history=2, head_history=1)
_LITE = {"bunch": 10, "dilations": (*_OWN_CYCLE, 1, 2), "skip": 64, "head": 32, "history": 24}
_DEEP = {"dilations": _OWN_CYCLE * 2}

ROWS: dict[str, Row] = {
    "heart": _row("the shipped configuration"),
    "paper": Row(
        what="the paper's: one sample a step, 20 layers, dilations to 512, no prediction, no pitch phase, QRNN, "
        "clean past",
        changes=_PAPER, bias="qrnn", noise=None,
    ),
    "paper-convolutions": Row(what="the same with the convolutions of ours", changes=_PAPER, noise=None),
    "paper-predicted": Row(
        what="the paper's with linear prediction and pitch phase",
        changes={**_PAPER, "lpc_order": 16, "code_scale": 8.0, "harmonics": 8}, bias="qrnn",
    ),
    "bunch-1": _row("one sample a step", bunch=1),
    "bunch-2": _row("two samples a step", bunch=2),
    "bunch-4": _row("four samples a step", bunch=4),
    "bunch-8": _row("eight samples a step", bunch=8),
    "bunch-12": _row("twelve samples a step", bunch=12),
    "layers-6": _row("6 layers", dilations=_OWN_CYCLE),
    "layers-18": _row("18 layers", dilations=_OWN_CYCLE * 3),
    "cycle-4": _row("dilations 1 to 4, four times", dilations=(1, 2, 4) * 4),
    "cycle-10": _row("dilations 1 to 512, then 1 and 2", dilations=(*_PAPER_CYCLE, 1, 2)),
    "residual-32": _row("32 residual channels", residual=32),
    "residual-96": _row("96 residual channels", residual=96),
    "skip-64": _row("64 skip channels", skip=64),
    "skip-256": _row("256 skip channels", skip=256),
    "head-32": _row("32 units in a head", head=32),
    "head-128": _row("128 units in a head", head=128),
    "history-32": _row("32 past samples into the trunk, 16 into a head", history=32, head_history=16),
    "no-emphasis": _row("no pre-emphasis", pre_emphasis=0.0),
    "emphasis-0.95": _row("pre-emphasis 0.95", pre_emphasis=0.95),
    "scale-4": _row("code scale 4 in place of 8", code_scale=4.0),
    "scale-16": _row("code scale 16", code_scale=16.0),
    "clean": Row(what="clean past in training", noise=None),
    "noise-0": Row(what="noise of the quantiser alone", noise=0.0),
    "noise-3": Row(what="three times the noise", noise=3.0),
    "no-prediction": _row("no linear prediction", **_plain()),
    "prediction-32": _row("prediction of order 32", lpc_order=32),
    "no-pulses": _row("no pitch phase", harmonics=0),
    "pulses-16": _row("16 harmonics of the pitch phase", harmonics=16),
    "neither": _row("no linear prediction, no pitch phase", **_plain(harmonics=0)),
    "bias-64": _row("64 channels from spectrum to biases", bias_channels=64),
    "bias-256": _row("256 channels", bias_channels=256),
    "bias-5-taps": _row("5 taps", bias_kernel=5),
    "bias-gru": Row(what="a GRU in both directions from spectrum to biases", bias="gru"),
    "bias-qrnn": Row(what="two QRNN layers in both directions (the paper's)", bias="qrnn"),
    "lite": _row("the shipped configuration of heart-lite", **_LITE),
    "lite-8": _row("lite: bunch 8, 32 residual channels, 12 layers", **{**_LITE, "bunch": 8, "residual": 32, **_DEEP}),
    "lite-8-wide": _row("lite: bunch 8, 6 layers", **{**_LITE, "bunch": 8, "dilations": _OWN_CYCLE}),
    "lite-12": _row("lite: bunch 12, 128 skip channels", **{**_LITE, "bunch": 12, "skip": 128}),
    "lite-15": _row("lite: bunch 15, 12 layers", **{**_LITE, "bunch": 15, **_DEEP}),
}  # fmt: skip
