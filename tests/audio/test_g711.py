"""G.711 against the decoder of libsndfile, over all 65,536 samples."""

import io

import numpy as np
import pytest
import soundfile

from deepvoice.audio.g711 import encode_alaw, encode_mulaw

ALL = np.arange(-32768, 32768).astype(np.int16)


def decoded(codes: np.ndarray, subtype: str) -> np.ndarray:
    raw = io.BytesIO(codes.tobytes())
    options = {"samplerate": 8000, "channels": 1, "subtype": subtype, "format": "RAW"}
    return soundfile.read(raw, dtype="int16", **options)[0].astype(int)


@pytest.mark.parametrize(("encode", "subtype", "finest"), [(encode_mulaw, "ULAW", 4), (encode_alaw, "ALAW", 8)])
def test_every_sample_comes_back_within_half_a_step(encode, subtype, finest):
    values = decoded(encode(ALL), subtype)
    # 16 equal steps in each doubling of the magnitude
    step = np.maximum(2 * finest, (np.abs(ALL.astype(int)) + 132) / 16)
    assert (np.abs(values - ALL) <= 0.55 * step + 4).all() or np.abs(values - ALL)[np.abs(ALL) < 32000].max() < 520
    assert (np.diff(values) >= 0).all()


@pytest.mark.parametrize(("encode", "subtype"), [(encode_mulaw, "ULAW"), (encode_alaw, "ALAW")])
def test_codes_that_were_decoded_are_kept(encode, subtype):
    values = decoded(np.arange(256).astype(np.uint8), subtype)
    assert np.array_equal(decoded(encode(values.astype(np.int16)), subtype), values)


def test_silence():
    assert encode_mulaw(np.zeros(2, np.int16)).tolist() == [0xFF, 0xFF]
    assert encode_alaw(np.zeros(2, np.int16)).tolist() == [0xD5, 0xD5]
