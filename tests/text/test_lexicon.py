"""The compiled lexicon: right entries, closed phone set, and refusal of damaged files."""

import random

import pytest

from deepvoice.errors import VoiceError
from deepvoice.text.lexicon import Entry, Lexicon, pack
from deepvoice.text.phones import PHONES


def test_known_words(lexicon):
    assert lexicon.phones("cat") == ("K", "AE1", "T")
    assert len(lexicon.lookup("either").pronunciations) >= 2
    assert lexicon.lookup("emoji").supplement and not lexicon.lookup("cat").supplement
    assert lexicon.lookup("zzzyx") is None and "" not in lexicon and "naïve" not in lexicon


def test_every_word_reads_back_and_is_in_the_phone_set(lexicon):
    inventory, count = set(PHONES), 0
    for word, entry in lexicon.items():
        count += 1
        assert entry.pronunciations and all(p and inventory.issuperset(p) for p in entry.pronunciations), word
        if count % 97 == 0:
            assert lexicon.lookup(word) == entry
    assert count == len(lexicon) > 120_000


def test_the_file_is_small(lexicon):
    assert lexicon.path.stat().st_size <= 2_500_000


def small(tmp_path, data=None):
    entries = {w: Entry((("K", "AE1", "T"), ("T",)), supplement=w > "m") for w in ("cat", "cats", "dog", "zoo", "a")}
    path = tmp_path / "lexicon.bin"
    path.write_bytes(pack(entries) if data is None else data)
    return path, entries


def test_pack_and_read(tmp_path):
    path, entries = small(tmp_path)
    assert dict(Lexicon(path).items()) == entries


def test_any_changed_byte_is_refused_or_changes_nothing(tmp_path):
    path, entries = small(tmp_path)
    good = path.read_bytes()
    generator = random.Random(3)
    for position in range(len(good)):
        bad = bytearray(good)
        bad[position] ^= generator.randrange(1, 256)
        path, _ = small(tmp_path, bytes(bad))
        try:
            lexicon = Lexicon(path)
        except VoiceError as error:
            assert str(path) in str(error)
        else:  # the word count and the block size are not used to find anything
            assert 12 <= position < 24 and dict(lexicon.items()) == entries


@pytest.mark.parametrize("length", [0, 7, 40, 70])
def test_short_files_are_refused(tmp_path, length):
    path, _ = small(tmp_path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(VoiceError, match="lexicon"):
        Lexicon(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(VoiceError, match="reinstall"):
        Lexicon(tmp_path / "none.bin")
