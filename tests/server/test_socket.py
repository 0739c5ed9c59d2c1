"""Text in pieces: over the WebSocket, and cut at the ends of sentences."""

import json
import threading

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from deepvoice.audio.io import to_pcm16
from deepvoice.server.session import SentenceFeed

TEXT = (
    "It was Dr. Smith who paid $3.50 in the U.S. Army store. Did he? Yes! He said so, at 5 p.m. on Monday.\n\n"
    "A new paragraph begins. It ends"
)


def converse(url, *messages, headers=None):
    """Send messages and return (audio, JSON messages) until the server closes."""
    audio, found = b"", []
    with connect(url.replace("http", "ws") + "/v1/audio/speech/ws", additional_headers=headers, open_timeout=30) as ws:
        for message in messages:
            ws.send(message if isinstance(message, str) else json.dumps(message))
        try:
            while True:
                received = ws.recv(30)
                if isinstance(received, bytes):
                    audio += received
                else:
                    found.append(json.loads(received))
        except ConnectionClosed:
            pass
    return audio, found


def start(**fields):
    return {"type": "start", "voice": "alloy", **fields}


def text(part):
    return {"type": "text", "text": part}


END = {"type": "end"}


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_pieces_give_the_samples_of_the_whole(server, tiny, size):
    pieces = [text(TEXT[i : i + size]) for i in range(0, len(TEXT), size)]
    audio, found = converse(server.url, start(seed=4, timestamps=True), *pieces, END)
    whole = tiny.table["tiny"].speak(TEXT, seed=4)
    assert audio == to_pcm16(whole.samples).tobytes()
    assert found[0]["type"] == "session.started" and found[0]["sample_rate"] == 24000
    words = [word for message in found if message["type"] == "speech.audio.timestamps" for word in message["words"]]
    assert [tuple(word["span"]) for word in words] == [word.span for word in whole.words]
    assert words[-1]["end"] == pytest.approx(whole.words[-1].end, abs=1e-3)
    assert found[-1]["type"] == "speech.audio.done"
    assert found[-1]["usage"]["input_tokens"] == len(TEXT)


def test_the_first_sentence_is_spoken_before_the_second_is_there(server):
    with connect(server.url.replace("http", "ws") + "/v1/audio/speech/ws") as ws:
        ws.send(json.dumps(start()))
        assert json.loads(ws.recv(30))["type"] == "session.started"
        for part in ("The fer", "ry lea", "ves. ", "The ", "se"):
            ws.send(json.dumps(text(part)))
        assert isinstance(ws.recv(30), bytes)
        ws.send(json.dumps({"type": "flush"}))
        ws.send(json.dumps(END))


def test_other_formats_are_one_file(server):
    audio, _ = converse(server.url, start(response_format="flac"), text("One. "), text("Two. Three."), END)
    assert audio.startswith(b"fLaC") and audio.count(b"fLaC") == 1


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        (["{"], "invalid_json"),
        (["[]"], "invalid_value"),
        ([text("Hi.")], "invalid_value"),
        ([start(speed=9)], "invalid_value"),
        ([start(voice="nobody")], "unknown_voice"),
        ([start(ssml=True)], "invalid_value"),
        ([start(), start()], "invalid_value"),
        ([start(), END], "invalid_text"),
        ([start(), text("***"), END], "invalid_text"),
        ([start(), text("x" * 5000)], "string_above_max_length"),
        ([start(), {"type": "dance"}], "invalid_value"),
    ],
)
def test_errors_are_error_objects(server, messages, code):
    _, found = converse(server.url, *messages)
    assert found[-1]["type"] == "error"
    assert set(found[-1]["error"]) == {"message", "type", "param", "code"}
    assert found[-1]["error"]["code"] == code


def test_keys_and_origins(start):
    with start(api_key=("secret-key",)) as closed:
        begin = {"type": "start"}
        assert converse(closed.url, begin)[1][-1]["error"]["code"] == "invalid_api_key"
        assert converse(closed.url, {**begin, "api_key": "secret-key"}, text("Hi."), END)[0]
        bearer = {"authorization": "Bearer secret-key"}
        assert converse(closed.url, begin, text("Hi."), END, headers=bearer)[0]
        with pytest.raises(InvalidStatus):
            converse(closed.url, begin, headers={"origin": "https://other.example", **bearer})


def test_a_client_that_leaves_or_falls_silent_gives_its_place_back(start):
    with start(max_speaking=1, max_waiting=4, stall_timeout=0.3) as server:
        with connect(server.url.replace("http", "ws") + "/v1/audio/speech/ws") as ws:
            ws.send(json.dumps({"type": "start"}))
            ws.recv(30)
            ws.send(json.dumps(text("The ferry leaves. It goes. ")))
            ws.recv(30)
        assert server.post().status_code == 200
        assert converse(server.url, {"type": "start"})[1][-1]["error"]["code"] == "timeout"
        assert server.post().status_code == 200


def test_many_conversations_at_once(server, tiny):
    wanted = to_pcm16(tiny.table["tiny"].speak(TEXT).samples).tobytes()
    found = []

    def talk():
        found.append(converse(server.url, start(), *[text(word + " ") for word in TEXT.split(" ")], END)[0])

    threads = [threading.Thread(target=talk) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert abs(len(found[0]) - len(wanted)) < 0.02 * len(wanted)  # a space after the last word


def test_the_feed_cuts_only_between_sentences():
    feed = SentenceFeed()
    out = [piece for character in TEXT if (piece := feed.add(character))]
    assert "".join(out) + feed.flush() == TEXT
    assert out[0] == "It was Dr. Smith who paid $3.50 in the U.S. Army store."
    assert all(piece[-1] in ".?!" for piece in out)
    assert feed.flush() == "" and len(feed) == 0


def test_a_text_without_an_end_is_cut_where_the_whole_text_is(server, tiny):
    endless = "word " * 700
    audio, _ = converse(server.url, start(), *[text(endless[i : i + 50]) for i in range(0, len(endless), 50)], END)
    assert audio == to_pcm16(tiny.table["tiny"].speak(endless).samples).tobytes()
