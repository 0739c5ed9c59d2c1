"""Speaking half of `deepvoice.models.f0`: a sentence and its durations -> F0 and voicing of every frame."""

import numpy as np
from numpy.typing import NDArray

from deepvoice import kernels
from deepvoice.configs import F0Config
from deepvoice.networks.phone_encoder import (
    FloatArray,
    PhoneEncoder,
    ResidualConv,
    Shapes,
    Tensors,
    dense_shapes,
    norm_shapes,
    packed_dense,
)
from deepvoice.text.context import FRAME_FEATURES, context_features, frame_features, timing_features
from deepvoice.text.sequence import PhoneSequence


def f0_features(sequence: PhoneSequence, durations_P: NDArray[np.int64]) -> FloatArray:
    """Return the context and timing features of the phones, float32 [P, X]."""
    return np.concatenate([context_features(sequence), timing_features(sequence, durations_P)], axis=1)


class F0Network:
    """The F0 model of a voice, ready to speak."""

    def __init__(self, tensors: Tensors, config: F0Config) -> None:
        """Prepare the tensors, which must have the names and shapes of `expected_shapes`."""
        self.config = config
        self._encoder = PhoneEncoder(tensors, "encoder", config.layers)
        self._project = packed_dense(tensors, "project")
        self._frame_features = packed_dense(tensors, "frame_features")
        self._convs = [
            ResidualConv(tensors, f"convs.{i}", dilation) for i, dilation in enumerate(config.frame_dilations)
        ]
        self._norm = (tensors["norm.weight"], tensors["norm.bias"])
        self._output = packed_dense(tensors, "output")

    @staticmethod
    def expected_shapes(config: F0Config) -> Shapes:
        """Return the name and shape of every tensor."""
        channels = config.frame_channels
        shapes = {
            **PhoneEncoder.expected_shapes(
                "encoder",
                features=config.features,
                channels=config.channels,
                layers=config.layers,
                width=config.width,
                recurrent=config.recurrent,
            ),
            **dense_shapes("project", channels, config.channels + 2 * config.recurrent),
            **dense_shapes("frame_features", channels, FRAME_FEATURES),
            **norm_shapes("norm", channels),
            **dense_shapes("output", 2 * config.frame_step, channels),
        }
        for i in range(len(config.frame_dilations)):
            shapes |= ResidualConv.expected_shapes(f"convs.{i}", channels, config.frame_width)
        return shapes

    def outputs(self, sequence: PhoneSequence, durations_P: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """Return voicing logits and normalised log F0, both float32 [F]."""
        frames = int(durations_P.sum())
        phone_N, frame_features_NY = frame_features(durations_P, self.config.frame_step)
        encoded_PE = self._encoder(sequence.ids_P, f0_features(sequence, durations_P))
        phones_PD = kernels.affine(encoded_PE, self._project)
        x_ND = phones_PD[phone_N] + kernels.affine(frame_features_NY, self._frame_features)
        for conv in self._convs:
            x_ND = conv(x_ND)
        y_NS = kernels.affine(kernels.layer_norm(x_ND, *self._norm), self._output)
        step = self.config.frame_step
        return y_NS[:, :step].reshape(-1)[:frames], y_NS[:, step:].reshape(-1)[:frames]

    def __call__(self, sequence: PhoneSequence, durations_P: NDArray[np.int64]) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Predict the pitch of a sentence.

        durations_P: int [P] frames of 5 ms, each >= 0; their sum is F, which may be 0
        Returns F0 in Hz, float32 [F], continuous (unvoiced frames have a value too), and voicing, bool [F].
        """
        durations_P = np.asarray(durations_P, np.int64)
        if durations_P.shape != (len(sequence),) or (durations_P < 0).any():
            raise ValueError(f"durations must be {len(sequence)} frame counts >= 0, got {durations_P!r}")
        if not durations_P.any():
            return np.zeros(0, np.float32), np.zeros(0, np.bool_)
        voicing_F, pitch_F = self.outputs(sequence, durations_P)
        config = self.config
        logarithm_F = np.nan_to_num(pitch_F.astype(np.float64)) * config.log_deviation + config.log_mean
        f0_F = np.exp(np.clip(logarithm_F, np.log(config.floor), np.log(config.ceiling)))
        return f0_F.astype(np.float32), voicing_F > 0.0
