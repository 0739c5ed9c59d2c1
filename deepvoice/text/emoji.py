"""Emoji described in words: what people call the common ones, the Unicode name for the rest."""

import unicodedata

_PICTURE = (
    "[\u2600-\u27bf\u2b00-\u2bff\u2300-\u23ff\u25a0-\u25ff\u2190-\u21ff\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa"
    "\U0001f400-\U0001faff]"
)
_EXTENDED = f"{_PICTURE}[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\u20e3]{{0,3}}"
SEQUENCE = f"[\U0001f1e6-\U0001f1ff]{{2}}|{_EXTENDED}(?:\u200d{_EXTENDED}){{0,6}}"
_NAMES = {
    "❤": "red heart", "♥": "heart", "👍": "thumbs up", "👎": "thumbs down", "😂": "laughing with tears",
    "🤣": "rolling laughing", "😊": "smiling", "😀": "grinning", "😁": "grinning", "😃": "smiling",
    "😄": "smiling", "😉": "winking", "😍": "heart eyes", "😘": "blowing a kiss", "😎": "cool",
    "😢": "crying", "😭": "sobbing", "😡": "angry", "🤔": "thinking", "🙏": "folded hands",
    "🎉": "party popper", "🔥": "fire", "✅": "check mark", "✔": "check mark", "❌": "cross mark",
    "⚠": "warning", "⭐": "star", "★": "star", "🚀": "rocket", "💯": "one hundred points",
    "👏": "clapping", "💪": "flexed arm", "👀": "eyes", "🙂": "smiling", "🙁": "frowning",
    "😅": "nervous laugh", "🥰": "smiling with hearts", "😱": "screaming", "🤷": "shrugging",
    "🤦": "face palm", "→": "right arrow", "←": "left arrow", "↑": "up arrow", "↓": "down arrow",
    "⇒": "right arrow", "↔": "left right arrow", "🙌": "raised hands", "👋": "waving", "🤝": "handshake",
    "☕": "coffee", "🎂": "birthday cake",
}  # fmt: skip
_SKIPPED = frozenset("\ufe0e\ufe0f\u200d\u20e3♀♂")
_WORDS_LEFT_OUT = ("sign", "symbol", "emoji", "black", "white", "heavy", "with", "face")


def describe(sequence: str) -> str:
    """Return the lower-case words for one emoji with its modifiers; people joined together are named once each."""
    if 0x1F1E6 <= ord(sequence[0]) <= 0x1F1FF:
        return "flag of " + " ".join(chr(ord(c) - 0x1F1E6 + ord("A")) for c in sequence)
    names: list[str] = []
    for char in sequence:
        if char not in _SKIPPED and not 0x1F3FB <= ord(char) <= 0x1F3FF:
            name = _NAMES.get(char) or _plain_name(char)
            if name and name not in names:
                names.append(name)
    return " ".join(names)


def _plain_name(char: str) -> str:
    words = unicodedata.name(char, "").lower().replace("-", " ").split()
    kept = [word for word in words if word not in _WORDS_LEFT_OUT] or words
    return " ".join(word for word in kept if word.isalpha())
