"""Speaking half of the vocoder: conditioner, linear prediction, biases of every layer, weights for the kernel.

Its tensors are those of `deepvoice.models.vocoder.WaveNet` under their own names and those of
`deepvoice.models.conditioner.Conditioner` under the prefix `conditioner.`.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from deepvoice import kernels
from deepvoice.audio.lpc import lpc_from_mel
from deepvoice.audio.mel import FloatArray
from deepvoice.configs import VocoderConfig
from deepvoice.errors import VoiceError
from deepvoice.kernels import Precision, WaveNetShape, WaveNetWeights
from deepvoice.kernels.weights import LIMIT_RANGE
from deepvoice.networks import conditioner
from deepvoice.networks.conditioner import ConditionerNetwork, frame_inputs
from deepvoice.networks.phone_encoder import packed_conv, packed_dense
from deepvoice.text.sequence import PhoneSequence

CONDITIONER = "conditioner."  # prefix of the conditioner's tensors
LIMITS = "calibration.limits"  # present in a calibrated voice
Tensors = Mapping[str, FloatArray]
Shapes = dict[str, tuple[int, ...]]


class VocoderNetwork:
    """The vocoder of a voice.

    `spectrum`, `predictor` and `hidden` are for a whole sentence, `project` for a piece of it; `weights` are those of
    the WaveNet kernel.
    """

    def __init__(self, tensors: Tensors, config: VocoderConfig, precision: Precision = "float32") -> None:
        """Prepare the tensors, which must have the names and shapes of `expected_shapes`.

        precision: of the WaveNet; where it is not float32, the layers over frames that lead to it are in bfloat16 if
            that is faster
        """
        self.config = config
        self.weights = wavenet_weights(tensors, config, precision)
        layers = kernels.layer_precision(precision)
        self._conditioner = ConditionerNetwork(tensors, config.conditioner, CONDITIONER, layers)
        self._convs = [packed_conv(tensors, f"bias_net.{name}", layers) for name in ("conv1", "conv2")]
        self._out = packed_dense(tensors, "bias_net.out", layers)

    @staticmethod
    def expected_shapes(config: VocoderConfig) -> Shapes:
        """Return the name and shape of every tensor."""
        R, S, H = config.residual, config.skip, config.head
        width, taps = config.conditioner.bias_channels, config.conditioner.bias_kernel
        shapes: Shapes = {
            "bias_net.conv1.weight": (width, config.mel.bands + 2, taps),
            "bias_net.conv1.bias": (width,),
            "bias_net.conv2.weight": (width, width, taps),
            "bias_net.conv2.bias": (width,),
            "bias_net.out.weight": (config.conditioning_width, width),
            "bias_net.out.bias": (config.conditioning_width,),
            "input.weight": (R, config.input_width),
            "input.bias": (R,),
            "skip_to_heads.weight": (config.bunch * H, S),
            "skip_to_heads.bias": (config.bunch * H,),
            "head_input.weight": (H, config.head_input_width),
            "output.weight": (config.levels, H),
            "output.bias": (config.levels,),
        }
        for i in range(len(config.dilations)):
            shapes[f"layers.{i}.bias"] = (R,)
            shapes[f"layers.{i}.taps.weight"] = (4 * R, R)
            shapes[f"layers.{i}.out.weight"] = (R + S, R)
        if config.calibrated:
            shapes[LIMITS] = (len(config.dilations) + 2,)
        return shapes | conditioner.expected_shapes(config.conditioner, config.mel.bands, CONDITIONER)

    def spectrum(
        self, sequence: PhoneSequence, durations_P: NDArray[np.int64], f0_F: FloatArray, voiced_F: NDArray[np.bool_]
    ) -> FloatArray:
        """Predict the log-mel spectrum of a sentence, float32 [F, bands]; see `ConditionerNetwork`."""
        return self._conditioner(sequence, durations_P, f0_F, voiced_F)

    def predictor(self, mel_FM: FloatArray) -> FloatArray:
        """Return the linear prediction that belongs to a spectrum, float32 [F, lpc_order]."""
        config = self.config
        if not config.lpc_order:
            return np.zeros((len(mel_FM), 0), np.float32)
        return lpc_from_mel(mel_FM, config.mel, config.lpc_order, config.pre_emphasis)

    def hidden(self, mel_FM: FloatArray, f0_F: FloatArray, voiced_F: NDArray[np.bool_]) -> FloatArray:
        """Return what `project` needs of a whole sentence, float32 [F, D].

        mel_FM: float32 [F, bands]; f0_F: float32 [F] Hz, continuous; voiced_F: bool [F]
        """
        hidden_FD = frame_inputs(mel_FM, f0_F, voiced_F)
        for conv in self._convs:
            hidden_FD = kernels.affine(hidden_FD, conv, activation="relu")
        return hidden_FD

    def project(self, hidden_FD: FloatArray) -> FloatArray:
        """Return the conditioning of some frames, float32 [F, L * 2R + S]; a second of it would be more than a MB."""
        return kernels.affine(hidden_FD, self._out)

    def biases(
        self, mel_FM: FloatArray, f0_F: FloatArray, voiced_F: NDArray[np.bool_], first: int, last: int
    ) -> FloatArray:
        """Return the conditioning of frames first..last of a sentence; the arguments are those of `hidden`."""
        return self.project(self.hidden(mel_FM, f0_F, voiced_F)[first:last])


def wavenet_weights(tensors: Tensors, config: VocoderConfig, precision: Precision = "float32") -> WaveNetWeights:
    """Arrange torch's tensors as the kernel reads them.

    A layer's `taps` are 2R rows for the current step over 2R rows for the past one; its `out` is R residual rows over
    S skip rows. All samples of a bunch share `head_input`, the kernel has one for each.
    """
    R, layers = config.residual, range(len(config.dilations))
    taps = np.stack([tensors[f"layers.{i}.taps.weight"] for i in layers])
    out = np.stack([tensors[f"layers.{i}.out.weight"] for i in layers])
    bias = np.stack([tensors[f"layers.{i}.bias"] for i in layers])
    draw = np.broadcast_to(tensors["head_input.weight"], (config.bunch, config.head, config.head_input_width))
    shape = WaveNetShape(
        hop=config.mel.hop,
        bunch=config.bunch,
        dilations=config.dilations,
        residual=config.residual,
        skip=config.skip,
        head=config.head,
        levels=config.levels,
        history=config.history,
        head_history=config.head_history,
        harmonics=config.harmonics,
        lpc_order=config.lpc_order,
        pre_emphasis=config.pre_emphasis,
        signal_gain=config.signal_gain,
        code_scale=config.code_scale,
    )

    def array(values: NDArray[np.float32]) -> FloatArray:
        return np.ascontiguousarray(values, np.float32)

    low, high = LIMIT_RANGE
    limits = array(tensors[LIMITS]) if config.calibrated else None
    if limits is not None and not np.all((limits >= low) & (limits <= high)):
        raise VoiceError(f"its vocoder has calibration limits outside {low:g} to {high:g}; calibrate and pack it again")

    return WaveNetWeights(
        shape=shape,
        input_weight=array(tensors["input.weight"]),
        input_bias=array(tensors["input.bias"]),
        past_weight=array(taps[:, 2 * R :]),
        current_weight=array(taps[:, : 2 * R]),
        residual_weight=array(out[:-1, :R]),
        residual_bias=array(bias[:-1]),
        skip_weight=array(out[:, R:]),
        bunch_weight=array(tensors["skip_to_heads.weight"]),
        bunch_bias=array(tensors["skip_to_heads.bias"]),
        draw_weight=array(draw),
        output_weight=array(tensors["output.weight"]),
        output_bias=array(tensors["output.bias"]),
        precision=precision,
        limits=limits,
    )
