"""Configurations of the trained modules: frozen, with an upper limit on every value.

They live apart from the networks so that the speaking half reads them without torch. `deepvoice.config` converts them
from and to plain dicts; limits raise `ConfigError`.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from deepvoice.audio.mel import MelSpec
from deepvoice.config import require_range
from deepvoice.errors import ConfigError
from deepvoice.text.context import CONTEXT_FEATURES, TIMING_FEATURES
from deepvoice.text.phones import PHONES


def require_odd(name: str, value: int, high: int) -> None:
    """Raise ConfigError unless value is odd and from 1 to high."""
    require_range(name, value, 1, high)
    if value % 2 == 0:
        raise ConfigError(f"{name} is {value}; expected an odd number, so that the taps have a centre")


@dataclass(frozen=True, slots=True, kw_only=True)
class DurationConfig:
    """Sizes of the duration model."""

    channels: int = 128  # width of the embedding and of the convolutions over phones
    layers: int = 3  # convolutions
    width: int = 5  # taps, odd
    recurrent: int = 96  # units of the bi-GRU, each direction
    hidden: int = 128  # units before the output
    buckets: int = 64
    bucket_ratio: float = 1.06  # growth of the buckets, once it exceeds one frame
    dropout: float = 0.1
    slowest: float = 0.7  # speaking rates that training covers; beyond them durations are scaled
    fastest: float = 1.5

    def __post_init__(self) -> None:
        for name in ("channels", "recurrent", "hidden"):
            require_range(name, getattr(self, name), 1, 1024)
        require_range("layers", self.layers, 0, 16)
        require_odd("width", self.width, 31)
        require_range("buckets", self.buckets, 2, 512)
        require_range("bucket_ratio", self.bucket_ratio, 1.0, 1.2)
        require_range("dropout", self.dropout, 0.0, 0.9)
        require_range("slowest", self.slowest, 0.1, 1.0)
        require_range("fastest", self.fastest, 1.0, 10.0)
        require_range("the longest bucket", self.bucket_centres()[-1], 1.0, 4000.0)

    @property
    def features(self) -> int:
        """Inputs per phone beside its id: the context features and the logarithm of the speaking rate."""
        return CONTEXT_FEATURES + 1

    def bucket_centres(self) -> list[float]:
        """Return the durations that the buckets stand for, in frames: 0, 1, 2 and so on, then by bucket_ratio."""
        centres = [0.0]
        while len(centres) < self.buckets:
            centres.append(max(centres[-1] + 1.0, centres[-1] * self.bucket_ratio))
        return centres

    def bucket_edges(self) -> list[float]:
        """Return the buckets + 1 edges, halfway between the centres; the outer ones are centres."""
        centres = self.bucket_centres()
        middles = [0.5 * (low + high) for low, high in itertools.pairwise(centres)]
        return [centres[0], *middles, centres[-1]]


@dataclass(frozen=True, slots=True, kw_only=True)
class F0Config:
    """Sizes of the F0 model and the range of the voice."""

    channels: int = 128  # width of the embedding and of the convolutions over phones
    layers: int = 2  # convolutions over phones
    width: int = 5  # their taps, odd
    recurrent: int = 96  # units of the bi-GRU over phones, each direction
    frame_step: int = 4  # frames of 5 ms that one step of the frame level covers
    frame_channels: int = 96
    frame_width: int = 5  # taps of the convolutions over steps, odd
    frame_dilations: tuple[int, ...] = (1, 2, 1)
    dropout: float = 0.1
    unvoiced_weight: float = 0.1  # share of unvoiced frames in the loss of F0
    log_mean: float = 5.2  # of ln(F0 / Hz) over the voiced frames of the corpus
    log_deviation: float = 0.2
    floor: float = 60.0  # Hz; what the model says is clipped to this range
    ceiling: float = 500.0

    def __post_init__(self) -> None:
        for name in ("channels", "recurrent", "frame_channels"):
            require_range(name, getattr(self, name), 1, 1024)
        require_range("layers", self.layers, 0, 16)
        require_odd("width", self.width, 31)
        require_odd("frame_width", self.frame_width, 31)
        require_range("frame_step", self.frame_step, 1, 16)
        require_range("the number of frame_dilations", len(self.frame_dilations), 0, 16)
        for dilation in self.frame_dilations:
            require_range("frame_dilations", dilation, 1, 64)
        require_range("dropout", self.dropout, 0.0, 0.9)
        require_range("unvoiced_weight", self.unvoiced_weight, 0.0, 1.0)
        require_range("log_mean", self.log_mean, 3.0, 7.0)
        require_range("log_deviation", self.log_deviation, 0.01, 2.0)
        require_range("floor", self.floor, 20.0, 1000.0)
        require_range("ceiling", self.ceiling, self.floor, 2000.0)

    @property
    def features(self) -> int:
        """Inputs per phone beside its id: context and timing."""
        return CONTEXT_FEATURES + TIMING_FEATURES


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionerConfig:
    """The vocoder's conditioner: phones, durations and F0 -> log-mel spectrum -> conditioning of every layer."""

    phone_channels: int = 192  # width of the phone-level convolutions
    phone_layers: int = 3
    phone_kernel: int = 5
    frame_channels: int = 192  # width of the frame-level convolutions that predict the spectrum
    frame_dilations: tuple[int, ...] = (1, 2, 4, 8, 1, 2, 4, 8)
    frame_kernel: int = 3
    bias_channels: int = 128  # width of the convolutions from the spectrum to the layers' biases
    bias_kernel: int = 3

    def __post_init__(self) -> None:
        for name in ("phone_channels", "frame_channels", "bias_channels"):
            require_range(f"conditioner.{name}", getattr(self, name), 8, 1024)
        for name in ("phone_kernel", "frame_kernel", "bias_kernel"):
            require_range(f"conditioner.{name}", getattr(self, name), 1, 15)
            if getattr(self, name) % 2 == 0:
                raise ConfigError(f"conditioner.{name} is {getattr(self, name)}; expected an odd number of taps")
        require_range("conditioner.phone_layers", self.phone_layers, 1, 16)
        require_range("number of conditioner.frame_dilations", len(self.frame_dilations), 1, 32)
        for dilation in self.frame_dilations:
            require_range("conditioner.frame_dilations", dilation, 1, 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class VocoderConfig:
    """The vocoder family of design: an autoregressive WaveNet that draws `bunch` samples a step."""

    bunch: int = 6  # samples a step; 1 is the paper's WaveNet
    dilations: tuple[int, ...] = (1, 2, 4, 8, 16, 32) * 2  # of the layers, in steps
    residual: int = 64  # R
    skip: int = 128  # S
    head: int = 64  # H, hidden width of the output of each sample
    levels: int = 256  # A
    history: int = 16  # M, past samples that enter the trunk
    head_history: int = 8  # J, past samples that enter each head
    harmonics: int = 8  # Q, harmonics of the pitch phase given to the trunk
    lpc_order: int = 16  # K, 0 = no linear prediction
    pre_emphasis: float = 0.85
    signal_gain: float = 16.0  # brings the pre-emphasised signal near unit size
    code_scale: float = 8.0  # fills the range of the mu-law code with the residual
    calibrated: bool = False  # whether the weights come with the largest inputs of their matrices, for int8
    mel: MelSpec = field(default_factory=MelSpec)
    conditioner: ConditionerConfig = field(default_factory=ConditionerConfig)

    def __post_init__(self) -> None:
        limits = {
            "bunch": (1, 16), "residual": (4, 512), "skip": (4, 1024), "head": (4, 512), "levels": (256, 256),
            "history": (1, 64), "head_history": (1, 64), "harmonics": (0, 32), "lpc_order": (0, 32),
            "pre_emphasis": (0.0, 0.98), "signal_gain": (1e-3, 1e3), "code_scale": (1e-3, 1e3),
        }  # fmt: skip
        for name, (low, high) in limits.items():
            require_range(f"vocoder.{name}", getattr(self, name), low, high)
        require_range("number of vocoder.dilations", len(self.dilations), 1, 64)
        for dilation in self.dilations:
            require_range("vocoder.dilations", dilation, 1, 1024)
        if self.mel.hop % self.bunch:
            raise ConfigError(f"vocoder.bunch is {self.bunch}; expected a divisor of the hop, {self.mel.hop} samples")

    @property
    def input_width(self) -> int:
        """Width of the trunk's input: three views of the past samples and the pulses."""
        return 3 * self.history + 2 * self.harmonics

    @property
    def head_input_width(self) -> int:
        """Width of each head's input: the prediction (two views) and three views of the past samples."""
        return 2 + 3 * self.head_history

    @property
    def conditioning_width(self) -> int:
        """Values a frame of conditioning holds: 2R for every layer, then S for the skip sum."""
        return len(self.dilations) * 2 * self.residual + self.skip


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphemeToPhonemeConfig:
    """Sizes of the grapheme-to-phoneme network and the units that one letter may stand for."""

    units: tuple[str, ...]  # phones joined by spaces; the first is "" (a silent letter)
    letter_dim: int = 48  # width of a letter's embedding
    encoder_layers: int = 2  # bidirectional GRU layers over the letters
    encoder_dim: int = 192  # their units, each direction
    decoder_dim: int = 256  # units of the GRU that emits one unit per letter
    unit_dim: int = 48  # width of the embedding of the previous unit
    dropout: float = 0.2
    reverse: bool = False  # a second network of these sizes reads from the last letter to the first

    def __post_init__(self) -> None:
        for name in ("letter_dim", "encoder_dim", "decoder_dim", "unit_dim"):
            require_range(name, getattr(self, name), 1, 1024)
        require_range("encoder_layers", self.encoder_layers, 1, 6)
        require_range("dropout", self.dropout, 0.0, 0.9)
        require_range("the number of units", len(self.units), 2, 1024)
        if self.units[0] != "" or len(set(self.units)) != len(self.units):
            raise ConfigError(f"units start with {self.units[:4]!r}; expected distinct units, the silent one '' first")
        for unit in self.units[1:]:
            phones = unit.split(" ")
            if len(phones) > 4 or not set(phones) <= set(PHONES):
                raise ConfigError(f"units hold {unit[:40]!r}; expected one to four ARPAbet phones joined by spaces")


@dataclass(frozen=True, slots=True, kw_only=True)
class HomographConfig:
    """Words of one spelling and several pronunciations, and the sizes of the classifier's tables."""

    words: Mapping[str, tuple[str, ...]]  # word -> its readings, each a name and its phones ("read_past R EH1 D")
    shared: tuple[str, ...] = ()  # words whose second reading is a verb and whose first is none
    shared_bits: int = 16  # the tables have 2 to the power of this many entries
    own_bits: int = 17
    class_bits: int = 16
    classes: int = 128  # of words that stand in similar places
    coarse: int = 32  # classes of classes

    def __post_init__(self) -> None:
        for name in ("shared_bits", "own_bits", "class_bits"):
            require_range(name, getattr(self, name), 4, 20)
        require_range("classes", self.classes, 1, 2048)  # whole numbers that float16 holds
        require_range("coarse", self.coarse, 1, 2048)
        require_range("the number of words", len(self.words), 1, 10_000)
        for word, readings in self.words.items():
            require_range(f"the number of readings of {word[:40]!r}", len(readings), 2, 8)
            for reading in readings:
                _, *phones = reading.split(" ")
                if not phones or not set(phones) <= set(PHONES):
                    raise ConfigError(f"{word[:40]!r} is read as {reading[:60]!r}; expected a name and ARPAbet phones")
        unknown = [word for word in self.shared if len(self.words.get(word, ())) != 2]
        if unknown:
            raise ConfigError(f"shared holds {unknown[0][:40]!r}; expected words with two readings")


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentationConfig:
    """Sizes of the segmentation network: a stem, residual dilated convolutions and two linear readings."""

    bands: int = 80  # mel bands of its input
    stack: int = 2  # frames of 5 ms that one step covers
    channels: int = 160
    stem: int = 5  # taps of the first convolution, odd
    kernel: int = 3  # taps of the residual convolutions, odd
    layers: int = 10  # residual convolutions
    dilations: tuple[int, ...] = (1, 2, 4, 8, 16)  # steps between taps, in turn
    dropout: float = 0.1

    def __post_init__(self) -> None:
        for name in ("bands", "channels"):
            require_range(f"segmentation.{name}", getattr(self, name), 1, 512)
        require_range("segmentation.stack", self.stack, 1, 8)
        require_odd("segmentation.stem", self.stem, 31)
        require_odd("segmentation.kernel", self.kernel, 31)
        require_range("segmentation.layers", self.layers, 0, 32)
        require_range("segmentation.dilations", len(self.dilations), 1, 16)
        for dilation in self.dilations:
            require_range("segmentation.dilations", dilation, 1, 256)
        require_range("segmentation.dropout", self.dropout, 0.0, 0.9)

    def dilation(self, layer: int) -> int:
        """Return the steps between the taps of a residual layer."""
        return self.dilations[layer % len(self.dilations)]

    @property
    def reach(self) -> int:
        """Frames on either side of a step that its scores depend on (beside the level of the whole recording)."""
        steps = self.stem // 2 + sum(self.kernel // 2 * self.dilation(layer) for layer in range(self.layers))
        return steps * self.stack
