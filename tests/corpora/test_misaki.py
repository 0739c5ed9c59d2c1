import pytest

from deepvoice.recipes.corpora.misaki import to_misaki
from deepvoice.text.phones import ENDS, PAUSES, PHONES, SYMBOLS, is_silence

# Every character that the map may write; all are in the vocabulary of hibari-tts 0.2.
CHARACTERS = set(" ,;:.?!—bʧdðfɡhʤklmnŋpɹsʃtθvwjzʒɑæʌɔWIɛɜAiɪOYuʊəTᵊˈˌ")


def words(*spelled):
    """Phones and word indices of a sentence given word by word; a pause is a word of its own."""
    symbols, word_of, number = ["sil"], [-1], 0
    for word in spelled:
        for symbol in word:
            symbols.append(symbol)
            word_of.append(-1 if is_silence(symbol) else number)
        number += not is_silence(word[0])
    return [*symbols, "."], [*word_of, -1]


@pytest.mark.parametrize("centre", PHONES)
def test_every_phone_in_every_context_has_a_rendering(centre):
    neighbours = ["", *PHONES]
    for other in neighbours:
        for inner in (("T", other, centre), ("AH1", centre, other), ("K", centre, other), (other, centre, "L")):
            symbols, word_of = words([p for p in inner if p], ["AE1"], [","], ["B", "IY0"])
            text, owners = to_misaki(symbols, word_of)
            assert set(text) <= CHARACTERS
            assert len(text) == len(owners)
            rendered = [owner for owner in owners if owner >= 0]
            assert rendered == sorted(rendered)
            assert set(rendered) == set(range(1, len(symbols)))  # all but the opening silence, which is the pad


def test_every_pause_and_end_is_rendered():
    for pause in PAUSES:
        for end in ENDS:
            text, _ = to_misaki(["sil", "AA1", pause, "B", end], [-1, 0, -1, 1, -1])
            assert text[-1] == end
            assert set(text) <= CHARACTERS


def test_words_are_separated_by_one_space_that_no_phone_owns():
    text, owners = to_misaki(*words(["K", "AE1", "T"], ["S", "AE1", "T"]))
    assert text == "kˈæt sˈæt."
    assert [owner for character, owner in zip(text, owners, strict=True) if character == " "] == [-1]


def test_flap_and_syllabic_l_are_written_as_americans_say_them():
    assert to_misaki(*words(["B", "AH1", "T", "ER0"]))[0] == "bˈʌTəɹ."
    assert to_misaki(*words(["L", "IH1", "T", "AH0", "L"]))[0] == "lˈɪTᵊl."
    assert to_misaki(*words(["AH0", "T", "AE1", "K"]))[0] == "ətˈæk."  # a stressed vowel follows: no flap


def test_an_unknown_symbol_is_refused():
    with pytest.raises(KeyError):
        to_misaki(["sil", "QQ", "."], [-1, 0, -1])
    assert "QQ" not in SYMBOLS
