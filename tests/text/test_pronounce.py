"""Words to phones: the supplement, regular endings, and the closed phone set whatever the letters."""

import random

import pytest

from deepvoice.networks.grapheme_to_phoneme import GraphemeToPhonemeNetwork
from deepvoice.text.phones import PHONES, is_vowel
from deepvoice.text.pronounce import Pronouncer, with_s
from deepvoice.voice import load_voice


@pytest.fixture(scope="module")
def pronouncer(lexicon):
    folder = load_voice(None, ("grapheme_to_phoneme",))
    module = "grapheme_to_phoneme"
    return Pronouncer(lexicon, GraphemeToPhonemeNetwork(folder.tensors[module], folder.configs[module]))


@pytest.mark.parametrize(
    ("word", "phones"),
    [
        ("kubernetes", "K UW2 B ER0 N EH1 T IY0 Z"),
        ("siobhan", "SH AH0 V AO1 N"),
        ("gloucestershire", "G L AO1 S T ER0 SH ER0"),
        ("shawarma", "SH AH0 W AA1 R M AH0"),
        ("semaglutide", "S EH2 M AH0 G L UW1 T AY2 D"),
        ("juneteenth", "JH UW2 N T IY1 N TH"),
        ("psst", "P S T"),
    ],
)
def test_the_supplement(lexicon, word, phones):
    assert " ".join(lexicon.phones(word)) == phones


@pytest.mark.parametrize(
    ("word", "phones"),
    [
        ("doomscrolled", "D UW1 M S K R OW2 L D"),
        ("retweeting", "R IY0 T W IY1 T IH0 NG"),
        ("vlogging", "V L AA1 G IH0 NG"),
        ("upcycling", "AH1 P S AY2 K AH0 L IH0 NG"),
        ("gamifies", "G EY1 M AH0 F AY2 Z"),
        ("modelled", "M AA1 D AH0 L D"),
        ("tiktoks", "T IH1 K T AA2 K S"),
        ("biryani's", "B IH2 R IY0 AA1 N IY0 Z"),
        ("jeddah'd", "JH EH1 D AH0 D"),
        ("unduly", "AH2 N D UW1 L IY0"),
        ("until", "AH0 N T IH1 L"),
        ("unfriendliness", "AH2 N F R EH1 N D L IY0 N AH0 S"),
    ],
)
def test_regular_endings(pronouncer, word, phones):
    assert " ".join(pronouncer.known(word).phones) == phones


@pytest.mark.parametrize(
    ("word", "phones"),
    [
        ("brrr", "B ER1"),
        ("brrrrrr", "B ER1"),
        ("hmmmm", "HH AH1 M"),
        ("grrrr", "G ER1"),
        ("sooo", "S OW1"),
        ("booo", "B UW1"),
        ("yesss", "Y EH1 S"),
    ],
)
def test_words_that_are_drawn_out(pronouncer, word, phones):
    assert " ".join(pronouncer.known(word).phones) == phones


@pytest.mark.parametrize(
    ("word", "phones"),
    [
        ("résumé", "R EH1 Z AH0 M EY2"),
        ("re\u0301sume\u0301", "R EH1 Z AH0 M EY2"),
        ("résumés", "R EH1 Z AH0 M EY2 Z"),
        ("exposé's", "EH2 K S P OW0 Z EY1 Z"),
        ("rosé", "R OW0 Z EY1"),
        ("déjà", "D EY2 ZH AA1"),
        ("fiancée", "F IY2 AA0 N S EY1"),
        ("café", "K AH0 F EY1"),
        ("naïve", "N AY2 IY1 V"),
        ("rösé", "R OW2 Z EY1"),  # no such word: the rule for the letters
        ("façade", "F AH0 S AA1 D"),
    ],
)
def test_accents_that_are_heard(pronouncer, word, phones):
    assert " ".join(pronouncer.known(word).phones) == phones


def test_a_final_e_with_an_accent_is_heard_in_words_that_nobody_knows(lexicon):
    pronouncer = Pronouncer(lexicon, lambda words: [("F", "L", "AE1", "M", "B") for _ in words])
    said = pronouncer.guess(["flambé", "flambe"])
    assert said["flambé"].phones == ("F", "L", "AE2", "M", "B", "EY1")
    assert said["flambe"].phones == ("F", "L", "AE1", "M", "B")


@pytest.mark.parametrize("rule", ["_plural", "_past", "_participle", "_suffixed"])
def test_endings_agree_with_the_words_of_the_dictionary(lexicon, rule):
    """Words that are listed, formed as if they were not: vowels apart from the weak ones must mostly agree."""
    pronouncer = Pronouncer(lexicon, lambda words: [])
    right = total = 0
    for number, (word, entry) in enumerate(lexicon.items()):
        if number % 5 or len(word) < 5 or "'" in word:
            continue
        found = getattr(pronouncer, rule)(word, 1)
        if found:
            total += 1
            right += _plain(found.phones) in [_plain(phones) for phones in entry.pronunciations]
    assert total > 300 and right / total > 0.9, (right, total)


def _plain(phones):
    return [phone.rstrip("012").replace("IH", "AH") for phone in phones]


def test_a_name_nearly_always_sounds_alike_in_its_possessive(pronouncer):
    """The possessive's spelling speaks for the reading of a name that its bare spelling leaves in doubt."""
    generator = random.Random(7)
    parts = "bar ches dol fen gri hal jor kel lin mor nak ost pel quin ros sen tav ulm vor wen yar zol".split()
    ends = "ano berg er escu ford i ier ing ini ka man o ova ski son ton ville witz".split()
    names = sorted({generator.choice(parts) + generator.choice(parts) + generator.choice(ends) for _ in range(200)})
    names = [name for name in names if pronouncer.known(name) is None]
    said = pronouncer.guess([word for name in names for word in (name, name + "'s")])
    alike = sum(said[name + "'s"].phones == with_s(said[name].phones) for name in names)
    assert len(names) > 150 and 0.9 * len(names) <= alike < len(names)
    for name in names:
        assert said[name + "'s"].phones[-1] in ("S", "Z")


def test_any_letters_give_phones_of_the_closed_set(pronouncer):
    generator = random.Random(5)
    words = [
        "".join(generator.choices("abcdefghijklmnopqrstuvwxyz'", k=generator.randrange(1, 14))) for _ in range(150)
    ]
    words = [word for word in words if word.strip("'")]
    guessed = pronouncer.guess([word for word in words if pronouncer.known(word) is None])
    for word in words:
        phones = (pronouncer.known(word) or guessed[word]).phones
        assert phones and set(phones) <= set(PHONES), word


def test_the_supplement_is_stressed(lexicon):
    for word, entry in lexicon.items():
        if entry.supplement:
            for phones in entry.pronunciations:
                vowels = [phone for phone in phones if is_vowel(phone)]
                assert not vowels or any(phone.endswith("1") for phone in vowels), word
