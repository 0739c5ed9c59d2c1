"""Pitch tracking for corpora: F0 by WORLD's DIO and StoneMask, and the phase of the fundamental.

The phase is measured by complex demodulation: the recording is multiplied with exp(-2 pi i phi0), phi0 being the
integral of the tracked F0; the argument of the smoothed product is how far the fundamental of the recording is
ahead of phi0.
"""

import sys
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray
from deepvoice.audio.pulses import interpolate_unvoiced, phase_from_f0

F0_FLOOR = 75.0  # Hz, as in the paper's pitch script
F0_CEILING = 500.0  # Hz
_DEMODULATION_WINDOW = 0.02  # s, Hann; its main lobe rejects the second harmonic of voices above 100 Hz


def track_f0(samples_T: FloatArray, sample_rate: int, hop: int, frames: int) -> FloatArray:
    """Track F0 at the middle of every frame.

    samples_T: float32 [T]
    Returns float32 [frames] Hz, 0 where unvoiced.
    """
    world = _world()
    # WORLD's frames start at sample 0; shift by half a hop to read the middle of ours.
    signal = np.concatenate([samples_T[hop // 2 :], np.zeros(hop // 2 + hop, samples_T.dtype)]).astype(np.float64)
    period_ms = 1000.0 * hop / sample_rate
    coarse, times = world.dio(signal, sample_rate, f0_floor=F0_FLOOR, f0_ceil=F0_CEILING, frame_period=period_ms)
    refined = world.stonemask(signal, coarse, times, sample_rate)
    return np.asarray(refined[:frames], np.float32)


@lru_cache(maxsize=1)
def _world() -> Any:
    """Return WORLD's compiled functions, of the [train] extra.

    They are loaded without the package around them: that imports pkg_resources, which warns that it will go.
    """
    name = "pyworld.pyworld"
    if name in sys.modules:
        return sys.modules[name]
    package = find_spec("pyworld")
    found = package and PathFinder.find_spec("pyworld", package.submodule_search_locations)
    spec = found and found.origin and spec_from_file_location(name, found.origin)
    if not spec or spec.loader is None:
        raise ModuleNotFoundError("No module named 'pyworld'; pip install 'deepvoice[train]'", name="pyworld")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def track_phase(samples_T: FloatArray, f0_F: FloatArray, sample_rate: int, hop: int) -> NDArray[np.float64]:
    """Measure the phase of the fundamental at frame edges.

    samples_T: float32 [T]; f0_F: float32 [F] Hz, 0 where unvoiced
    Returns float64 [F + 1] in cycles, never decreasing by construction of the unwrapping.
    """
    frames = len(f0_F)
    phase_E = phase_from_f0(interpolate_unvoiced(f0_F), hop, sample_rate)
    phase_T = np.interp(np.arange(frames * hop) / hop, np.arange(frames + 1), phase_E)
    signal = np.zeros(frames * hop)
    signal[: len(samples_T)] = samples_T[: frames * hop]
    product = signal * np.exp(-2j * np.pi * phase_T)
    half = int(_DEMODULATION_WINDOW * sample_rate) // 2
    window = np.hanning(2 * half + 1)[:-1]
    padded = np.pad(product, (half, half + hop))
    at_edges = np.lib.stride_tricks.sliding_window_view(padded, 2 * half)[::hop][: frames + 1] @ window
    voiced = np.concatenate([f0_F[:1], f0_F]) * np.concatenate([f0_F, f0_F[-1:]]) > 0
    if not voiced.any():
        return phase_E
    where = np.flatnonzero(voiced)
    ahead = np.unwrap(np.angle(at_edges[where])) / (2 * np.pi)
    return phase_E + np.interp(np.arange(frames + 1), where, ahead)
