"""The International Phonetic Alphabet and X-SAMPA to ARPAbet and back.

The table covers what transcriptions of English use, American and British, and the commonest sounds of names from other
languages, which get the English sound that speakers put in their place. Stress marks stand before the syllable; length,
syllable dots, tie bars and fine diacritics say nothing that ARPAbet could keep.
"""

import re
import unicodedata
from collections.abc import Sequence

from deepvoice.errors import TextError
from deepvoice.text.phones import PHONES, base, is_vowel, stress

Phones = tuple[str, ...]

_PLAIN = """
p P|b B|t T|d D|k K|ɡ G|g G|f F|v V|θ TH|ð DH|s S|z Z|ʃ SH|ʒ ZH|h HH|m M|n N|ŋ NG|l L|ɹ R|r R|w W|j Y|tʃ CH|dʒ JH
tɕ CH|dʑ JH|ʧ CH|ʤ JH|ʨ CH|ʥ JH|ʦ T S|ʣ D Z|ɻ R|ɾ D|ɽ R|ɺ R|ʀ R|ʁ R|ʔ T|ʍ W|ɫ L|ɬ L|ɭ L|ʟ L|ʎ L Y|ɲ N Y|ɳ N|ɴ N|ɱ M
x K|χ K|ɣ G|ɢ G|q K|c K|ɟ G|ç HH|ʝ Y|ɦ HH|ħ HH|ʜ HH|β V|ɸ F|ʋ V|ɥ W|ɰ W|ɕ SH|ʑ ZH|ʂ SH|ʐ ZH|ʈ T|ɖ D|ɓ B|ɗ D|ɠ G|i IY
ɪ IH|ᵻ IH|ɨ IH|e EH|ɛ EH|æ AE|a AA|ɑ AA|ɒ AA|ɔ AO|o OW|ʊ UH|ᵿ UH|u UW|ʌ AH|ə AH|ɐ AH|ɜ ER|ɝ ER|ɚ ER|y UW|ʏ UH|ø ER
œ ER|ɶ AE|ʉ UW|ɯ UW|ɤ AH|ɘ AH|ɵ UH|ɞ ER|eɪ EY|ei EY|ej EY|eː EY|ɛɪ EY|ɛi EY|æɪ EY|aɪ AY|ai AY|aj AY|ɑɪ AY|ɑi AY
ʌɪ AY|aʊ AW|au AW|aw AW|ɑʊ AW|æʊ AW|æw AW|ɔɪ OY|ɔi OY|ɔj OY|oɪ OY|oi OY|ɒɪ OY|oʊ OW|ou OW|ow OW|əʊ OW|əu OW|ɔʊ OW
ɛʊ OW|ʌʊ OW|ɐʊ OW|ʊu UW|ʉu UW|ɪi IY|əː ER|ər ER|əɹ ER|ɚr ER|ɚɹ ER|ɜr ER|ɜɹ ER|ɝr ER|ɝɹ ER|əːr ER|əːɹ ER|ɜːr ER
ɜːɹ ER|ɝːr ER|ɝːɹ ER|ɛː EH R|ɛːr EH R|ɛːɹ EH R|ɪər IH R|ɪəɹ IH R|iər IH R|iəɹ IH R|ɪɚ IH R|iɚ IH R|eə EH R|eər EH R
eəɹ EH R|ɛə EH R|ɛər EH R|ɛəɹ EH R|eɚ EH R|ɛɚ EH R|ɪə IY AH|ʊə UH R|ʊər UH R|ʊəɹ UH R|uər UH R|uəɹ UH R|ʊɚ UH R
uɚ UH R|ɔə AO R|ɔər AO R|ɔəɹ AO R|ɔɚ AO R|ɑɚ AA R|oɚ AO R|oːr AO R|oːɹ AO R|or AO R|oɹ AO R
"""
_TABLE: dict[str, Phones] = {
    symbol: tuple(phones.split())
    for symbol, _, phones in (entry.partition(" ") for entry in _PLAIN.replace("\n", "|").split("|") if entry)
}
_LONGEST = max(map(len, _TABLE))
_SYLLABIC, _NASAL, _RHOTIC = "\u0329\u030d", "\u0303", "˞"
_PRIMARY, _SECONDARY = "ˈ'′ʹˊ’", "ˌ,"
_IGNORED = frozenset("ːˑ:.‿-|‖ʰʱʷʲˠˤⁿˡˀ˗˖")
_SILENT = re.compile("[()/\\[\\]\u035c\u0361\u200b\u200d\u2060]")  # brackets, tie bars, invisible characters

# ARPAbet to IPA; a vowel's unstressed form where it differs
_IPA = dict(
    pair.split()
    for pair in (
        "P p,B b,T t,D d,K k,G ɡ,F f,V v,TH θ,DH ð,S s,Z z,SH ʃ,ZH ʒ,HH h,M m,N n,NG ŋ,L l,R ɹ,W w,Y j,CH tʃ,JH dʒ,"
        "IY i,IH ɪ,EY eɪ,EH ɛ,AE æ,AA ɑ,AO ɔ,OW oʊ,UH ʊ,UW u,AH ʌ,ER ɝ,AY aɪ,AW aʊ,OY ɔɪ,AH0 ə,ER0 ɚ"
    ).split(",")
)
_ONSETS = frozenset(
    "P L,P R,P Y,B L,B R,B Y,T R,T W,D R,D W,K L,K R,K W,K Y,G L,G R,G W,F L,F R,F Y,V Y,TH R,TH W,SH R,S P,S T,S K,"
    "S M,S N,S L,S W,S F,HH Y,M Y,S P L,S P R,S T R,S K R,S K W,S K Y,S P Y".split(",")
)

_SAMPA = """
p p|b b|t t|d d|k k|g ɡ|f f|v v|T θ|D ð|s s|z z|S ʃ|Z ʒ|h h|h\\ ɦ|m m|n n|N ŋ|l l|r\\ ɹ|r\\` ɻ|r r|r` ɽ|4 ɾ|j j|w w
W ʍ|5 ɫ|x x|X χ|C ç|G ɣ|R ʁ|R\\ ʀ|L ʎ|J ɲ|F ɱ|B β|P ʋ|v\\ ʋ|H ɥ|K ɬ|q q|c c|? ʔ|p\\ ɸ|s\\ ɕ|z\\ ʑ|s` ʂ|z` ʐ|t` ʈ
d` ɖ|n` ɳ|l` ɭ|N\\ ɴ|i i|I ɪ|e e|E ɛ|{ æ|a a|A ɑ|Q ɒ|O ɔ|o o|U ʊ|u u|V ʌ|@ ə|@` ɚ|3 ɜ|3` ɝ|6 ɐ|1 ɨ|I\\ ᵻ|U\\ ᵿ|} ʉ
M ɯ|7 ɤ|8 ɵ|@\\ ɘ|3\\ ɞ|y y|Y ʏ|2 ø|9 œ|& ɶ|: ː|:\\ ˑ|" ˈ|% ˌ|. .|- .|` ˞|= ̩|_= ̩|~ ̃|_~ ̃
"""
_FROM_SAMPA = dict(
    entry.split(" ") for line in _SAMPA.strip().splitlines() for entry in line.split("|") if entry.strip()
)
_SAMPA_TOKEN = re.compile(
    "|".join(re.escape(key) for key in sorted(_FROM_SAMPA, key=len, reverse=True)) + r"|_[\\a-zA-Z^\"/+?0-9]"
)


def from_ipa(text: str) -> tuple[Phones, ...]:
    """Return the ARPAbet of an IPA transcription, one tuple per word; slashes and brackets around it are allowed.

    A word without any stress mark is stressed on its first full vowel.
    Raises TextError naming a symbol that no English transcription uses, or when there is no sound at all.
    """
    words = tuple(_word(word, text) for word in _normal(text).split())
    words = tuple(word for word in words if word)
    if not words:
        raise TextError(f"{text[:40]!r} has no sound; expected a transcription in IPA such as /kæt/")
    return words


def _normal(text: str) -> str:
    """Return decomposed text in which each sound that decomposition splits is whole again."""
    return _SILENT.sub("", unicodedata.normalize("NFD", text).replace("c\u0327", "ç"))


def _word(symbols: str, text: str) -> Phones:
    phones: list[str] = []
    pending, marked, position = 0, False, 0
    while position < len(symbols):
        char = symbols[position]
        if char in _PRIMARY or char in _SECONDARY:
            pending, marked = (1 if char in _PRIMARY else 2), True
            position += 1
            continue
        for length in range(min(_LONGEST, len(symbols) - position), 0, -1):
            sounds = _TABLE.get(symbols[position : position + length])
            if sounds:
                for sound in sounds:
                    phones.append(f"{sound}{pending}" if is_vowel(sound) else sound)
                    pending = 0 if is_vowel(sound) else pending
                break
        else:
            length = 1
            _modify(phones, char, pending, text)
            pending = 0 if char in _SYLLABIC else pending
        position += length
    return tuple(phones) if marked else _stressed(phones)


def _modify(phones: list[str], char: str, pending: int, text: str) -> None:
    """Apply a diacritic to the last sound; raises TextError for a symbol that is none."""
    if char in _SYLLABIC and phones:
        last = phones.pop()
        phones += [f"ER{pending}"] if last == "R" else [f"AH{pending}", last]
    elif char == _NASAL and phones and is_vowel(phones[-1]):
        phones.append("N")
    elif char == _RHOTIC and phones and is_vowel(phones[-1]):
        if base(phones[-1]) in ("AH", "ER"):
            phones[-1] = f"ER{stress(phones[-1])}"
        else:
            phones.append("R")
    elif char not in _IGNORED and not unicodedata.combining(char):
        raise TextError(
            f"{char!r} in {text[:40]!r} is no IPA symbol that English uses; expected a transcription such as /ˈkæt/"
        )


def _stressed(phones: list[str]) -> Phones:
    """Stress the first full vowel of a word without stress marks."""
    for i, phone in enumerate(phones):
        if is_vowel(phone) and phone != "AH0":
            return (*phones[:i], f"{base(phone)}1", *phones[i + 1 :])
    return tuple(phones)


def from_xsampa(text: str) -> tuple[Phones, ...]:
    """Return the ARPAbet of an X-SAMPA transcription, one tuple per word; errors as in `from_ipa`."""
    symbols, position = [], 0
    while position < len(text):
        if text[position].isspace():
            symbols.append(" ")
            position += 1
            continue
        match = _SAMPA_TOKEN.match(text, position)
        if not match:
            raise TextError(
                f'{text[position]!r} in {text[:40]!r} is no X-SAMPA symbol that English uses; expected such as "k{{t'
            )
        symbols.append(_FROM_SAMPA.get(match.group(), ""))
        position = match.end()
    return from_ipa("".join(symbols))


def from_arpabet(text: str) -> tuple[Phones, ...]:
    """Return the phones of an ARPAbet transcription, one tuple per word; words are separated by "|".

    Vowels without a digit are unstressed, except that a word without any digit is stressed on its first full vowel.
    Raises TextError naming a symbol that is no phone.
    """
    words = []
    for part in text.split("|"):
        symbols = part.upper().split()
        phones = [symbol + "0" if symbol + "0" in PHONES else symbol for symbol in symbols]
        wrong = [symbol for symbol, phone in zip(symbols, phones, strict=True) if phone not in PHONES]
        if wrong or not phones:
            raise TextError(
                f"{wrong[0] if wrong else part!r} in {text[:60]!r} is no ARPAbet phone; expected such as K AE1 T, "
                "with | between words"
            )
        words.append(tuple(phones) if any(symbol[-1].isdigit() for symbol in symbols) else _stressed(phones))
    return tuple(words)


def to_ipa(phones: Sequence[str]) -> str:
    """Return the IPA of one word, stress marks before the syllables; `from_ipa` reads it back to the same phones."""
    pieces: list[str] = []
    consonants: list[str] = []
    for phone in phones:
        if not is_vowel(phone):
            consonants.append(phone)
            continue
        mark = " ˈˌ"[stress(phone)].strip()
        onset = _onset(consonants) if mark else 0
        pieces += [_IPA[c] for c in consonants[: len(consonants) - onset]]
        pieces += [
            mark,
            *(_IPA[c] for c in consonants[len(consonants) - onset :]),
            _IPA.get(phone) or _IPA[base(phone)],
        ]
        consonants = []
    text = ""
    for piece in (*pieces, *(_IPA[c] for c in consonants)):
        text += ("." if _merges(text, piece) else "") + piece
    return text


def _onset(consonants: Sequence[str]) -> int:
    """Return how many of the consonants before a vowel begin its syllable."""
    for length in (3, 2):
        if len(consonants) >= length and " ".join(consonants[-length:]) in _ONSETS:
            return length
    return int(bool(consonants) and consonants[-1] != "NG")


def _merges(text: str, piece: str) -> bool:
    """Tell whether a symbol would be read as one with those before it."""
    return any(text[-k:] + piece[:n] in _TABLE for k in (1, 2) if len(text) >= k for n in range(1, len(piece) + 1))
