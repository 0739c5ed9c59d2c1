"""The vocoder's conditioner, speaking half: phones, durations and F0 -> spectrum of every frame."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from deepvoice import kernels
from deepvoice.audio.mel import FloatArray
from deepvoice.configs import ConditionerConfig
from deepvoice.kernels import LayerPrecision, Packed
from deepvoice.networks.phone_encoder import ResidualConv, Shapes, dense_shapes, packed_dense
from deepvoice.text.context import CONTEXT_FEATURES, FRAME_FEATURES, context_features, frame_features
from deepvoice.text.phones import SYMBOLS
from deepvoice.text.sequence import PhoneSequence

# Log-mel power of speech has a mean near -6 and a spread near 5; F0 of the shipped voice lies around 180 Hz.
MEL_MEAN, MEL_SPREAD = -6.0, 5.0
LOG_F0_MEAN, LOG_F0_SPREAD = float(np.log(180.0)), 0.3


def pitch_inputs(f0_F: FloatArray, voiced_F: NDArray[np.bool_]) -> FloatArray:
    """Scale F0 (float32 [F] Hz, continuous) and voicing (bool [F]) for the networks, float32 [F, 2]."""
    pitch_F = (np.log(f0_F) - LOG_F0_MEAN) / LOG_F0_SPREAD
    return np.stack([pitch_F, voiced_F], axis=1).astype(np.float32)


def frame_inputs(mel_FM: FloatArray, f0_F: FloatArray, voiced_F: NDArray[np.bool_]) -> FloatArray:
    """Scale spectrum, F0 and voicing for the bias network.

    mel_FM: float32 [F, bands] log power; f0_F: float32 [F] Hz, continuous; voiced_F: bool [F]
    Returns float32 [F, bands + 2].
    """
    mel_FM = (mel_FM - np.float32(MEL_MEAN)) / np.float32(MEL_SPREAD)
    return np.concatenate([mel_FM, pitch_inputs(f0_F, voiced_F)], axis=1).astype(np.float32)


def conditioner_inputs(
    sequence: PhoneSequence, durations_P: NDArray[np.int64], f0_F: FloatArray, voiced_F: NDArray[np.bool_]
) -> tuple[FloatArray, NDArray[np.int64], FloatArray]:
    """Return context features [P, 12], the phone of every frame [F] and frame features with pitch [F, 6]."""
    phone_F, place_FX = frame_features(durations_P, 1)
    if len(phone_F) != len(f0_F):
        raise ValueError(f"durations add up to {len(phone_F)} frames but F0 has {len(f0_F)}")
    frame_FX = np.concatenate([place_FX, pitch_inputs(f0_F, voiced_F)], axis=1)
    return context_features(sequence), phone_F, frame_FX


def expected_shapes(config: ConditionerConfig, bands: int, prefix: str = "") -> Shapes:
    """Return the name and shape of every tensor of the conditioner."""
    phone, frame = config.phone_channels, config.frame_channels
    shapes: Shapes = {f"{prefix}embedding.weight": (len(SYMBOLS), phone)}
    shapes |= dense_shapes(f"{prefix}features", phone, CONTEXT_FEATURES)
    for i in range(config.phone_layers):
        shapes |= ResidualConv.expected_shapes(f"{prefix}phone_convs.{i}", phone, config.phone_kernel)
    shapes |= dense_shapes(f"{prefix}frame_in", frame, phone + FRAME_FEATURES + 2)
    for i in range(len(config.frame_dilations)):
        shapes |= ResidualConv.expected_shapes(f"{prefix}frame_convs.{i}", frame, config.frame_kernel)
    return shapes | dense_shapes(f"{prefix}spectrum", bands, frame)


class ConditionerNetwork:
    """Predicts the spectrum of a sentence."""

    def __init__(
        self,
        tensors: Mapping[str, FloatArray],
        config: ConditionerConfig,
        prefix: str = "",
        precision: LayerPrecision = "float32",
    ) -> None:
        """Prepare the tensors of `expected_shapes`; precision is that of the convolutions over frames."""
        self._embedding_SC = tensors[f"{prefix}embedding.weight"]
        self._features = packed_dense(tensors, f"{prefix}features")
        self._spectrum = packed_dense(tensors, f"{prefix}spectrum", precision)
        # The part of `frame_in` that sees the phones is applied to phones, not to frames.
        weight_FI, bias_F = tensors[f"{prefix}frame_in.weight"], tensors[f"{prefix}frame_in.bias"]
        self._phone_in = Packed(np.ascontiguousarray(weight_FI[:, : config.phone_channels]), bias_F)
        self._frame_in = Packed(np.ascontiguousarray(weight_FI[:, config.phone_channels :]))
        self._phone_convs = [ResidualConv(tensors, f"{prefix}phone_convs.{i}", 1) for i in range(config.phone_layers)]
        self._frame_convs = [
            ResidualConv(tensors, f"{prefix}frame_convs.{i}", dilation, precision)
            for i, dilation in enumerate(config.frame_dilations)
        ]

    def __call__(
        self, sequence: PhoneSequence, durations_P: NDArray[np.int64], f0_F: FloatArray, voiced_F: NDArray[np.bool_]
    ) -> FloatArray:
        """Predict the log-mel spectrum, float32 [F, bands].

        durations_P: int64 [P] frames, their sum is F; f0_F: float32 [F] Hz, continuous; voiced_F: bool [F]
        """
        context_PX, phone_F, frame_FX = conditioner_inputs(sequence, durations_P, f0_F, voiced_F)
        x_PC = self._embedding_SC[sequence.ids_P] + kernels.affine(context_PX, self._features)
        for conv in self._phone_convs:
            x_PC = conv(x_PC)
        y_FC = kernels.affine(frame_FX, self._frame_in)
        y_FC += kernels.affine(x_PC, self._phone_in)[phone_F]
        for conv in self._frame_convs:
            y_FC = conv(y_FC)
        mel_FM = kernels.affine(y_FC, self._spectrum)
        mel_FM *= np.float32(MEL_SPREAD)
        mel_FM += np.float32(MEL_MEAN)
        return mel_FM
