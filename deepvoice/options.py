"""How to speak one text: every keyword of `Voice.speak`, its range and its default, in one place."""

import numbers
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from deepvoice.errors import ConfigError
from deepvoice.text.options import CLASSES, DEFAULT_OPTIONS, TextOptions

if TYPE_CHECKING:
    from deepvoice.text.user_lexicon import UserLexicon

SPEED = (0.25, 4.0)  # rate, 1 is the voice's own
PITCH = (-12.0, 12.0)  # semitones
VOLUME = (0.0, 10.0)  # linear gain
SEED = (0, 2**63 - 1)
LOUDNESS = (-50.0, -5.0)  # LUFS
LEAD_IN = (0.0, 10.0)  # seconds
# What stays on without normalisation: these are about which characters are meant, not about how they are read.
_ALWAYS = frozenset({"quote", "dash", "entity", "lookalike"})


class OptionValues(TypedDict, total=False):
    """The keywords of `Voice.speak`, `stream` and `speak_many`; see `Options`."""

    speed: float
    pitch: float
    volume: float
    seed: int | Literal["random"] | None
    ssml: bool
    lexicon: "UserLexicon | None"
    options: TextOptions | None
    normalize: bool
    loudness: float | None
    lead_in: float
    question_rise: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to speak one text. Values outside their ranges raise ConfigError.

    speed: rate from 0.25 to 4; 2 is twice as fast, at the same pitch
    pitch: shift from -12 to 12 semitones, at the same rate
    volume: linear gain from 0 to 10; samples are clipped to [-1, 1]
    seed: of the random numbers; None is the voice's fixed default, "random" a new one (named in the report)
    ssml: whether the text is SSML
    lexicon: pronunciations of the caller's own
    options: how text is read (dates, emoji, Markdown, classes that are off)
    normalize: False reads numbers, abbreviations and the like as they stand, without saying them in words
    loudness: integrated loudness (EBU R128) of the whole speech in LUFS, from -50 to -5, by one gain; None leaves it
    lead_in: seconds of silence before the first sound, from 0 to 10, for outputs that swallow the beginning
    question_rise: whether yes/no questions end high
    """

    speed: float = 1.0
    pitch: float = 0.0
    volume: float = 1.0
    seed: int | Literal["random"] | None = None
    ssml: bool = False
    lexicon: "UserLexicon | None" = None
    options: TextOptions | None = None
    normalize: bool = True
    loudness: float | None = None
    lead_in: float = 0.0
    question_rise: bool = True

    def __post_init__(self) -> None:
        for name in ("speed", "pitch", "volume", "lead_in", "loudness", "seed"):
            object.__setattr__(self, name, _plain_number(getattr(self, name)))
        for name, value, limits in (
            ("speed", self.speed, SPEED),
            ("pitch", self.pitch, PITCH),
            ("volume", self.volume, VOLUME),
            ("lead_in", self.lead_in, LEAD_IN),
            ("loudness", LOUDNESS[0] if self.loudness is None else self.loudness, LOUDNESS),
            ("seed", SEED[0] if self.seed in (None, "random") else self.seed, SEED),
        ):
            _require_number(name, value, limits)
        if not isinstance(self.seed, int) and self.seed not in (None, "random"):
            raise ConfigError(f'seed is {self.seed!r}; expected a whole number, None or "random"')
        for name in ("ssml", "normalize", "question_rise"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} is {getattr(self, name)!r}; expected True or False")
        if not isinstance(self.options, TextOptions | None):
            raise ConfigError(f"options is {type(self.options).__name__}; expected a TextOptions or None")
        if self.lexicon is not None and not hasattr(self.lexicon, "merged"):
            raise ConfigError(
                f"lexicon is {type(self.lexicon).__name__}; expected a UserLexicon: load a file with "
                "UserLexicon.load, or pass a mapping to UserLexicon.from_mapping"
            )

    @property
    def text_options(self) -> TextOptions:
        """How text is read, with `normalize` taken into account."""
        options = self.options or DEFAULT_OPTIONS
        return options if self.normalize else replace(options, off=options.off | (CLASSES.keys() - _ALWAYS))


def _plain_number(value: Any) -> Any:
    """Return other kinds of numbers, such as numpy's, as Python's own, and everything else as it is."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) else value


def _require_number(name: str, value: object, limits: tuple[float, float]) -> None:
    low, high = limits
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise ConfigError(f"{name} is {value!r}; expected a number from {low} to {high}")
