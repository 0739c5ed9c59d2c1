"""The benchmark of the device: it verifies what it times, and counts the device's limits right."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from deepvoice.errors import DeepVoiceError
from deepvoice.kernels import cuda, wavenet
from deepvoice.kernels.bench import device
from deepvoice.kernels.bench.inputs import make_shape
from deepvoice.kernels.bench.work import step_work

SHAPE = make_shape(residual=8, skip=8, head=8, bunch=6, dilations=(1, 2))
EFFORT = device.Effort(1, 0.005, 0.005, (1, 2), 1)


def test_a_case_is_verified_and_timed():
    result = device.time_case(device.Case("small", SHAPE, 24000), EFFORT, clock_mhz=1000.0)
    assert result["difference"] < 1e-5
    assert [row["streams"] for row in result["batches"]] == [1, 2]
    assert result["most_total_x"] == max(row["total_x"] for row in result["batches"]) > 0
    assert all(0 < row["float_share"] < 1 for row in result["batches"])


def test_another_code_is_an_error(monkeypatch):
    right = wavenet.generate

    def wrong(*arguments, backend):
        made = right(*arguments, backend=backend)
        return made._replace(codes=made.codes ^ 1) if backend == "cuda" else made

    monkeypatch.setattr(wavenet, "generate", wrong)
    with pytest.raises(DeepVoiceError, match="code 0 of 120 is another one"):
        device.verify(device.random_weights(SHAPE), 1)


def test_shares_of_the_limits():
    hopper = cuda.Device("H200", (9, 0), 132, 232448, 1 << 37, True)
    work = step_work(SHAPE, "float32")
    steps = 132 * 128 * 1e9 / work.multiply_adds  # that fill the device at 1 GHz
    rate_x = steps * SHAPE.bunch / 24000
    shares = device.limits(device.Case("small", SHAPE, 24000), hopper, rate_x, 64, 1000.0)
    assert shares["float_share"] == pytest.approx(1)
    assert shares["tensor_share"] == pytest.approx(1 / 8)
    assert shares["shared_memory_share"] == pytest.approx(work.weight_bytes / work.multiply_adds / 8)
    assert device.limits(device.Case("small", SHAPE, 24000), hopper, rate_x, 64, None) == {}


def test_a_recurrent_layer_is_verified_and_timed():
    result = device.time_gru(8, 3, 1)
    assert result["difference"] < 1e-5 and np.isfinite(result["microseconds_a_row"])


def test_the_script_is_well_formed():
    script = Path(__file__).parents[3] / "kernels" / "cuda" / "device_check.sh"  # of the checkout: wheels lack it
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
