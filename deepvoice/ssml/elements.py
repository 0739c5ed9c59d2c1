"""The elements of SSML: their attributes, and what is inside them."""

from dataclasses import dataclass
from typing import Literal

Content = Literal["text", "reading", "nothing", "silent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """What an element may have.

    content: "text": text and elements; "reading": text alone, which is read in another way; "nothing"; "silent": not
        spoken at all
    needs, may: names of attributes
    ignored: attributes that are understood and reported, but change nothing
    """

    content: Content = "text"
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


SYNTHESIS = "http://www.w3.org/2001/10/synthesis"
ELEMENTS = {
    "speak": Element(may=("version",), ignored=("startmark", "endmark", "onlangfailure")),
    "p": Element(),
    "s": Element(),
    "w": Element(ignored=("role",)),
    "token": Element(ignored=("role",)),
    "lookup": Element(ignored=("ref",)),
    "lang": Element(ignored=("onlangfailure",)),
    "voice": Element(
        may=("name",), ignored=("gender", "age", "variant", "languages", "required", "ordering", "onvoicefailure")
    ),
    "prosody": Element(may=("rate", "pitch", "volume"), ignored=("contour", "range", "duration")),
    "emphasis": Element(may=("level",)),
    "sub": Element(content="reading", needs=("alias",)),
    "say-as": Element(content="reading", needs=("interpret-as",), may=("format",), ignored=("detail", "language")),
    "phoneme": Element(content="reading", needs=("ph",), may=("alphabet",), ignored=("type",)),
    "break": Element(content="nothing", may=("time", "strength")),
    "mark": Element(content="nothing", needs=("name",)),
    "lexicon": Element(content="nothing", ignored=("uri", "type", "fetchtimeout", "maxage", "maxstale")),
    "meta": Element(content="nothing", may=("name", "http-equiv", "content")),
    "metadata": Element(content="silent"),
}
REFUSED = {
    "audio": "recorded audio cannot be mixed in; remove it, or join the files afterwards",
    "desc": "it describes audio, which cannot be mixed in; remove it",
}
# Ways of saying that other systems have: their text is spoken in the usual way, and reported.
FOREIGN_SAY_AS = ("expletive", "bleep", "name", "net", "media", "ssml", "vxml:boolean", "vxml:digits", "cards")
ALPHABETS = {
    "ipa": "ipa",
    "x-sampa": "x-sampa",
    "xsampa": "x-sampa",
    "arpabet": "arpabet",
    "x-arpabet": "arpabet",
    "cmu-arpabet": "arpabet",
    "x-cmu": "arpabet",
}
