"""Whatever is wrong with a request: an error object with four keys, the right status, the name of the field."""

import json

import pytest

from deepvoice.server.settings import Settings

KEYS = {"message", "type", "param", "code"}


def check(answer, status, param=..., code=None):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert set(answer.json()) == {"error"} and set(error) == KEYS
    assert error["message"] and error["type"]
    assert param is ... or error["param"] == param
    if code:
        assert error["code"] == code
    return error


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"voice": None}, "voice"),
        ({"model": None}, "model"),
        ({"input": None}, "input"),
        ({"input": ""}, "input"),
        ({"input": "   "}, "input"),
        ({"input": "\n"}, "input"),
        ({"input": "***"}, "input"),
        ({"input": "...!?"}, "input"),
        ({"input": "—"}, "input"),
        ({"input": 7}, "input"),
        ({"input": ["a"]}, "input"),
        ({"speed": 9}, "speed"),
        ({"speed": 0.2}, "speed"),
        ({"speed": "1"}, "speed"),
        ({"speed": True}, "speed"),
        ({"pitch": 13}, "pitch"),
        ({"volume": -1}, "volume"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"seed": 10**400}, "seed"),
        ({"response_format": "mp4"}, "response_format"),
        ({"response_format": ["wav"]}, "response_format"),
        ({"stream_format": "both"}, "stream_format"),
        ({"sample_rate": 12345}, "sample_rate"),
        ({"voice": "nobody"}, "voice"),
        ({"voice": {"id": "nobody"}}, "voice"),
        ({"voice": ""}, "voice"),
        ({"model": "m" * 257}, "model"),
        ({"instructions": "x" * 4097}, "instructions"),
        ({"lexicon": {"a": "not phones at all %"}}, "lexicon"),
        ({"ssml": True, "input": "<speak>open"}, "input"),
        ({"ssml": True, "input": "no tags & amp"}, "input"),
    ],
)
@pytest.mark.parametrize("stream_format", ["audio", "sse"])
def test_bad_fields(server, fields, param, stream_format):
    answer = server.post(**{"stream_format": stream_format, **fields})
    error = check(answer, 400)
    assert error["type"] == "invalid_request_error"
    assert (error["param"] or "").split(".")[0] == param


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b"[" * 100_000, b'{"input":"' + b"\xed\xa0\x80" + b'"}'],
    ids=lambda raw: repr(raw[:6]),
)
def test_bad_bodies(server, raw):
    check(server.client.post("/v1/audio/speech", content=raw, headers={"content-type": "application/json"}), 400)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none(server, value):
    body = '{"model":"m","voice":"alloy","input":"Hi.","speed":VALUE}'.replace("VALUE", value)
    answer = server.client.post("/v1/audio/speech", content=body, headers={"content-type": "application/json"})
    check(answer, 400, "speed")


def test_lone_surrogates_and_control_characters(server):
    body = '{"model":"m","voice":"alloy","input":"Hi \\ud800 there."}'
    answer = server.client.post("/v1/audio/speech", content=body, headers={"content-type": "application/json"})
    check(answer, 400, "input")
    assert server.post(input="Hi \x00\x07 there.").status_code == 200


def test_a_body_that_is_not_declared_as_json(server):
    raw = json.dumps({"model": "m", "voice": "alloy", "input": "Hi."})
    answer = server.client.post("/v1/audio/speech", content=raw, headers={"content-type": "text/plain"})
    error = check(answer, 400)
    assert "application/json" in error["message"]


def test_unknown_routes_and_methods(server):
    check(server.client.get("/v1/nothing"), 404, code="unknown_url")
    answer = server.client.get("/v1/audio/speech")
    check(answer, 405, code="method_not_allowed")
    assert answer.headers["allow"] == "POST"


def test_models(server):
    listed = server.client.get("/v1/models").json()
    assert listed["object"] == "list"
    for entry in listed["data"]:
        assert set(entry) == {"id", "object", "created", "owned_by"}
        assert server.client.get(f"/v1/models/{entry['id']}").json() == entry
    check(server.client.get("/v1/models/unheard-of"), 404, "model", "model_not_found")


def test_voices_and_the_error_that_lists_them(server):
    listed = server.client.get("/v1/audio/voices").json()
    names = [entry["id"] for entry in listed["voices"]]
    assert names == [entry["id"] for entry in listed["data"]]
    assert {"tiny", "alloy", "cedar"} <= set(names)
    assert server.client.get("/v1/audio/voices?legacy=true").json()["voices"] == names
    message = check(server.post(voice="nobody"), 400, "voice", "unknown_voice")["message"]
    assert all(name in message for name in names)
    check(server.client.get("/v1/audio/voices?legacy=perhaps"), 400, "legacy")


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "a\x00b", "%2e%2e", "..", ".", "tiny/../tiny", "C:\\x"]
)
def test_names_that_look_like_paths_are_only_unknown(server, name):
    message = check(server.post(voice=name), 400, "voice", "unknown_voice")["message"]
    other = check(server.post(voice="nobody"), 400, "voice", "unknown_voice")["message"]
    assert message.replace(repr(name), "X") == other.replace("'nobody'", "X")
    for folder in ("/v1/models/", "/static/"):
        assert server.client.get(folder + "%2e%2e%2f%2e%2e%2fetc%2fpasswd").status_code == 404


def test_too_long(start):
    with start(max_characters=10) as short:
        assert short.post(input="Ten chars.").status_code == 200
        error = check(short.post(input="Ten chars.."), 400, "input", "string_above_max_length")
        assert "10" in error["message"]


def test_api_keys(start):
    with start(api_key=("secret-one", "secret-two")) as closed:
        error = check(closed.post(), 401, code="invalid_api_key")
        assert error["type"] == "authentication_error"
        for name, value in (("authorization", "Bearer wrong-key"), ("authorization", "Basic c2VjcmV0LW9uZQ==")):
            check(closed.client.get("/v1/models", headers={name: value}), 401)
        for name, value in (("authorization", "Bearer secret-two"), ("x-api-key", "secret-one")):
            assert closed.client.get("/v1/models", headers={name: value}).status_code == 200
        for path in ("/", "/health", "/ready"):
            assert closed.client.get(path).status_code == 200
        check(closed.client.get("/metrics"), 401)
        check(closed.client.get("/v1/nothing"), 401)


def test_cors(start):
    with start(cors_origin=("https://app.example",)) as open_:
        question = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
        asked = open_.client.options("/v1/audio/speech", headers={"origin": "https://app.example", **question})
        assert asked.headers["access-control-allow-origin"] == "https://app.example"
        other = open_.client.options("/v1/audio/speech", headers={"origin": "https://other.example", **question})
        assert "access-control-allow-origin" not in other.headers


def test_every_answer_has_an_id(server):
    assert server.client.get("/health").headers["x-request-id"].startswith("req_")
    given = server.client.get("/health", headers={"x-request-id": "mine-1"})
    assert given.headers["x-request-id"] == "mine-1"
    hostile = server.client.get("/health", headers={"x-request-id": "x" * 65})
    assert hostile.headers["x-request-id"].startswith("req_")


def test_what_is_unforeseen_is_a_500_with_the_request_id(start, tiny, monkeypatch, caplog):
    def fail(*_, **__):
        raise RuntimeError("The ferry is secret")

    with start() as broken:
        monkeypatch.setattr(tiny.table["tiny"], "stream", fail)
        answer = broken.post()
        error = check(answer, 500, code="internal")
        assert error["type"] == "server_error"
        assert answer.headers["x-request-id"] in error["message"]
        assert "secret" not in answer.text


def test_the_limits_of_settings_are_checked():
    from deepvoice.errors import ConfigError
    from deepvoice.server.settings import settings_from

    for wrong in ({"port": 70000}, {"api_key": ("short",)}, {"log_level": "loud"}, {"wyoming": "nowhere"}):
        with pytest.raises(ConfigError):
            Settings(**wrong)
    variables = {"DEEPVOICE_PORT": "9000", "DEEPVOICE_API_KEY": "first-key, second-key", "DEEPVOICE_STRICT": "yes"}
    found = settings_from({"port": None, "host": "::1"}, variables)
    assert (found.port, found.host, found.api_key, found.strict) == (9000, "::1", ("first-key", "second-key"), True)
    assert settings_from({"port": 1}, variables).port == 1
    with pytest.raises(ConfigError, match="DEEPVOICE_PORT"):
        settings_from({}, {"DEEPVOICE_PORT": "many"})
