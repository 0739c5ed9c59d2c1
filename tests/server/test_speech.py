"""The speech route: formats, streaming, events, times."""

import base64
import io
import json
import wave

import numpy as np
import pytest
import soundfile

from deepvoice.audio import encoders
from deepvoice.audio.io import to_pcm16

MAGIC = {
    "wav": (b"RIFF", "audio/wav"),
    "flac": (b"fLaC", "audio/flac"),
    "mp3": (b"\xff", "audio/mpeg"),
    "opus": (b"OggS", "audio/ogg"),
    "ogg": (b"OggS", "audio/ogg"),
    "aac": (b"\xff\xf1", "audio/aac"),
    "pcm": (b"", "audio/pcm"),
}


def events(text):
    """Parse server-sent events."""
    blocks = [block for block in text.split("\n\n") if block]
    return [
        json.loads(line.removeprefix("data: ")) for block in blocks for line in block.split("\n") if "data: " in line
    ]


def decode(data):
    samples, rate = soundfile.read(io.BytesIO(data), dtype="int16")
    return samples, rate


@pytest.mark.parametrize("name", MAGIC)
def test_every_format_is_what_its_content_type_says(server, name):
    answer = server.post(response_format=name)
    assert server.post(response_format=name.upper()).headers["content-type"] == answer.headers["content-type"]
    magic, kind = MAGIC[name]
    assert answer.status_code == 200
    assert answer.content.startswith(magic)
    assert answer.headers["content-type"].split(";")[0] == kind
    assert answer.headers["transfer-encoding"] == "chunked"
    assert "content-length" not in answer.headers


def test_the_default_format_is_mp3(server):
    assert server.post(response_format=None).headers["content-type"] == "audio/mpeg"


def test_streamed_and_whole_are_the_samples_of_the_package(server, tiny):
    expected = to_pcm16(tiny.table["tiny"].speak("One. Two. Three.", seed=3).samples)
    for name in ("pcm", "wav", "flac"):
        for stream in (True, False):
            data = server.post(input="One. Two. Three.", seed=3, response_format=name, stream=stream).content
            samples = np.frombuffer(data, "<i2") if name == "pcm" else decode(data)[0]
            np.testing.assert_array_equal(samples, expected)


@pytest.mark.parametrize("name", ["mp3", "opus", "ogg", "aac", "flac"])
def test_streamed_and_whole_are_the_same_bytes(server, name):
    streamed, whole = (server.post(response_format=name, stream=stream) for stream in (True, False))
    if name in ("opus", "ogg"):  # a random serial number in every page
        assert len(streamed.content) == len(whole.content)
    else:
        assert streamed.content == whole.content
    assert int(whole.headers["content-length"]) == len(whole.content)


def test_a_long_stream_declares_an_unknown_length_and_a_whole_one_its_own(server):
    text = "Go on. " * 40
    streamed = server.post(input=text).content
    whole = server.post(input=text, stream=False).content
    assert streamed[4:8] == streamed[40:44] == b"\xff" * 4
    assert streamed[44:] == whole[44:]
    with wave.open(io.BytesIO(whole)) as handle:
        assert 2 * handle.getnframes() + 44 == len(whole)


def test_events_join_to_the_file_and_end_with_usage(server):
    whole = server.post(response_format="flac", stream=False).content
    answer = server.post(response_format="flac", stream_format="sse")
    assert answer.headers["content-type"].startswith("text/event-stream")
    found = events(answer.text)
    assert [event["type"] for event in found[:-1]] == ["speech.audio.delta"] * (len(found) - 1)
    assert b"".join(base64.b64decode(event["audio"]) for event in found[:-1]) == whole
    usage = found[-1]["usage"]
    assert found[-1]["type"] == "speech.audio.done"
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["input_tokens"] > 0 < usage["output_tokens"]


def test_times_come_with_the_audio_and_point_into_the_text(server, tiny):
    text = "It costs $3.50. Really!"
    answer = server.post(input=text, timestamps=True).json()
    speech = tiny.table["tiny"].speak(text)
    assert [(word["text"], tuple(word["span"])) for word in answer["words"]] == [
        (word.text, word.span) for word in speech.words
    ]
    assert answer["phones"][-1]["end"] == pytest.approx(answer["seconds"], abs=1e-3)
    samples, _ = decode(base64.b64decode(answer["audio"]))
    np.testing.assert_array_equal(samples, to_pcm16(speech.samples))


def test_times_in_events_come_before_the_audio_they_describe(server):
    found = events(server.post(timestamps=True, stream_format="sse").text)
    kinds = [event["type"] for event in found]
    assert kinds[0] == "speech.audio.timestamps"
    assert kinds[1] == "speech.audio.delta"
    assert kinds.count("speech.audio.timestamps") == 2  # sentences
    words = [word["text"] for event in found if event["type"].endswith("timestamps") for word in event["words"]]
    assert words[:3] == ["the", "ferry", "leaves"]


def test_options_change_the_samples_and_the_seed_brings_them_back(server):
    plain, again, other = (server.post(seed=seed).content for seed in (1, 1, 2))
    assert plain == again != other
    assert len(server.post(speed=2.0).content) < len(plain)
    quiet = decode(server.post(volume=0.1).content)[0]
    assert np.abs(quiet).max() < 0.2 * np.abs(decode(plain)[0]).max()
    ahead = decode(server.post(lead_in=0.2).content)[0]
    np.testing.assert_array_equal(ahead[4800:], decode(plain)[0])


def test_ssml_and_normalize(server):
    spoken = server.post("/v1/phonemes", input='<speak>I have <sub alias="two">2</sub> cats.</speak>', ssml=True).json()
    assert [word["text"] for word in spoken["sentences"][0]["words"]] == ["i", "have", "two", "cats"]
    pause = server.post(input='<speak>One<break time="1s"/>two.</speak>', ssml=True).content
    assert len(pause) > len(server.post(input="One, two.").content)
    plain = server.post("/v1/phonemes", input="5 km").json()
    off = server.post("/v1/phonemes", input="5 km", normalize=False).json()
    assert plain["sentences"] != off["sentences"]


def test_sample_rates(server):
    for rate in (8000, 16000, 22050, 44100, 48000):
        samples, found = decode(server.post(sample_rate=rate).content)
        assert found == rate
        usual, native = decode(server.post().content)
        assert abs(len(samples) / rate - len(usual) / native) < 0.002


def test_unknown_fields_are_named_and_do_nothing(server, start):
    answer = server.post(wobble=3, **{"bad name": 1}, instructions="whisper")
    assert answer.status_code == 200
    assert answer.headers["x-ignored-fields"] == "wobble, instructions"
    with start(strict=True) as strict:
        refused = strict.post(wobble=3)
        assert refused.status_code == 400
        assert refused.json()["error"]["param"] == "wobble"


def test_content_types_are_those_of_the_encoders(server):
    for name in MAGIC:
        assert encoders.CONTENT_TYPES[name].split(";")[0] == MAGIC[name][1]
