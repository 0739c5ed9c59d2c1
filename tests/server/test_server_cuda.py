"""A server whose voice speaks on a device (emulated): the same samples, computed together."""

import importlib.util
import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import soundfile

from deepvoice.kernels.cuda import EMULATION_ENVIRONMENT
from deepvoice.server.engine import Voices

# Wheels have none; tests/kernels/cuda/conftest.py sees to it that a development install has it.
EMULATED = importlib.util.find_spec("deepvoice.kernels._cuda_emulated")


@pytest.mark.parametrize("backend", ["cuda"] if EMULATED else [])
def test_a_server_speaks_through_the_device(start, tiny_voice, voice, monkeypatch, backend):
    monkeypatch.setenv(EMULATION_ENVIRONMENT, "1")
    monkeypatch.setenv("DEEPVOICE_KERNELS", backend)
    voices = Voices.load((str(tiny_voice),))
    assert [loaded.backend for loaded in voices.table.values()] == [backend]
    texts = ("Hi.", "No.")
    with start(voices, threads=1) as running:
        with ThreadPoolExecutor(len(texts)) as pool:
            answers = list(pool.map(lambda text: running.post(input=text), texts))
        assert running.metric("deepvoice_slots_busy") == 0
    for answer, text in zip(answers, texts, strict=True):
        assert answer.status_code == 200
        samples, rate = soundfile.read(io.BytesIO(answer.content), dtype="float32")
        wanted = voice.speak(text)
        assert rate == wanted.sample_rate
        assert np.abs(samples - wanted.samples).max() <= 2 / 32768  # 16 bits, rounded
