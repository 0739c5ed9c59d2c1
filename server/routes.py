"""The routes: they check, look names up and hand over."""

import time
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import PlainTextResponse

from deepvoice import __version__
from deepvoice.errors import DeepVoiceError
from deepvoice.pipeline import Voice
from deepvoice.server import schemas
from deepvoice.server.answers import SpeechAnswer, speech_error
from deepvoice.server.bridge import ClientLeftError
from deepvoice.server.engine import ALIASES, DEFAULT, Engine, ServedVoice
from deepvoice.server.errors import ApiError, ErrorBody, shown
from deepvoice.server.lexicon import LexiconStore
from deepvoice.server.metrics import CONTENT_TYPE
from deepvoice.server.middleware import ServerState
from deepvoice.server.settings import Settings
from deepvoice.server.speaking import Task

MODELS = ("deepvoice", "tts-1", "tts-1-hd", "gpt-4o-mini-tts")
_STARTED = int(time.time())
_NAMED = 10  # unknown fields that the header names
ERRORS: dict[int | str, dict[str, Any]] = {"default": {"model": ErrorBody, "description": "What went wrong"}}
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_SPEECH = {
    200: {
        "description": "Audio, server-sent events (`stream_format` is `sse`), or JSON (`timestamps` is true)",
        "content": {
            **{
                kind: _BINARY
                for kind in ("audio/mpeg", "audio/ogg", "audio/aac", "audio/flac", "audio/wav", "audio/pcm")
            },
            "text/event-stream": {"schema": {"type": "string"}},
            "application/json": {"schema": {"$ref": "#/components/schemas/TimedSpeech"}},
        },
    },
    **ERRORS,
}

router = APIRouter(responses=ERRORS)


class Context:
    """What the routes need, kept in the app's state."""

    def __init__(self, engine: Engine, settings: Settings, state: ServerState, lexicon: LexiconStore) -> None:
        self.engine = engine
        self.settings = settings
        self.state = state
        self.lexicon = lexicon
        self.wyoming_port = 0  # where that protocol is served

    def voice(self, request: schemas.Reading, text: str) -> ServedVoice:
        """Look the voice up and check the length of the text."""
        limit = self.settings.max_characters
        if len(text) > limit:
            message = f"input has {len(text)} characters; the limit of this server is {limit}"
            raise ApiError(400, message, param="input", code="string_above_max_length")
        return self.engine.voice(request.voice_name)

    def ignored(self, request: schemas.Strict, *more: str) -> dict[str, str]:
        """Return the header that names fields without effect; ApiError under the setting `strict`."""
        unknown = request.unknown_fields()
        if unknown and self.settings.strict:
            raise ApiError(400, f"there is no field {shown(unknown[0])}", param=unknown[0][:80], code="unknown_field")
        names = [name for name in (*unknown, *more) if name.isascii() and name.isidentifier() and len(name) <= 64]
        return {"x-ignored-fields": ", ".join(names[:_NAMED])} if names else {}

    async def text_options(self, request: schemas.Reading) -> dict[str, Any]:
        """Return the keywords about how the text is read, those that differ from the defaults."""
        options = await self.lexicon_option(request.lexicon)
        if request.ssml:
            options["ssml"] = True
        if not request.normalize:
            options["normalize"] = False
        return options

    async def lexicon_option(self, entries: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the keyword for the server's lexicon and the request's own entries, if there are any.

        In a thread: entries are parsed, and the server's may have to be read from a file that someone is changing.
        """
        lexicon = await self.engine.call(lambda: self.lexicon.merged(entries))
        return {} if lexicon is None else {"lexicon": lexicon}

    async def options(self, request: schemas.Manner) -> dict[str, Any]:
        """Return the keywords of `Voice.stream`."""
        manner = request.model_dump(include={"speed", "pitch", "volume", "seed", "lead_in"})
        return {**manner, **await self.text_options(request)}


async def context(request: Request) -> Context:  # not async, it would be run in a thread
    """Return the app's context."""
    found: Context = request.app.state.context
    return found


In = Annotated[Context, Depends(context)]


def log_entry(request: Request, text: str) -> dict[str, Any]:
    """Return the line of the log that this request will have, with the text if the settings ask for it."""
    entry: dict[str, Any] = request.scope["state"]["log"]
    entry["characters"] = len(text)
    if request.app.state.context.settings.log_text:
        entry["text"] = text
    return entry


def gone(request: Request, have: Context) -> Response:
    """Count a client that left before its answer; nobody reads what is returned."""
    have.engine.metrics.cancellations.inc()
    request.scope["state"]["log"]["cancelled"] = True
    return Response(status_code=499)  # as nginx has it


@router.post("/v1/audio/speech", responses=_SPEECH, response_class=Response)
async def speech(body: schemas.SpeechRequest, request: Request, have: In) -> Response:
    """Speak a text."""
    voice = have.voice(body, body.input)
    instructions = ("instructions",) if body.instructions else ()
    headers = have.ignored(body, *instructions)
    sse = body.stream_format == "sse"
    task = Task(
        voice=voice,
        text=body.input,
        options=await have.options(body),
        format=body.response_format,
        sample_rate=body.sample_rate,
        times=body.timestamps,
        whole=not sse and (body.timestamps or not body.stream),
    )
    have.engine.metrics.characters.inc(len(body.input))
    entry = log_entry(request, body.input)
    entry.update(voice=voice.name, format=body.response_format)
    return SpeechAnswer(have.engine, task, sse=sse, timeout=have.settings.request_timeout, entry=entry, headers=headers)


@router.get("/v1/models")
async def models() -> schemas.ModelList:
    """List the models: ours, and the names that clients of OpenAI send."""
    return schemas.ModelList(data=[_model(name) for name in MODELS])


@router.get("/v1/models/{model}")
async def model(model: str) -> schemas.Model:
    """Describe one model."""
    if model not in MODELS:
        message = f"there is no model {shown(model)}; the models are {', '.join(MODELS)}"
        raise ApiError(404, message, param="model", code="model_not_found")
    return _model(model)


def _model(name: str) -> schemas.Model:
    return schemas.Model(id=name, created=_STARTED, owned_by="deepvoice")


@router.get("/v1/audio/voices")
async def voices(
    have: In, legacy: Annotated[bool, Query(description="voices as plain strings")] = False
) -> schemas.VoiceList:
    """List the voices, and the names of OpenAI's that the default voice answers to."""
    table = have.engine.voices.table
    entries = [_voice(name, voice, None) for name, voice in table.items()]
    default = have.engine.voices.default
    entries += [_voice(alias, table[default], default) for alias in (DEFAULT, *ALIASES) if alias not in table]
    return schemas.VoiceList(data=entries, voices=[entry.id for entry in entries] if legacy else entries)


def _voice(name: str, voice: Voice, alias_of: str | None) -> schemas.VoiceEntry:
    language = voice.manifest.language
    return schemas.VoiceEntry(id=name, name=name, language=language, sample_rate=voice.sample_rate, alias_of=alias_of)


@router.post("/v1/phonemes", response_model=schemas.Phonemes)
async def phonemes(body: schemas.TextRequest, request: Request, response: Response, have: In) -> Any:
    """Show how a text will be pronounced, and what is normalised, guessed and dropped."""
    voice = have.voice(body, body.input)
    response.headers.update(have.ignored(body))
    log_entry(request, body.input)
    options = await have.text_options(body)
    try:
        found = await have.engine.call_in_turn(lambda: voice.voice.analyse(body.input, **options), request.receive)
    except DeepVoiceError as error:
        raise speech_error(error) from None
    except ClientLeftError:
        return gone(request, have)
    return schemas.Phonemes(
        sentences=[
            schemas.PhonemeSentence(
                span=(sentence.start, sentence.end),
                words=[
                    schemas.PhonemeWord(
                        text=word.text, span=(word.start, word.end), phones=list(word.phones), source=word.source
                    )
                    for word in sentence.words
                ],
                symbols=list(sentence.sequence.symbols),
            )
            for sentence in found.sentences
        ],
        normalised=[
            {"span": [item.start, item.end], "text": item.text, "spoken": item.spoken}
            for item in found.report.normalised
        ],
        unknown=list(found.report.unknown),
        dropped=[
            {"span": [item.start, item.end], "text": item.text, "reason": item.reason} for item in found.report.dropped
        ],
    )


@router.get("/health")
async def health() -> schemas.Status:
    """Say that the process is alive."""
    return schemas.Status(status="ok")


@router.get("/ready")
async def ready(have: In) -> schemas.Status:
    """Say whether the voices are warm and requests are taken."""
    if not have.engine.ready or have.state.draining:
        what = "is shutting down" if have.state.draining else "has not loaded its voices yet"
        raise ApiError(503, f"the server {what}", code="not_ready", headers={"retry-after": "1"})
    return schemas.Status(status="ready", voices=list(have.engine.voices.table))


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(have: In) -> Response:
    """Return the metrics for Prometheus."""
    return Response(await have.engine.call(have.engine.metrics.exposition), media_type=CONTENT_TYPE)


@router.get("/version")
async def version() -> dict[str, str]:
    """Return the version of the package."""
    return {"version": __version__}
