"""IPA, X-SAMPA, ARPAbet and respelling."""

import pytest

from deepvoice.errors import TextError
from deepvoice.text.ipa import from_arpabet, from_ipa, from_xsampa, to_ipa
from deepvoice.text.phones import PHONES, stress
from deepvoice.text.respelling import from_respelling


def spaced(words):
    return " | ".join(" ".join(word) for word in words)


@pytest.mark.parametrize(
    ("ipa", "arpabet"),
    [
        ("/ˈkæt/", "K AE1 T"),
        ("kæt", "K AE1 T"),
        ("[ˌɪntəˈnæʃ(ə)nəl]", "IH2 N T AH0 N AE1 SH AH0 N AH0 L"),
        ("ˈbʌtn̩", "B AH1 T AH0 N"),
        ("ˈbɑt.l̩", "B AA1 T AH0 L"),
        ("nɪə(r)", "N IH1 R"),
        ("aɪˈdɪə", "AY0 D IY1 AH0"),
        ("t͡ʃɜːtʃ", "CH ER1 CH"),
        ("fiˈɑ̃seɪ", "F IY0 AA1 N S EY0"),
        ("ˈwɔːtə(r)", "W AO1 T ER0"),
        ("hɛə", "HH EH1 R"),
        ("ðə", "DH AH0"),
        ("ˈlɛtə˞", "L EH1 T ER0"),
        ("saʊ ˈpaʊloʊ", "S AW1 | P AW1 L OW0"),
        ("ˈfaðər", "F AA1 DH ER0"),
        ("ɡəʊt", "G OW1 T"),
        ("lɒx", "L AA1 K"),
    ],
)
def test_ipa(ipa, arpabet):
    assert spaced(from_ipa(ipa)) == arpabet


def test_every_symbol_of_english_transcriptions_is_read():
    symbols = "pbtdkɡgfvθðszʃʒhmnŋlɹrwjʔɾɫʍxæɑɒɔəɚɛɜɝɪʊʌaeiouyøœɐɨʉ"
    for symbol in symbols:
        assert set(from_ipa(f"/ə{symbol}ə/")[0]) <= set(PHONES)


def test_every_word_of_the_lexicon_comes_back_from_ipa(lexicon):
    for number, (word, entry) in enumerate(lexicon.items()):
        for phones in entry.pronunciations if number % 7 == 0 else ():
            if any(stress(phone) for phone in phones):
                assert from_ipa(to_ipa(phones)) == (phones,), word


def test_stress_marks_stand_before_the_syllable():
    assert to_ipa("EH0 K S T R AH0 AO1 R D AH0 N EH2 R IY0".split()) == "ɛkstɹəˈɔɹdəˌnɛɹi"
    assert to_ipa("K AH0 N S T R AH1 K T".split()) == "kənˈstɹʌkt"


@pytest.mark.parametrize(
    ("xsampa", "arpabet"),
    [
        ('"k{t', "K AE1 T"),
        ('%Int@"n{S@n@l', "IH2 N T AH0 N AE1 SH AH0 N AH0 L"),
        ('"bVtn=', "B AH1 T AH0 N"),
        ("tS3:tS", "CH ER1 CH"),
        ('"wO:4@`', "W AO1 D ER0"),
        ('h@"l@U "w3`ld', "HH AH0 L OW1 | W ER1 L D"),
    ],
)
def test_xsampa(xsampa, arpabet):
    assert spaced(from_xsampa(xsampa)) == arpabet


@pytest.mark.parametrize(
    ("respelling", "arpabet"),
    [
        ("uh-KRAHS", "AH0 K R AA1 S"),
        ("Nik-uh-RAH-gwuh", "N IH2 K AH0 R AA1 G W AH0"),
        ("TAY-bl", "T EY1 B AH0 L"),
        ("EYE-fell", "AY1 F EH0 L"),
        ("nigh-KEE", "N AY0 K IY1"),
        ("HYOO-mun", "HH Y UW1 M AH0 N"),
        ("jif", "JH IH1 F"),
        ("late", "L EY1 T"),
        ("noo YORK", "N UW1 | Y AO1 R K"),
        ("kuh-MYOO-ni-tee", "K AH0 M Y UW1 N IY0 T IY0"),
    ],
)
def test_respelling(respelling, arpabet):
    assert spaced(from_respelling(respelling)) == arpabet


def test_arpabet():
    assert spaced(from_arpabet("k ae t | S AH0 B")) == "K AE1 T | S AH0 B"


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (from_ipa, "kœ#"),
        (from_ipa, "ˈ"),
        (from_ipa, ""),
        (from_ipa, "кот"),
        (from_xsampa, "k#t"),
        (from_respelling, ""),
        (from_respelling, "krk"),
        (from_respelling, "kr5k"),
        (from_arpabet, "K QQ T"),
        (from_arpabet, "K AE1 |"),
    ],
)
def test_what_is_no_pronunciation_is_refused(read, text):
    with pytest.raises(TextError, match=r"expected|see"):
        read(text)
