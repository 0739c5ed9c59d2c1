"""Speaking half of `deepvoice.models.segmentation`: a log-mel spectrum -> scores of phones and of boundaries.

No voice needs it to speak; a voice carries it so that its user can align recordings without torch.
"""

from dataclasses import dataclass

import numpy as np

from deepvoice import kernels
from deepvoice.audio.mel import FloatArray
from deepvoice.configs import SegmentationConfig
from deepvoice.networks.gru import BACKWARD, FORWARD, gru_shapes, gru_weights
from deepvoice.networks.phone_encoder import Shapes, Tensors, dense_shapes
from deepvoice.text.phones import BASES

MEL_MEAN, MEL_SCALE = -7.0, 4.0  # centre and spread of natural-log mel power of speech at a normal level


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
        self._forward = gru_weights(tensors, "gru", FORWARD)
        self._backward = gru_weights(tensors, "gru", BACKWARD)
        self._pair = (tensors["pair.weight"], tensors["pair.bias"])
        self._frame = (tensors["frame.weight"], tensors["frame.bias"])

    @staticmethod
    def expected_shapes(config: SegmentationConfig) -> Shapes:
        """Return the name and shape of every tensor."""
        C, H, K, V = config.channels, config.hidden, config.kernel, len(BASES)
        shapes: Shapes = {"input.weight": (C, config.bands * config.stack, K), "input.bias": (C,)}
        for i in range(config.layers):
            shapes |= {f"convs.{i}.weight": (C, C, K), f"convs.{i}.bias": (C,)}
        for direction in (FORWARD, BACKWARD):
            shapes |= gru_shapes("gru", C, H, direction)
        width = 2 * H + C
        return shapes | dense_shapes("pair", 2 * V + 1, width) | dense_shapes("frame", config.stack * V, width)

    def __call__(self, mel_FM: FloatArray) -> SegmentationScores:
        """Read a log-mel spectrum, float32 [F, bands]; F must be a multiple of the stack."""
        stack, V = self.config.stack, len(BASES)
        frames, bands = mel_FM.shape
        if frames % stack or bands != self.config.bands:
            raise ValueError(f"mel of shape {mel_FM.shape}; expected frames in {stack}s and {self.config.bands} bands")
        x_TI = ((mel_FM - np.float32(MEL_MEAN)) / np.float32(MEL_SCALE)).reshape(frames // stack, stack * bands)
        h_TC = kernels.conv1d(x_TI, *self._convs[0], activation="relu")
        for weight_OKI, bias_O in self._convs[1:]:
            h_TC = h_TC + kernels.conv1d(h_TC, weight_OKI, bias_O, activation="relu")
        forward_TH, _ = kernels.gru(h_TC, *self._forward)
        backward_TH, _ = kernels.gru(h_TC, *self._backward, reverse=True)
        both_TD = np.concatenate([forward_TH, backward_TH, h_TC], axis=1)
        pair_TX = kernels.dense(both_TD, *self._pair)
        return SegmentationScores(
            left_TV=_log_softmax(pair_TX[:, :V]),
            right_TV=_log_softmax(pair_TX[:, V : 2 * V]),
            boundary_T=pair_TX[:, 2 * V],
            frame_FV=_log_softmax(kernels.dense(both_TD, *self._frame).reshape(frames, V)),
        )


def _log_softmax(logits_TV: FloatArray) -> FloatArray:
    shifted_TV = logits_TV - logits_TV.max(axis=1, keepdims=True)
    return shifted_TV - np.log(np.exp(shifted_TV).sum(axis=1, keepdims=True))
