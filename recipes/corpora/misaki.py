"""Our phones -> the teacher's phoneme notation (misaki, as hibari-tts reads it).

The map is total: every phone in every context has a rendering, and a rendering outside the teacher's
vocabulary raises instead of being dropped. Contexts that American English pronounces differently (the
flapped /t/, the syllabic /l/) are written the way the teacher's own lexicon writes them.
"""

from collections.abc import Sequence

from deepvoice.text.phones import ENDS, PAUSES, START, base, is_silence, is_vowel, stress

_CONSONANTS = {
    "B": "b", "CH": "ʧ", "D": "d", "DH": "ð", "F": "f", "G": "ɡ", "HH": "h", "JH": "ʤ", "K": "k", "L": "l",
    "M": "m", "N": "n", "NG": "ŋ", "P": "p", "R": "ɹ", "S": "s", "SH": "ʃ", "T": "t", "TH": "θ", "V": "v",
    "W": "w", "Y": "j", "Z": "z", "ZH": "ʒ",
}  # fmt: skip
_VOWELS = {
    "AA": "ɑ", "AE": "æ", "AH": "ʌ", "AO": "ɔ", "AW": "W", "AY": "I", "EH": "ɛ", "ER": "ɜɹ", "EY": "A", "IH": "ɪ",
    "IY": "i", "OW": "O", "OY": "Y", "UH": "ʊ", "UW": "u",
}  # fmt: skip
_REDUCED = {"AH0": "ə", "ER0": "əɹ"}
_STRESS_MARKS = ("", "ˈ", "ˌ")
_PAUSES = {",": ",", ";": ";", ":": ":", "-": "—", ".": ".", "?": "?", "!": "!"}


def _phone(phones: Sequence[str], i: int, word_of: Sequence[int]) -> str:
    symbol = phones[i]
    before = phones[i - 1] if i and word_of[i - 1] == word_of[i] else ""
    after = phones[i + 1] if i + 1 < len(phones) and word_of[i + 1] == word_of[i] else ""
    if (
        symbol == "T"
        and after
        and is_vowel(after)
        and stress(after) == 0
        and before
        and (is_vowel(before) or before == "R")
    ):
        return "T"  # flap: butter, party
    if symbol == "AH0" and after == "L" and before and not is_vowel(before):
        return "ᵊ"  # little
    if is_vowel(symbol):
        return _STRESS_MARKS[stress(symbol)] + _REDUCED.get(symbol, _VOWELS[base(symbol)])
    return _CONSONANTS[symbol]


def to_misaki(phones: Sequence[str], word_of: Sequence[int]) -> tuple[str, list[int]]:
    """Write a sentence in the teacher's notation.

    phones: symbols of deepvoice.text.phones, from the start silence to the end mark
    word_of: index of the word of each phone, -1 for silences
    Returns the phoneme string and, for each of its characters, the index of the phone it renders; a space
    between two words has -1.
    """
    text, owner = "", []
    for i, symbol in enumerate(phones):
        if symbol == START:
            continue
        if is_silence(symbol):
            piece = _PAUSES[symbol]
        else:
            new_word = i > 0 and phones[i - 1] != START and word_of[i] != word_of[i - 1]
            if new_word:
                text += " "
                owner.append(-1)
            piece = _phone(phones, i, word_of)
        text += piece
        owner += [i] * len(piece)
    return text, owner


assert set(_PAUSES) == {*PAUSES, *ENDS}
