"""Routes that OpenAI does not have: times without audio, and the pronunciations of the server."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from deepvoice import timings
from deepvoice.errors import DeepVoiceError
from deepvoice.server import schemas
from deepvoice.server.answers import speech_error, times
from deepvoice.server.bridge import ClientLeftError
from deepvoice.server.routes import ERRORS, In, gone, log_entry

router = APIRouter(responses=ERRORS)

_SUBTITLES = {
    "srt": "application/x-subrip",
    "vtt": "text/vtt",
    "lrc": "text/plain",
    "jsonl": "application/x-ndjson",
    "textgrid": "text/plain",
}
_TIMINGS = {
    200: {
        "description": "Times of words and phones, or subtitles",
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Timings"}},
            **{kind: {"schema": {"type": "string"}} for kind in _SUBTITLES.values()},
        },
    },
    **ERRORS,
}


@router.post("/v1/audio/timings", responses=_TIMINGS, response_class=Response)
async def timings_without_audio(body: schemas.TimingsRequest, request: Request, have: In) -> Response:
    """Return when every word and phone would be heard, without making the audio."""
    voice = have.voice(body, body.input)
    headers = have.ignored(body)
    log_entry(request, body.input)
    options = await have.options(body)
    form = body.response_format

    def work() -> Response:
        speech = voice.voice.timings(body.input, **options)
        if form != "json":
            text = timings.render(speech, form, by_word=body.by_word)
            return PlainTextResponse(text, media_type=_SUBTITLES[form], headers=headers)
        seconds = speech.phones[-1].end if speech.phones else 0.0
        marks = [{"name": mark.name, "time": round(mark.time, 4)} for mark in speech.marks]
        return JSONResponse({"seconds": round(seconds, 4), **times(speech), "marks": marks}, headers=headers)

    try:
        return await have.engine.call_in_turn(work, request.receive)
    except DeepVoiceError as error:
        raise speech_error(error) from None
    except ClientLeftError:
        return gone(request, have)


@router.get("/v1/lexicon")
async def lexicon(have: In) -> schemas.Lexicon:
    """List the pronunciations of the server."""
    return schemas.Lexicon(entries=await have.engine.call(have.lexicon.entries))


@router.put("/v1/lexicon")
async def update_lexicon(body: schemas.LexiconEntries, response: Response, have: In) -> schemas.Lexicon:
    """Add or replace pronunciations; requests that begin afterwards use them."""
    response.headers.update(have.ignored(body))
    return schemas.Lexicon(entries=await have.engine.call(lambda: have.lexicon.update(body.entries)))


@router.delete("/v1/lexicon/{word}")
async def remove_word(word: str, have: In) -> schemas.Lexicon:
    """Take one pronunciation out."""
    return schemas.Lexicon(entries=await have.engine.call(lambda: have.lexicon.remove(word)))
