"""Mu-law companding: round trips, symmetry and clipping."""

import numpy as np
import pytest

from deepvoice.audio.companding import compress, encode, expand, level_amplitudes


@pytest.mark.parametrize("scale", [1.0, 8.0, 0.5])
def test_every_level_survives_the_round_trip(scale: float) -> None:
    codes = np.arange(256, dtype=np.uint8)
    assert (encode(expand(codes, scale), scale) == codes).all()


def test_levels_are_odd_and_increasing() -> None:
    amplitudes = level_amplitudes(8.0)
    np.testing.assert_allclose(amplitudes, -amplitudes[::-1])
    assert (np.diff(amplitudes) > 0).all()
    assert amplitudes[-1] == pytest.approx(1 / 8)


def test_out_of_range_values_take_the_outermost_levels() -> None:
    assert encode(np.array([-9.0, 9.0], np.float32), 8.0).tolist() == [0, 255]
    assert compress(np.array([-9.0, 0.0, 9.0], np.float32), 8.0).tolist() == [-1.0, 0.0, 1.0]


def test_error_is_at_most_half_a_step() -> None:
    values = np.linspace(-0.12, 0.12, 4001, dtype=np.float32)
    step = (np.abs(values) + 1 / (255 * 8)) * np.log(256) / 127.5
    assert (np.abs(expand(encode(values, 8.0), 8.0) - values) <= 0.51 * step).all()
