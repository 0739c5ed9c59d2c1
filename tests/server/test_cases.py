"""Defects that others have had in audio and servers (their public reports), with the voice of the package."""

import io
import threading
import wave

import numpy as np
import pytest
import soundfile

from deepvoice.server import speaking

WORDS = "One, two, three, four, five, six, seven, eight, nine, ten."
FORMATS = ("wav", "flac", "mp3", "opus", "aac", "ogg")
RATE = 24000


@pytest.fixture(scope="module")
def ask(speaker):
    """Return a function that asks for wav and returns its samples in [-1, 1]."""
    known = {}

    def post(text=WORDS, **fields):
        key = (text, *sorted(fields.items()))
        if key not in known:
            answer = speaker.post(input=text, **{"response_format": "wav", **fields})
            assert answer.status_code == 200, answer.text
            known[key] = soundfile.read(io.BytesIO(answer.content), dtype="float32")
        return known[key]

    return post


def seconds(data, tmp_path):
    """Return the length of encoded audio as a decoder that is not ours sees it."""
    import subprocess

    path = tmp_path / "speech"
    path.write_bytes(data)
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-f", "s16le", "-ar", "48000", "-ac", "1", "-"]
    return len(subprocess.run(command, capture_output=True, check=True).stdout) / 2 / 48000


def median_f0(samples, rate):
    """Return the median pitch by autocorrelation of the loud frames, Hz."""
    found = []
    window = round(0.05 * rate)
    loudest = np.abs(samples).max()
    for start in range(0, len(samples) - window, window):
        frame = samples[start : start + window]
        if np.abs(frame).max() < 0.2 * loudest:
            continue
        spectrum = np.abs(np.fft.rfft(frame * np.hanning(window), 4 * window)) ** 2
        similarity = np.fft.irfft(spectrum)
        low, high = round(rate / 400), round(rate / 80)
        best = low + int(np.argmax(similarity[low:high]))
        if similarity[best] > 0.4 * similarity[0]:
            left, middle, right = similarity[best - 1 : best + 2]
            found.append(rate / (best + 0.5 * (left - right) / (left - 2 * middle + right)))
    return float(np.median(found))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_as_long_as_the_speech(speaker, ask, name, tmp_path):
    """A2, A5, A19: nothing is lost at the end, one header, opus at any rate."""
    samples, rate = ask()
    for stream in (True, False):
        data = speaker.post(input=WORDS, response_format=name, stream=stream).content
        assert abs(seconds(data, tmp_path) - len(samples) / rate) < 0.03
    if name in ("wav", "flac"):
        assert data.count(data[:4]) == 1


def test_lossless_formats_are_the_pcm_and_nothing_after_it(speaker):
    """A1, A3, A4: no bytes after the data, an even count, exact sizes where nothing is streamed."""
    pcm = speaker.post(input=WORDS, response_format="pcm").content
    assert len(pcm) % 2 == 0
    for stream in (True, False):
        data = speaker.post(input=WORDS, stream=stream).content
        assert data[44:] == pcm
        with wave.open(io.BytesIO(data)) as handle:
            assert handle.readframes(handle.getnframes()) == pcm
        flac = speaker.post(input=WORDS, response_format="flac", stream=stream).content
        assert soundfile.read(io.BytesIO(flac), dtype="int16")[0].tobytes() == pcm


def test_seams_and_edges(ask):
    """A7, A8: pieces are not heard, and speech begins and ends at zero."""
    samples, _ = ask("Our aim is to allow all our eels an early, easy hour. Are you all awry, or aware?")
    jumps = np.abs(np.diff(samples))
    assert max(np.abs(samples[0]), np.abs(samples[-1])) < 1e-3
    assert jumps.max() < 8 * np.quantile(jumps, 0.999)


@pytest.mark.parametrize("speed", [0.5, 1.0, 2.0])
def test_last_consonant_is_heard_at_every_speed(ask, speed):
    """A11: the final fricative is there, and some silence after it."""
    samples, rate = ask("It has its own shaping forces.", speed=speed)
    loud = np.flatnonzero(np.abs(samples) > 0.02 * np.abs(samples).max())
    assert len(samples) - loud[-1] >= 0.05 * rate
    tail = samples[max(0, loud[-1] - round(0.15 * rate)) : loud[-1]]
    spectrum = np.abs(np.fft.rfft(tail)) ** 2
    assert spectrum[round(4000 * len(tail) / rate) :].sum() > 0.1 * spectrum.sum()


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 44100, 48000])
def test_another_rate_is_the_same_speech(ask, rate):
    """A12: the pitch and the length stay."""
    usual, _ = ask()
    samples, found = ask(sample_rate=rate)
    assert found == rate
    assert abs(len(samples) / rate - len(usual) / RATE) < 0.005
    assert median_f0(samples, rate) == pytest.approx(median_f0(usual, RATE), rel=0.02)


def test_speed_changes_the_length_and_not_the_pitch(ask):
    """A14: 0.5 is twice as long, 2 half as long."""
    usual, _ = ask()
    for speed in (0.5, 2.0):
        samples, _ = ask(speed=speed)
        assert len(samples) / len(usual) == pytest.approx(1 / speed, rel=0.1)
        assert median_f0(samples, RATE) == pytest.approx(median_f0(usual, RATE), rel=0.03)


def test_silence_in_front_is_exact_and_not_the_default(ask):
    """A17."""
    usual, _ = ask()
    samples, _ = ask(lead_in=0.2)
    assert not samples[:4800].any()
    np.testing.assert_array_equal(samples[4800:], usual)


def test_a_batch_changes_nothing(speaker):
    """A20, S2: the same text and seed alone, again, and beside seven others."""
    alone = speaker.post(input=WORDS, seed=9).content
    found = {}

    def post(number):
        text = WORDS if number % 2 else f"Something else, number {number}."
        found[number] = speaker.post(input=text, seed=9).content

    threads = [threading.Thread(target=post, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {found[number] for number in range(1, 8, 2)} == {alone}


def test_nothing_heavy_runs_on_the_event_loop(start, monkeypatch):
    """S1: texts are read, spoken and encoded in other threads."""
    used = set()
    ours, encoder = speaking.open_stream, speaking.encoders.open_encoder

    def spy(function):
        def call(*arguments, **options):
            used.add(threading.current_thread())
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(speaking, "open_stream", spy(ours))
    monkeypatch.setattr(speaking.encoders, "open_encoder", spy(encoder))
    with start() as server:
        for name in ("wav", "mp3"):
            assert server.post(response_format=name).status_code == 200
        assert used and server._thread not in used


def test_the_first_bytes_come_long_before_the_last_sentence(start, tiny):
    """S6: a reader that stops after the first bytes keeps the rest from being made."""
    with start() as server:
        body = {"model": "m", "voice": "alloy", "input": "The ferry leaves at dawn. " * 150, "response_format": "pcm"}
        total = len(tiny.table["tiny"].timings(body["input"]).sentences)
        with server.client.stream("POST", "/v1/audio/speech", json=body) as answer:
            next(answer.iter_raw())
            seen = server.metric("deepvoice_pieces_total")
        assert seen < total  # every sentence has several pieces


def test_ranges_are_not_parsed(server):
    """S14."""
    many = "bytes=" + ",".join(f"{i}-{i + 1}" for i in range(5000))
    assert server.client.get("/static/page.js", headers={"range": many}).status_code == 200


def test_temporary_files_are_gone(start, tmp_path, monkeypatch):
    """S5."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", None)
    with start() as server:
        for name in FORMATS:
            assert server.post(response_format=name).status_code == 200
    assert list(tmp_path.iterdir()) == []
