"""Words of one spelling and two pronunciations: what a voice's classifier is asked, and rules for the rest.

A voice knows homographs (`deepvoice.networks.homographs`). The rules here read those that it lacks, plurals, and
everything for a front end without a voice. Most are stressed on the first syllable as a noun ("a record") and on the
second as a verb ("to record"). The word before tells them apart most of the time; where it does not, the commoner
reading is taken.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, Protocol

from deepvoice.text.pronounce import with_s


class Spoken(NamedTuple):
    """A spoken word or a pause in its sentence."""

    text: str  # lower case; the pause symbol
    capital: bool = False  # it is written with a capital
    start: int = 0  # where it is written


class Chosen(NamedTuple):
    """The reading of a homograph: its name and its phones."""

    reading: str
    phones: tuple[str, ...]


class Homographs(Protocol):
    """What chooses between the readings of the words it contains; pauses are among the words it is given."""

    def __contains__(self, word: object) -> bool: ...

    def __call__(self, words: Sequence[Spoken], index: int) -> Chosen:
        """Return the reading of words[index]."""


_NOUN_CUES = frozenset(
    "the a an this that these those his her my your our its their no some any of in on for with by from at every "
    "each one two three another such what which whose new old good great first last next own same more most less "
    "very so too is was are were be been being as how".split()
)
_VERB_CUES = frozenset(
    "to will would can could may might must shall should do does did not i you we they who let let's please never "
    "always often don't doesn't didn't can't cannot couldn't won't wouldn't shouldn't i'll you'll we'll they'll "
    "he'll she'll i'd you'd we'd they'd and".split()
)
_PERFECT_CUES = frozenset(
    "have has had having been was were is are be being i've you've we've they've he'd she'd i'd we'd they'd he she "
    "it haven't hasn't hadn't".split()
)
# What settles how "read" is said, and what may stand between.
_TO_PRESENT = frozenset(
    "to will would can could may might must shall should do does did don't doesn't didn't can't cannot couldn't won't "
    "wouldn't shouldn't mustn't i'll you'll he'll she'll it'll we'll they'll let let's please".split()
)
_PERFECT_AUXILIARIES = frozenset(
    "have has had having haven't hasn't hadn't i've you've we've they've who've would've could've should've must've "
    "might've".split()
)
_PASSIVE_AUXILIARIES = frozenset("is are was were be been being isn't aren't wasn't weren't".split())
_SUBJECTS = frozenset("i you he she it we they anyone anybody everyone everybody someone nobody".split())
_BETWEEN = _SUBJECTS | frozenset(
    "not never ever always already just also only once twice recently often all both since even probably really "
    "actually still usually sometimes simply carefully quickly widely finally yet now then slowly here".split()
)
_THIRD = frozenset("he she it".split())  # "he read" is past, unless somebody makes him
_CAUSES = frozenset("make makes made let lets see sees saw watch watched hear heard help helped that".split())
_READ_PAST = Chosen("read_past", ("R", "EH1", "D"))
_READ_PRESENT = Chosen("read_present", ("R", "IY1", "D"))
_PAST_WORDS = frozenset("yesterday ago last earlier once then already".split())
_DETERMINERS = frozenset("the a an this that his her my your our its their it them him up down off in".split())

# word: noun or adjective | verb; the first is taken without a cue unless the word is in _VERB_FIRST.
_NOUN_OR_VERB = """
abuse AH0 B Y UW1 S|AH0 B Y UW1 Z
advocate AE1 D V AH0 K AH0 T|AE1 D V AH0 K EY2 T
alternate AO1 L T ER0 N AH0 T|AO1 L T ER0 N EY2 T
appropriate AH0 P R OW1 P R IY0 AH0 T|AH0 P R OW1 P R IY0 EY2 T
articulate AA0 R T IH1 K Y AH0 L AH0 T|AA0 R T IH1 K Y AH0 L EY2 T
associate AH0 S OW1 SH IY0 AH0 T|AH0 S OW1 SH IY0 EY2 T
attribute AE1 T R AH0 B Y UW2 T|AH0 T R IH1 B Y UW0 T
close K L OW1 S|K L OW1 Z
compound K AA1 M P AW2 N D|K AH0 M P AW1 N D
conduct K AA1 N D AH0 K T|K AH0 N D AH1 K T
conflict K AA1 N F L IH0 K T|K AH0 N F L IH1 K T
content K AA1 N T EH0 N T|K AH0 N T EH1 N T
contest K AA1 N T EH0 S T|K AH0 N T EH1 S T
contract K AA1 N T R AE2 K T|K AH0 N T R AE1 K T
contrast K AA1 N T R AE2 S T|K AH0 N T R AE1 S T
convict K AA1 N V IH0 K T|K AH0 N V IH1 K T
decrease D IY1 K R IY2 S|D IH0 K R IY1 S
delegate D EH1 L AH0 G AH0 T|D EH1 L AH0 G EY2 T
deliberate D IH0 L IH1 B ER0 AH0 T|D IH0 L IH1 B ER0 EY2 T
desert D EH1 Z ER0 T|D IH0 Z ER1 T
digest D AY1 JH EH0 S T|D AY0 JH EH1 S T
duplicate D UW1 P L AH0 K AH0 T|D UW1 P L AH0 K EY2 T
elaborate IH0 L AE1 B R AH0 T|IH0 L AE1 B ER0 EY2 T
estimate EH1 S T AH0 M AH0 T|EH1 S T AH0 M EY2 T
excuse IH0 K S K Y UW1 S|IH0 K S K Y UW1 Z
export EH1 K S P AO0 R T|IH0 K S P AO1 R T
extract EH1 K S T R AE2 K T|IH0 K S T R AE1 K T
graduate G R AE1 JH AH0 W AH0 T|G R AE1 JH AH0 W EY2 T
house HH AW1 S|HH AW1 Z
import IH1 M P AO2 R T|IH0 M P AO1 R T
increase IH1 N K R IY2 S|IH0 N K R IY1 S
insult IH1 N S AH2 L T|IH0 N S AH1 L T
intimate IH1 N T AH0 M AH0 T|IH1 N T AH0 M EY2 T
lives L AY1 V Z|L IH1 V Z
moderate M AA1 D ER0 AH0 T|M AA1 D ER0 EY2 T
object AA1 B JH EH0 K T|AH0 B JH EH1 K T
perfect P ER1 F IH0 K T|P ER0 F EH1 K T
permit P ER1 M IH2 T|P ER0 M IH1 T
present P R EH1 Z AH0 N T|P R IH0 Z EH1 N T
produce P R OW1 D UW2 S|P R AH0 D UW1 S
progress P R AA1 G R EH2 S|P R AH0 G R EH1 S
project P R AA1 JH EH2 K T|P R AH0 JH EH1 K T
protest P R OW1 T EH2 S T|P R AH0 T EH1 S T
rebel R EH1 B AH0 L|R IH0 B EH1 L
record R EH1 K ER0 D|R IH0 K AO1 R D
refuse R EH1 F Y UW2 Z|R AH0 F Y UW1 Z
separate S EH1 P ER0 AH0 T|S EH1 P ER0 EY2 T
subject S AH1 B JH IH0 K T|S AH0 B JH EH1 K T
suspect S AH1 S P EH2 K T|S AH0 S P EH1 K T
tear T IH1 R|T EH1 R
transport T R AE1 N S P AO0 R T|T R AE0 N S P AO1 R T
upset AH1 P S EH2 T|AH0 P S EH1 T
use Y UW1 S|Y UW1 Z
wind W IH1 N D|W AY1 N D
"""
_VERB_FIRST = frozenset("digest export extract permit produce refuse suspect upset use".split())
_LIVE_NOUNS = frozenset(
    "music show shows broadcast broadcasts concert concerts audience television tv performance performances stream "
    "coverage ammunition wire wires bait recording recordings album event events".split()
)
_LEAD_NOUNS = frozenset(
    "pipe pipes paint poisoning bullet bullets pencil pencils shot ore mine mines weight weights".split()
)


@cache
def _table() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    table = {}
    for line in _NOUN_OR_VERB.strip().splitlines():
        word, phones = line.split(" ", 1)
        noun, verb = phones.split("|")
        table[word] = (tuple(noun.split()), tuple(verb.split()))
    return table


@cache
def words_of_rules() -> frozenset[str]:
    """Return the words that `heteronym` reads."""
    return frozenset([*_SPECIAL, *_table(), *(f"{word}s" for word in _table() if word != "house")])


def heteronym(words: Sequence[str], index: int) -> Chosen | None:
    """Return the reading of words[index] in its sentence, without pauses; None when it is no heteronym of the rules."""
    word = words[index]
    before = words[index - 1] if index else ""
    after = words[index + 1] if index + 1 < len(words) else ""
    special = _SPECIAL.get(word)
    if special:
        return special(words, before, after)
    readings = _table().get(word)
    if readings is None:
        return _plural(word, before)
    with_object = word in ("close", "use", "house", "separate", "record") and after in _DETERMINERS - {"in"}
    verb = before not in _NOUN_CUES and (word in _VERB_FIRST or with_object or is_verb(words, index))
    return Chosen(f"{word}_{'vrb' if verb else 'nou'}", readings[verb])


def is_verb(words: Sequence[str], index: int) -> bool:
    """Tell whether words[index] stands where a verb does, by the words beside it."""
    before = words[index - 1] if index else ""
    after = words[index + 1] if index + 1 < len(words) else ""
    return before not in _NOUN_CUES and (before in _VERB_CUES or (not before and after in _DETERMINERS))


def _plural(word: str, before: str) -> Chosen | None:
    """Read "records": the noun, or the verb after he, she, it and who."""
    readings = _table().get(word[:-1]) if word.endswith("s") and word != "houses" else None
    if readings is None:
        return None
    verb = before in ("he", "she", "it", "who", "which")
    return Chosen(f"{word}_{'vrb' if verb else 'nou'}", with_s(readings[verb]))


def certain(words: Sequence[Spoken], index: int) -> str | None:
    """Return the name of the reading of words[index] where grammar leaves one only ("have read"), else None.

    words: of its sentence; pauses may be among them
    """
    if words[index].text != "read":
        return None
    before = [word for word, _, _ in reversed(words[max(0, index - 5) : index])]
    nearest = before[0] if before else ""
    if nearest == "well":
        return _READ_PAST.reading
    subject = False  # between the auxiliary and its verb
    for word in before:
        if word in _TO_PRESENT:
            return _READ_PRESENT.reading
        if word in _PERFECT_AUXILIARIES or (word in _PASSIVE_AUXILIARIES and not subject):
            return _READ_PAST.reading
        if word not in _BETWEEN:
            return _READ_PAST.reading if nearest in _THIRD and word not in _CAUSES else None
        subject = subject or word in _SUBJECTS
    return _READ_PAST.reading if nearest in _THIRD else None


def _read(words: Sequence[str], before: str, after: str) -> Chosen:
    perfect = before in _PERFECT_CUES or not _PAST_WORDS.isdisjoint(words)
    past = perfect and before not in _VERB_CUES - {"i", "you", "we", "they", "who", "and"}
    return _READ_PAST if past else _READ_PRESENT


def _live(words: Sequence[str], before: str, after: str) -> Chosen:
    cues = ("a", "the", "went", "goes", "going", "broadcast", "streamed", "recorded")
    adjective = after in _LIVE_NOUNS or before in cues
    return Chosen("live_adj", ("L", "AY1", "V")) if adjective else Chosen("live_vrb", ("L", "IH1", "V"))


def _lead(words: Sequence[str], before: str, after: str) -> Chosen:
    metal = after in _LEAD_NOUNS or before in ("of", "molten")
    return Chosen("lead_nou", ("L", "EH1", "D")) if metal else Chosen("lead_nou-vrb", ("L", "IY1", "D"))


def _wound(words: Sequence[str], before: str, after: str) -> Chosen:
    turned = after in ("up", "it", "down", "round", "around", "its", "through", "back")
    return Chosen("wound_vrb", ("W", "AW1", "N", "D")) if turned else Chosen("wound_nou-vrb", ("W", "UW1", "N", "D"))


def _used(words: Sequence[str], before: str, after: str) -> Chosen:
    habit = after == "to" and before not in ("is", "was", "are", "were", "be", "been", "being")
    return Chosen("used_to", ("Y", "UW1", "S", "T")) if habit else Chosen("used", ("Y", "UW1", "Z", "D"))


def _bow(words: Sequence[str], before: str, after: str) -> Chosen:
    knot = after in ("and", "tie", "ties") or before in ("his", "crossbow", "violin")
    return Chosen("bow_nou-knot", ("B", "OW1")) if knot else Chosen("bow_nou-ship", ("B", "AW1"))


def _minute(words: Sequence[str], before: str, after: str) -> Chosen:
    small = before in ("very", "most", "so", "too", "more")
    return (
        Chosen("minute_adj", tuple("M AY0 N UW1 T".split()))
        if small
        else Chosen("minute", tuple("M IH1 N AH0 T".split()))
    )


_SPECIAL = {"read": _read, "live": _live, "lead": _lead, "wound": _wound, "used": _used, "bow": _bow, "minute": _minute}
