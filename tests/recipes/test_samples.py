"""What a run lets its reader see and hear: files, and the same in TensorBoard."""

import sys

import numpy as np
import soundfile
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from deepvoice.recipes.common import samples as module
from deepvoice.recipes.common.plot import draw_alignment, draw_contours, draw_spectra, draw_table
from deepvoice.recipes.common.samples import Samples

MEL = np.random.default_rng(0).uniform(-15, 5, (100, 80)).astype(np.float32)


def test_sound_and_pictures_are_written_twice(tmp_path):
    samples = Samples(tmp_path, 50)
    speech = np.sin(np.arange(2400) / 10).astype(np.float32) * 0.5
    samples.audio("speech", speech, 24000)
    durations = np.array([20, 50, 0, 30])
    samples.picture("spectra", draw_spectra({"a": MEL, "b": MEL}))
    symbols = ["sil", "AA", ",", "."]
    samples.picture("alignment", draw_alignment(symbols, {"one": durations, "two": durations * 0.9}, MEL))
    samples.picture("strips", draw_alignment(symbols, {"one": durations}))
    samples.picture("contours", draw_contours({"f0": np.where(np.arange(100) > 50, 200.0, 0.0).astype(np.float32)}))
    samples.picture("table", draw_table(np.eye(3, 4, dtype=np.float32), list("cat"), ["K", "AE1", "T", "-"]))
    names = {path.name for path in (tmp_path / "samples").iterdir()}
    pictures = {"spectra", "alignment", "strips", "contours", "table"}
    assert names == {"000050-speech.wav"} | {f"000050-{name}.png" for name in pictures}
    found, rate = soundfile.read(tmp_path / "samples" / "000050-speech.wav")
    assert rate == 24000 and np.abs(found - speech).max() < 1e-3
    board = EventAccumulator(str(tmp_path / "tensorboard"), size_guidance={"images": 0, "audio": 0})
    board.Reload()
    assert set(board.Tags()["images"]) == pictures and board.Tags()["audio"] == ["speech"]
    assert board.Images("table")[0].step == 50 and board.Images("table")[0].width > 100


def test_a_machine_without_tensorboard_or_matplotlib_still_has_the_files(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    samples = Samples(tmp_path, 1)
    samples.audio("speech", np.zeros(10, np.float32), 24000)
    assert samples.path("speech", ".wav").exists() and not (tmp_path / "tensorboard").exists()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    drawn = [draw_spectra({"a": MEL}), draw_contours({"a": MEL[:, 0]}), draw_table(MEL, [], []),
             draw_alignment(["a"], {"b": np.ones(1)})]  # fmt: skip
    for figure in drawn:
        samples.picture("none", figure)
    assert drawn == [None] * 4 and not samples.path("none", ".png").exists()
    module._board.cache_clear()
