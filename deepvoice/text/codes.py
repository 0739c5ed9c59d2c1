"""What is read digit by digit or in groups: phone numbers, codes, serial numbers, versions, addresses of machines."""

import re

from deepvoice.text import numbers as say
from deepvoice.text.names import STATES
from deepvoice.text.rules import Context, Reading, Rule, compiled, counts, following_word, split_pairs
from deepvoice.text.vocabulary import (
    BIBLE_BOOKS,
    CALL_WORDS,
    CODE_WORDS,
    EMERGENCY_NUMBERS,
    ROOM_WORDS,
    VERSION_WORDS,
)


def _phone_number(match: re.Match[str], context: Context) -> Reading | None:
    groups = re.findall(r"\d+", match.group())
    lead = "plus " if match.group().startswith("+") else ""
    spoken = [say.spell_digits(group) for group in groups]
    if len(groups) == 4 and groups[0] == "1" and groups[1] in ("800", "900"):
        spoken[1] = say.cardinal(groups[1])
    return Reading(lead + " , ".join(spoken), match.end())


def _short_phone_number(match: re.Match[str], context: Context) -> Reading | None:
    return _phone_number(match, context) if match[1][0] not in "01" else None


def _vanity_number(match: re.Match[str], context: Context) -> Reading | None:
    """Read "1-800-FLOWERS": the letters are words."""
    area = say.cardinal(match[1]) if match[1].endswith("00") else say.spell_digits(match[1])
    return Reading(f"one {area} , {match[2].lower().replace('-', ' ')}", match.end())


def _pair(match: re.Match[str], context: Context) -> Reading | None:
    """Read "ISSN 0028-0836" digit by digit, and "No. 104-191" without "to"."""
    if compiled(r"\b[Nn]o\. ?$").search(context.text, max(0, match.start() - 5), match.start()):
        parts = [split_pairs(part) if len(part) < 5 else say.spell_digits(part) for part in match.groups()]
        return Reading(" ".join(parts), match.end())
    if not any(word in CODE_WORDS for word in context.before[-3:]) and context.last not in ("I S S N", "i s s n"):
        return None
    return Reading(f"{say.spell_digits(match[1])} , {say.spell_digits(match[2])}", match.end())


def _always(match: re.Match[str], context: Context) -> Reading | None:
    return Reading("twenty four seven three sixty five", match.end())


def _aircraft(match: re.Match[str], context: Context) -> Reading | None:
    """Read "737-800" without "to"."""
    return Reading(f"{split_pairs(match[1])} {say.cardinal(match[2])}", match.end())


def _groups(match: re.Match[str], context: Context) -> Reading | None:
    """Read "123-45-6789" digit by digit, "4-4-2" as numbers."""
    groups = match.group().split("-")
    if all(len(group) <= 2 and (group[0] != "0" or group == "0") for group in groups):
        return Reading(" ".join(say.cardinal(group) for group in groups), match.end())
    return Reading(" , ".join(say.spell_digits(group) for group in groups), match.end())


def _card_number(match: re.Match[str], context: Context) -> Reading | None:
    return Reading(" , ".join(say.spell_digits(group) for group in match.group().split()), match.end())


def _together(match: re.Match[str], context: Context) -> Reading | None:
    """Read "50-50", "20-20", "10-4": two numbers without "to"."""
    first, second = match.groups()
    if int(first) + int(second) != 100 and (first, second) not in (("20", "20"), ("10", "4"), ("9", "11"), ("24", "7")):
        return None
    return Reading(f"{say.cardinal(first)} {say.cardinal(second)}", match.end())


def _dotted(match: re.Match[str], context: Context) -> Reading | None:
    """Read "1.2.3" as a version and "192.168.1.1" as the address of a machine."""
    parts = match.group().split(".")
    if len(parts) == 4 and any(len(part) == 3 for part in parts):
        return Reading(" dot ".join(_octet(part) for part in parts), match.end())
    if any(len(part) > 4 for part in parts):
        return Reading(" dot ".join(say.spell_digits(part) for part in parts), match.end())
    joint = " dot " if len(parts) == 4 else " point "
    return Reading(joint.join(_version_part(part) for part in parts), match.end())


def _octet(part: str) -> str:
    return split_pairs(part) if len(part) == 3 and part[1:] != "00" else say.cardinal(part)


def _version_part(part: str) -> str:
    return say.spell_digits(part) if part[0] == "0" and len(part) > 1 else say.cardinal(part)


def _version(match: re.Match[str], context: Context) -> Reading | None:
    """Read "Python 3.11": three point eleven, not one one."""
    if context.last not in VERSION_WORDS or len(match[2]) > 3:
        return None
    return Reading(f"{say.cardinal(match[1])} point {_version_part(match[2])}", match.end())


def _hexadecimal(match: re.Match[str], context: Context) -> Reading | None:
    return Reading(f"zero X {spell_code(match[1])}", match.end())


def spell_code(code: str) -> str:
    """Read letters by their names and digits one by one."""
    return " ".join(say.spell_digits(c) if c.isdigit() else c.upper() for c in code)


def _verse(match: re.Match[str], context: Context) -> Reading | None:
    """Read "Psalm 23:1" without "to"."""
    if context.last not in BIBLE_BOOKS:
        return None
    return Reading(f"{say.cardinal(match[1])} {say.cardinal(match[2])}", match.end())


def _ratio(match: re.Match[str], context: Context) -> Reading | None:
    return Reading(f"{say.cardinal(match[1])} to {say.cardinal(match[2])}", match.end())


def _channel(match: re.Match[str], context: Context) -> Reading | None:
    """Read "8/7c": on television at eight, seven in the central zone."""
    return Reading(f"{say.cardinal(match[1])} {say.cardinal(match[2])} central", match.end())


def _wireless(match: re.Match[str], context: Context) -> Reading | None:
    """Read "802.11ax" and the other standards of the family."""
    number, letters = match.groups()
    if number not in ("1", "3", "11", "15") or not (letters or number == "11" or context.last in ("ieee", "i e e e")):
        return None
    return Reading(f"eight oh two dot {say.cardinal(number)} {' '.join(letters.upper())}".strip(), match.end())


def _chat(match: re.Match[str], context: Context) -> Reading | None:
    return Reading({"2": "to", "4": "for"}[match[1][0]] + _CHAT_ENDS[match[1][1:]], match.end())


def special_integer(digits: str, end: int, context: Context) -> str:
    """Read an integer that is a code, a room, an emergency number or has a leading zero; "" for an ordinary one."""
    recent = context.before[-4:]
    following = following_word(context.text, end)
    if len(digits) >= 3 and not counts(following) and any(word in CODE_WORDS for word in recent):
        return say.spell_digits(digits)
    if len(digits) >= 5 and ("number" in recent or "phone" in recent):
        return say.spell_digits(digits)
    ending = len(recent) > 1 and recent[-1] == "in" and recent[-2] in ("ends", "ending", "ended")
    if ending and len(digits) == 4 and not "1100" <= digits <= "2099":
        return say.spell_digits(digits)  # of a card or an account
    if digits in EMERGENCY_NUMBERS and (context.last in CALL_WORDS or following in CALL_WORDS):
        return say.spell_digits(digits)
    state = compiled(r"\b([A-Z]{2}) $").search(context.text, max(0, end - len(digits) - 4), end - len(digits))
    if len(digits) == 5 and state and state[1] in STATES:
        return say.spell_digits(digits)
    if len(digits) in (3, 4) and context.last in ROOM_WORDS:
        return split_pairs(digits)
    if len(digits) in (3, 4) and digits[0] != "0" and compiled(_STREET).match(context.text, end):
        return split_pairs(digits)
    if digits[0] == "0" and len(digits) > 1:
        return say.spell_digits(digits)
    return ""


def read_after_letters(position: int, context: Context) -> Reading | None:
    """Read the digits of a name ("MP3s", "B2B", "A380", "v1.2"): no units, dates or years."""
    match = compiled(r"(\d++)((?:\.\d++)*+)(s(?![A-Za-z]))?").match(context.text, position)
    if not match:
        return None
    digits, decimals, plural = match.groups()
    if (digits[0] == "0" and len(digits) > 1) or len(digits) > 4:
        spoken = say.spell_digits(digits)
    else:
        spoken = split_pairs(digits) if len(digits) > 2 else say.cardinal(digits)
    spoken += "".join(f" point {say.cardinal(part)}" for part in decimals.split(".")[1:])
    return Reading(say.plural_number(spoken) if plural else spoken, match.end())


def read_phone_number(position: int, context: Context) -> Reading | None:
    """Read a phone number that starts with "(" or "+"."""
    if "phone" in context.options.off:
        return None
    match = compiled(
        r"\+?\d{0,3}[-. ]?\(\d{2,4}\)[-. ]?\d{3,4}[-. ]\d{3,4}(?!\d)"
        r"|\+\d{1,3}(?:[-. ]\d{1,5}){2,5}(?!\d)|\+\d{10,13}(?!\d)"
    ).match(context.text, position)
    return _phone_number(match, context) if match else None


_STREET = (
    r" (?:[NSEW]\.? |North |South |East |West )?(?:[A-Z][a-z]+ |\d{1,3}(?:st|nd|rd|th) ){1,3}"
    r"(?:St|Ave|Blvd|Rd|Ln|Dr|Ct|Pl|Hwy|Pkwy|Street|Avenue|Boulevard|Road|Lane|Drive|Court|Place|Way|Terrace)\b"
)
_CHAT_ENDS = {"nite": "night", "day": "day", "moro": "morrow", "morrow": "morrow", "ever": "ever"}
PHONE = Rule("phone", r"(?:\d{1,3}[-. ])?\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}(?![\d-])", _phone_number)
SHORT_PHONE = Rule("phone", r"(\d{3})-\d{4}(?![\d-])", _short_phone_number)
LOCAL_PHONE = Rule("phone", r"0\d{2,4}(?:[ -]\d{3,6}){1,2}(?![\d-])", _phone_number)
AIRCRAFT = Rule("code", r"(7[0-8]7)-([1-9]00?|10)(?![\d-])", _aircraft)
VANITY = Rule("phone", r"1-(8\d\d|900)-([A-Z]{2,}(?:-[A-Z]+)*)(?![A-Za-z\d])", _vanity_number)
GROUPS = Rule("code", r"\d++(?:-\d++){2,}+(?![/:])", _groups)
PAIR = Rule("code", r"(\d{3,6})-(\d{3,6})(?![\d-])", _pair)
ALWAYS = Rule("code", r"24/7/365(?!\d)", _always)
CARD = Rule("code", r"\d{4}(?: \d{4}){2,4}(?! ?\d)", _card_number)
TOGETHER = Rule("code", r"(\d{1,2})-(\d{1,2})(?![\d/:.]|-\d)", _together)
DOTTED = Rule("version", r"\d++(?:\.\d++){2,}+", _dotted)
VERSION = Rule("version", r"(\d{1,4})\.(\d{1,4})(?![\d])(?!\.\d)", _version)
HEXADECIMAL = Rule("code", r"0[xX]([0-9A-Fa-f]{1,16})(?![A-Za-z0-9])", _hexadecimal)
VERSE = Rule("code", r"(\d{1,3}):(\d{1,3})(?![\d:])", _verse)
RATIO = Rule("math", r"(\d{1,4})(?::|\s:\s)(\d{1,4})(?![\d:])", _ratio)
CHANNEL = Rule("time", r"(\d{1,2})/(\d{1,2})c(?![A-Za-z0-9])", _channel)
WIRELESS = Rule("code", r"802\.(\d{1,2})([a-z]{0,2})(?![A-Za-z0-9]|\.\d)", _wireless)
CHAT = Rule("abbreviation", r"(2nite|2day|2moro|2morrow|4ever)(?![A-Za-z0-9])", _chat)
