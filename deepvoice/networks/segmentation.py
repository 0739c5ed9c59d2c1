"""Speaking half of `deepvoice.models.segmentation`: a log-mel spectrum -> scores of phones and of boundaries.

No voice needs it to speak; a voice carries it so that its user can align recordings without torch.
"""

from dataclasses import dataclass

import numpy as np

from deepvoice import kernels
from deepvoice.audio.mel import FloatArray
from deepvoice.configs import SegmentationConfig
from deepvoice.networks.phone_encoder import Shapes, Tensors, dense_shapes
from deepvoice.text.phones import BASES

SPREAD = 3.0  # of natural-log power around its mean, in speech
_LOUD = 95  # percentile of the power of a recording that is its level
_RANK, _BELOW = 20, 3.0  # the level is at most so many nats (13 dB) below the 20th loudest frame: most may be silent
NO_LEVEL = float("-inf")  # where nothing else is known of the level of a recording than its own frames
DEPTH = 16.0  # nats below the level (70 dB) at which spectra are cut: digital silence and faint noise look alike
_SPEECH = 8.0  # nats below the level (35 dB) within which frames count as speech
_PATIENCE = 200.0  # frames of speech (1 s) that weigh as much as the typical spectrum


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentationScores:
    """Log-probabilities of one utterance; T steps of `stack` frames, V base phones.

    left_TV, right_TV: the phone before and after a boundary at this step; boundary_T: logit of "a boundary is here";
    frame_FV: the phone of each frame
    """

    left_TV: FloatArray
    right_TV: FloatArray
    boundary_T: FloatArray
    frame_FV: FloatArray


def level_of(mel_FM: FloatArray) -> float:
    """Return the level of a recording, natural-log power: that of its loud frames, also where most are silent."""
    return _level(_power(mel_FM))


def _power(mel_FM: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.exp(np.minimum(mel_FM, np.float32(80.0))).sum(axis=1)), np.float32)


def _level(power_F: FloatArray) -> float:
    rank = min(_RANK, len(power_F))
    return max(float(np.percentile(power_F, _LOUD)), float(np.partition(power_F, -rank)[-rank]) - _BELOW)


def relative_spectrum(mel_FM: FloatArray, least_level: float = NO_LEVEL) -> tuple[FloatArray, FloatArray, int]:
    """Take the level out of a log-mel spectrum.

    mel_FM: float32 [F, bands], natural-log power
    least_level: the level is not below it; of a part of a recording, for parts without speech
    Returns the spectrum relative to its level, cut 70 dB below it, float32 [F, bands]; its mean over frames of speech,
    float32 [bands]; and their number.
    """
    mel_FM = np.asarray(mel_FM, np.float32)
    power_F = _power(mel_FM)
    own = _level(power_F)
    level = np.float32(max(own, least_level))
    relative_FM = np.maximum(mel_FM - level, np.float32(-DEPTH))
    speech_F = power_F > level - np.float32(_SPEECH if own >= least_level else 0.0)  # without speech, noise is none
    count = int(speech_F.sum())
    mean_M = relative_FM[speech_F].mean(axis=0) if count else np.zeros(mel_FM.shape[1], np.float32)
    return relative_FM, mean_M, count


def normalise(mel_FM: FloatArray, typical_M: FloatArray, least_level: float = NO_LEVEL) -> FloatArray:
    """Take level and channel out of a log-mel spectrum: what the network reads.

    least_level: see `relative_spectrum`
    typical_M: mean spectrum of speech relative to its level; a recording's own mean takes its place as it gets longer
    Returns float32 [F, bands], about zero mean and unit spread in speech.
    """
    if not len(mel_FM):
        return np.zeros_like(mel_FM, np.float32)
    relative_FM, mean_M, count = relative_spectrum(mel_FM, least_level)
    share = np.float32(count / (count + _PATIENCE))
    return (relative_FM - (share * mean_M + (1 - share) * typical_M)) * np.float32(1 / SPREAD)


class SegmentationNetwork:
    """The segmentation network of a voice, ready to align."""

    def __init__(self, tensors: Tensors, config: SegmentationConfig) -> None:
        """Prepare the tensors, which must have the names and shapes of `expected_shapes`."""
        self.config = config
        names = ("input", *(f"convs.{i}" for i in range(config.layers)))
        self._convs = [
            (np.ascontiguousarray(tensors[f"{name}.weight"].transpose(0, 2, 1)), tensors[f"{name}.bias"])
            for name in names
        ]
        self._typical_M = tensors["typical"]
        self._pair = (tensors["pair.weight"], tensors["pair.bias"])
        self._frame = (tensors["frame.weight"], tensors["frame.bias"])

    @staticmethod
    def expected_shapes(config: SegmentationConfig) -> Shapes:
        """Return the name and shape of every tensor."""
        C, V = config.channels, len(BASES)
        inputs = config.bands * config.stack
        shapes: Shapes = {"typical": (config.bands,), "input.weight": (C, inputs, config.stem), "input.bias": (C,)}
        for i in range(config.layers):
            shapes |= {f"convs.{i}.weight": (C, C, config.kernel), f"convs.{i}.bias": (C,)}
        return shapes | dense_shapes("pair", 2 * V + 1, C) | dense_shapes("frame", config.stack * V, C)

    def __call__(self, mel_FM: FloatArray, least_level: float = NO_LEVEL) -> SegmentationScores:
        """Read a log-mel spectrum, float32 [F, bands]; F must be a multiple of the stack. least_level: see `normalise`.

        Scores depend on `config.reach` frames to either side, and on the level and the mean spectrum of the whole.
        """
        stack, V = self.config.stack, len(BASES)
        frames, bands = mel_FM.shape
        if frames % stack or bands != self.config.bands:
            raise ValueError(f"mel of shape {mel_FM.shape}; expected frames in {stack}s and {self.config.bands} bands")
        x_TI = normalise(mel_FM, self._typical_M, least_level).reshape(frames // stack, stack * bands)
        h_TC = kernels.conv1d(x_TI, *self._convs[0])
        for layer, (weight_OKI, bias_O) in enumerate(self._convs[1:]):
            h_TC += kernels.conv1d(np.maximum(h_TC, 0), weight_OKI, bias_O, dilation=self.config.dilation(layer))
        h_TC = np.maximum(h_TC, 0)
        pair_TX = kernels.dense(h_TC, *self._pair)
        return SegmentationScores(
            left_TV=_log_softmax(pair_TX[:, :V]),
            right_TV=_log_softmax(pair_TX[:, V : 2 * V]),
            boundary_T=pair_TX[:, 2 * V],
            frame_FV=_log_softmax(kernels.dense(h_TC, *self._frame).reshape(frames, V)),
        )


def _log_softmax(logits_TV: FloatArray) -> FloatArray:
    shifted_TV = logits_TV - logits_TV.max(axis=1, keepdims=True)
    return shifted_TV - np.log(np.exp(shifted_TV).sum(axis=1, keepdims=True))
