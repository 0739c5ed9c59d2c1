"""Speaking half of `deepvoice.models.duration`: a sentence and a speaking rate -> frames of every phone."""

import numpy as np
from numpy.typing import NDArray

from deepvoice import kernels
from deepvoice.configs import DurationConfig
from deepvoice.networks.phone_encoder import (
    FloatArray,
    PhoneEncoder,
    Shapes,
    Tensors,
    dense_shapes,
    packed_dense,
)
from deepvoice.text.context import context_features
from deepvoice.text.phones import NUM_SILENCES
from deepvoice.text.sequence import PhoneSequence

MAX_FRAMES = 2000  # 10 s; no phone or pause is longer, whatever the speaking rate


def duration_features(sequence: PhoneSequence, speed: float) -> FloatArray:
    """Return the context features and the logarithm of the speaking rate, float32 [P, X]."""
    rate_P1 = np.full((len(sequence), 1), np.log(speed), np.float32)
    return np.concatenate([context_features(sequence), rate_P1], axis=1)


def whole_frames(durations_P: NDArray[np.float64], shortest_P: NDArray[np.int64]) -> NDArray[np.int64]:
    """Round durations so that errors do not add up: each phone ends at the frame nearest to where it should end.

    durations_P: float64 [P] frames; shortest_P: int64 [P], least frames of each
    Returns int64 [P].
    """
    ends_P = np.rint(np.cumsum(durations_P)).astype(np.int64)
    return np.maximum(np.diff(ends_P, prepend=0), shortest_P)


class DurationNetwork:
    """The duration model of a voice, ready to speak."""

    def __init__(self, tensors: Tensors, config: DurationConfig) -> None:
        """Prepare the tensors, which must have the names and shapes of `expected_shapes`."""
        self.config = config
        self._encoder = PhoneEncoder(tensors, "encoder", config.layers)
        self._hidden = packed_dense(tensors, "hidden")
        self._output = packed_dense(tensors, "output")
        self._edges = np.asarray(config.bucket_edges())

    @staticmethod
    def expected_shapes(config: DurationConfig) -> Shapes:
        """Return the name and shape of every tensor."""
        size = config.channels + 2 * config.recurrent
        return {
            **PhoneEncoder.expected_shapes(
                "encoder",
                features=config.features,
                channels=config.channels,
                layers=config.layers,
                width=config.width,
                recurrent=config.recurrent,
            ),
            **dense_shapes("hidden", config.hidden, size),
            **dense_shapes("output", config.buckets, config.hidden),
        }

    def logits(self, sequence: PhoneSequence, speed: float) -> FloatArray:
        """Return the logits of the buckets, float32 [P, buckets]."""
        encoded_PE = self._encoder(sequence.ids_P, duration_features(sequence, speed))
        return kernels.affine(kernels.affine(encoded_PE, self._hidden, activation="relu"), self._output)

    def median(self, logits_PA: FloatArray) -> NDArray[np.float64]:
        """Decode the median of the buckets, float64 [P] frames, with straight lines between their edges."""
        logits_PA = np.nan_to_num(logits_PA.astype(np.float64), nan=0.0, posinf=1e30, neginf=-1e30)
        mass_PA = np.exp(logits_PA - logits_PA.max(axis=1, keepdims=True))
        mass_PA /= mass_PA.sum(axis=1, keepdims=True)
        below_PA = np.cumsum(mass_PA, axis=1)
        index_P = np.minimum((below_PA < 0.5).sum(axis=1), self.config.buckets - 1)
        rows_P = np.arange(len(index_P))
        mass_P = mass_PA[rows_P, index_P]
        share_P = np.clip((0.5 - below_PA[rows_P, index_P] + mass_P) / np.maximum(mass_P, 1e-6), 0.0, 1.0)
        low_P, high_P = self._edges[index_P], self._edges[index_P + 1]
        return low_P + share_P * (high_P - low_P)

    def __call__(self, sequence: PhoneSequence, speed: float = 1.0) -> NDArray[np.int64]:
        """Predict how long every symbol lasts.

        speed: speaking rate, 2 is twice as fast; beyond the range that training covered durations are divided
        Returns int64 [P] frames of 5 ms: phones at least 1, silences at least 0, none above MAX_FRAMES.
        """
        if not (np.isfinite(speed) and speed > 0):
            raise ValueError(f"speed is {speed!r}; expected a rate above 0, such as 1.0")
        known = float(np.clip(speed, self.config.slowest, self.config.fastest))
        durations_P = self.median(self.logits(sequence, known)) * (known / speed)
        shortest_P = (sequence.ids_P >= NUM_SILENCES).astype(np.int64)
        return whole_frames(np.minimum(durations_P, MAX_FRAMES), shortest_P)
