"""Other people's clients: the official one of OpenAI, and that of the Wyoming protocol."""

import asyncio
import base64
import io
import json
import socket
import wave

import openai
import pytest
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop, SynthesizeStopped, SynthesizeVoice

from deepvoice.audio.io import to_pcm16

TEXT = "The ferry leaves at dawn. Nobody was late, and the sea was calm."
SPEECH = {"model": "tts-1", "voice": "alloy", "input": TEXT}


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0) as client:
        yield client


def test_speech_create(client):
    answer = client.audio.speech.create(**SPEECH, response_format="wav", speed=1.5)
    with wave.open(io.BytesIO(answer.content)) as handle:
        assert handle.getframerate() == 24000 and handle.getnframes() > 0


def test_streaming_to_a_file(client, tmp_path):
    path = tmp_path / "speech.wav"
    with client.audio.speech.with_streaming_response.create(**SPEECH, response_format="wav") as answer:
        answer.stream_to_file(path)
    assert path.read_bytes() == client.audio.speech.create(**SPEECH, response_format="wav").content


def test_events(client):
    whole = client.audio.speech.create(**SPEECH, response_format="flac").content
    with client.audio.speech.with_streaming_response.create(
        **SPEECH, response_format="flac", stream_format="sse"
    ) as answer:
        events = [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: ")]
    audio = b"".join(base64.b64decode(event["audio"]) for event in events if event["type"] == "speech.audio.delta")
    assert audio == whole
    assert set(events[-1]["usage"]) == {"input_tokens", "output_tokens", "total_tokens"}


def test_models(client):
    names = [model.id for model in client.models.list()]
    assert "tts-1" in names
    assert client.models.retrieve("tts-1").owned_by == "deepvoice"
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("unheard-of")
    assert caught.value.code == "model_not_found"


def test_errors_are_the_exceptions_of_the_client(client, start):
    for wrong, param in (({"voice": "nobody"}, "voice"), ({"speed": 9.0}, "speed"), ({"input": " "}, "input")):
        with pytest.raises(openai.BadRequestError) as caught:
            client.audio.speech.create(**{**SPEECH, **wrong})
        assert caught.value.param == param
        assert caught.value.type == "invalid_request_error"
        assert caught.value.request_id
    with start(api_key=("secret-key",), max_speaking=1, max_waiting=0) as other:
        url = f"{other.url}/v1"
        with (
            openai.OpenAI(base_url=url, api_key="wrong", max_retries=0) as stranger,
            pytest.raises(openai.AuthenticationError),
        ):
            stranger.models.list()
        with openai.OpenAI(base_url=url, api_key="secret-key", max_retries=0) as friend, other.raw() as stuck:
            occupy(other, stuck, "secret-key")
            with pytest.raises(openai.RateLimitError):
                friend.audio.speech.create(**SPEECH)


def occupy(server, connection, key):
    """Take the only place of a server: ask for a long text and read nothing."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    body = json.dumps({**SPEECH, "input": "The ferry leaves at dawn. " * 150, "response_format": "pcm"})
    head = f"POST /v1/audio/speech HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n"
    connection.sendall(f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode())
    assert connection.recv(100).startswith(b"HTTP/1.1 200")


def test_extensions_through_extra_body(client):
    answer = client.audio.speech.create(**SPEECH, response_format="wav", extra_body={"seed": 3, "timestamps": True})
    assert [word["text"] for word in json.loads(answer.content)["words"]][:2] == ["the", "ferry"]


def test_the_asynchronous_client(server):
    async def speak():
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="unused") as client:
            answers = await asyncio.gather(
                *(client.audio.speech.create(**SPEECH, response_format="pcm") for _ in range(4))
            )
            return {answer.content for answer in answers}

    assert len(asyncio.run(speak())) == 1


@pytest.fixture(scope="module")
def wyoming(start):
    with start(wyoming="127.0.0.1:0", max_characters=500, stall_timeout=5) as running:
        yield running.app.state.context.wyoming_port


def converse(port, *events, until=AudioStop):
    """Send events and return what comes, up to the event `until`."""

    async def main():
        async with AsyncTcpClient("127.0.0.1", port) as client:
            for event in events:
                await client.write_event(event if isinstance(event, Event) else event.event())
            found = []
            while True:
                event = await asyncio.wait_for(client.read_event(), 30)
                if event is None:
                    return found
                found.append(event)
                if until.is_type(event.type):
                    return found

    return asyncio.run(main())


def audio_of(events):
    chunks = [AudioChunk.from_event(event) for event in events if AudioChunk.is_type(event.type)]
    assert all((chunk.rate, chunk.width, chunk.channels) == (24000, 2, 1) for chunk in chunks)
    return b"".join(chunk.audio for chunk in chunks)


def test_wyoming_describes_itself(wyoming):
    info = Info.from_event(converse(wyoming, Describe(), until=Info)[-1])
    assert info.tts[0].supports_synthesize_streaming
    assert [voice.name for voice in info.tts[0].voices] == ["tiny"]


def test_wyoming_speaks(wyoming, tiny):
    events = converse(wyoming, Synthesize(text=TEXT, voice=SynthesizeVoice(name="tiny")))
    assert AudioStart.is_type(events[0].type)
    assert audio_of(events) == to_pcm16(tiny.table["tiny"].speak(TEXT).samples).tobytes()
    ssml = converse(wyoming, Synthesize(text="<speak>Hi.</speak>", text_format="ssml"))
    assert audio_of(ssml) == to_pcm16(tiny.table["tiny"].speak("Hi.").samples).tobytes()


def test_wyoming_speaks_a_text_in_pieces_once(wyoming, tiny):
    pieces = [SynthesizeChunk(text=TEXT[i : i + 5]) for i in range(0, len(TEXT), 5)]
    stream = (SynthesizeStart(voice=SynthesizeVoice(name="tiny")), *pieces, Synthesize(text=TEXT), SynthesizeStop())
    events = converse(wyoming, *stream, until=SynthesizeStopped)
    assert audio_of(events) == to_pcm16(tiny.table["tiny"].speak(TEXT).samples).tobytes()
    assert [event.type for event in events if event.type != "audio-chunk"] == [
        "audio-start",
        "audio-stop",
        "synthesize-stopped",
    ]
    twice = converse(wyoming, *stream, *stream, Describe(), until=Info)
    assert len(audio_of(twice)) == 2 * len(audio_of(events))


@pytest.mark.parametrize(
    "event",
    [
        Synthesize(text=" "),
        Synthesize(text="x " * 500),
        Synthesize(text="Hi.", voice=SynthesizeVoice(name="../../etc")),
        Event("synthesize", {}),
        Event("synthesize", {"text": 7}),
        SynthesizeStart(text_format="ssml"),
        Event("synthesize-start", {"voice": 3}),
    ],
)
def test_wyoming_answers_errors_and_goes_on(wyoming, event):
    assert Error.is_type(converse(wyoming, event, until=Error)[-1].type)
    assert Info.is_type(converse(wyoming, event, Describe(), until=Info)[-1].type)


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"[]\n",
        b'{"type": "describe", "payload_length": 99999999999}\n',
        b'{"type": "describe", "data_length": "many"}\n',
        b"{" * 3_000_000,
    ],
    ids=lambda raw: repr(raw[:12]),
)
def test_wyoming_drops_what_is_no_event(wyoming, raw):
    async def main():
        reader, writer = await asyncio.open_connection("127.0.0.1", wyoming)
        try:
            writer.write(raw)
            return await asyncio.wait_for(reader.read(), 30)
        except ConnectionError:
            return b""
        finally:
            writer.close()

    assert asyncio.run(main()) == b""
    assert Info.is_type(converse(wyoming, Describe(), until=Info)[-1].type)
