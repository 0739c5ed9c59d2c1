"""What clients send and get, as the OpenAPI description has it."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Format = Annotated[
    Literal["mp3", "opus", "aac", "flac", "wav", "pcm", "ogg"],
    BeforeValidator(lambda name: name.lower() if isinstance(name, str) else name),  # some clients write MP3
]
SampleRate = Literal[8000, 16000, 22050, 24000, 44100, 48000]
MAX_NAME = 256  # characters of a model or voice name
MAX_INSTRUCTIONS = 4096
MAX_REQUEST_LEXICON = 1000  # entries

Text = Annotated[str, Field(min_length=1, description="the text; its greatest length is a setting of the server")]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Settings = dict[Annotated[str, Field(max_length=16)], Name | bool]
Pronunciation = Name | Settings | Annotated[list[Name | Settings], Field(min_length=1, max_length=8)]
Entries = Annotated[dict[Name, Pronunciation], Field(max_length=MAX_REQUEST_LEXICON)]


class Strict(BaseModel):
    """A request: types are not converted, and unknown fields are kept apart so that they can be named."""

    model_config = ConfigDict(strict=True, extra="allow")

    def unknown_fields(self) -> list[str]:
        """Names that this version does not know."""
        return list(self.model_extra or {})


class VoiceReference(Strict):
    """A voice by its id, as OpenAI's clients send custom voices."""

    id: Name


class Reading(Strict):
    """Who speaks, and how words are read."""

    voice: Name | VoiceReference = Field(default="default", description="a name that /v1/audio/voices lists")
    ssml: bool = Field(default=False, description="whether the text is SSML")
    normalize: bool = Field(default=True, description="whether numbers, dates and symbols are read as words")
    lexicon: Entries | None = Field(default=None, description="pronunciations for this request")

    @property
    def voice_name(self) -> str:
        """The voice asked for."""
        return self.voice if isinstance(self.voice, str) else self.voice.id


class Manner(Reading):
    """How fast, high and loud it is spoken."""

    speed: float = Field(default=1.0, ge=0.25, le=4.0, description="rate; 2 is twice as fast")
    pitch: float = Field(default=0.0, ge=-12.0, le=12.0, description="shift in semitones")
    volume: float = Field(default=1.0, ge=0.0, le=10.0, description="linear gain")
    seed: int | None = Field(default=None, ge=0, le=2**63 - 1, description="the same seed gives the same samples")
    lead_in: float = Field(default=0.0, ge=0.0, le=10.0, description="seconds of silence in front")


class TextRequest(Reading):
    """A text whose pronunciation is asked for."""

    input: Text


class TimingsRequest(Manner):
    """A text whose times are wanted without its audio."""

    input: Text
    response_format: Literal["json", "jsonl", "srt", "vtt", "lrc", "textgrid"] = "json"
    by_word: bool = Field(default=False, description="srt, vtt and lrc with times of single words")


class SpeechRequest(Manner):
    """The speech contract of OpenAI, with what this server adds."""

    input: Text
    model: Name = Field(description="any name; this server has one model")
    voice: Name | VoiceReference = Field(description="a name that /v1/audio/voices lists")
    response_format: Format = "mp3"
    stream_format: Literal["audio", "sse"] = "audio"
    instructions: str | None = Field(default=None, max_length=MAX_INSTRUCTIONS, description="accepted, without effect")
    stream: bool = Field(default=True, description="false: one piece with its length, when it is complete")
    timestamps: bool = Field(default=False, description="times of words and phones, as JSON or events, with the audio")
    sample_rate: SampleRate | None = Field(default=None, description="Hz of the audio; default: the format's usual")


class LexiconEntries(Strict):
    """Words and how they are said."""

    entries: Annotated[Entries, Field(min_length=1)]


class Lexicon(BaseModel):
    """All words of the server's own lexicon."""

    entries: dict[str, Pronunciation]


class Usage(BaseModel):
    """Input tokens are characters, output tokens are pieces of 50 ms."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


class Model(BaseModel):
    """A model, as OpenAI lists it."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str


class ModelList(BaseModel):
    """All models."""

    object: Literal["list"] = "list"
    data: list[Model]


class VoiceEntry(BaseModel):
    """A voice name; `alias_of` is the voice that speaks for a name of OpenAI's."""

    id: str
    name: str
    language: str
    sample_rate: int
    alias_of: str | None


class VoiceList(BaseModel):
    """All voices, under both names that clients look for."""

    object: Literal["list"] = "list"
    data: list[VoiceEntry]
    voices: list[VoiceEntry] | list[str]


class WordTime(BaseModel):
    """A spoken word: when it is heard, and the characters of `input` it comes from, [first, past the last)."""

    text: str
    start: float
    end: float
    span: tuple[int, int]


class PhoneTime(BaseModel):
    """A phone or silence: when it is heard, and its mean pitch in Hz (0: none)."""

    symbol: str
    start: float
    end: float
    f0: float


class MarkTime(BaseModel):
    """A mark of SSML and when it is reached."""

    name: str
    time: float


class Timings(BaseModel):
    """When everything is heard, in seconds."""

    seconds: float
    words: list[WordTime]
    phones: list[PhoneTime]
    marks: list[MarkTime]


class TimedSpeech(BaseModel):
    """Audio with its times."""

    seconds: float
    words: list[WordTime]
    phones: list[PhoneTime]
    audio: str = Field(description="base64")
    format: Format
    sample_rate: int
    seed: int
    usage: Usage


class PhonemeWord(BaseModel):
    """A spoken word, its characters of `input`, its phones, and where they come from."""

    text: str
    span: tuple[int, int]
    phones: list[str]
    source: str


class PhonemeSentence(BaseModel):
    """A sentence as the networks get it."""

    span: tuple[int, int]
    words: list[PhonemeWord]
    symbols: list[str]


class Phonemes(BaseModel):
    """How a text will be pronounced and what becomes of it."""

    sentences: list[PhonemeSentence]
    normalised: list[dict[str, Any]]
    unknown: list[str]
    dropped: list[dict[str, Any]]


class Status(BaseModel):
    """An answer to a probe."""

    status: str
    voices: list[str] = []
