"""User lexicons: TOML and PLS, notations, scopes, what they apply to, and refusal of what is wrong."""

import pytest

from deepvoice.errors import TextError
from deepvoice.text.user_lexicon import UserLexicon

TOML = """
# names
kubectl = "KOOB-kuh-tul"
Xiaomi = "/ˈʃaʊmi/"
"Los Gatos" = "L AO1 S | G AE1 T OW0 S"
SQL = { say = "sequel", case = true }
kilometers = "K AA1"
"C++" = { say = "see plus plus" }
"Dr." = { arpabet = "D AA1 K" }
Zoe = { xsampa = '"zoUi' }
bow = [ { ipa = "boʊ", pos = "noun" }, { ipa = "baʊ", pos = "verb" } ]
"""
PLS = """<?xml version="1.0" encoding="UTF-8"?>
<lexicon version="1.0" xmlns="http://www.w3.org/2005/01/pronunciation-lexicon" alphabet="ipa" xml:lang="en-US">
  <lexeme role="claws:NN1">
    <grapheme>gnocchi</grapheme><grapheme>gnocci</grapheme>
    <phoneme>ˈnɒki</phoneme><phoneme prefer="true">ˈnjɒki</phoneme>
  </lexeme>
  <lexeme><grapheme>W3C</grapheme><alias>World Wide Web Consortium</alias></lexeme>
  <lexeme><grapheme>tomato</grapheme><phoneme alphabet="x-sampa">t@"mA:toU</phoneme></lexeme>
</lexicon>
"""


@pytest.fixture
def load(tmp_path):
    def load(text, name="words.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return UserLexicon.load(path)

    return load


@pytest.fixture
def said(front_end):
    """Words with their phones, and the original characters that they read."""

    def said(text, lexicon):
        return [
            (text[word.start : word.end], word.text, " ".join(word.phones), word.source)
            for sentence in front_end.analyse(text, lexicon=lexicon).sentences
            for word in sentence.words
        ]

    return said


@pytest.mark.parametrize(
    ("text", "written", "words"),
    [
        ("Use kubectl now.", "kubectl", [("kubectl", "K UW1 B K AH0 T AH0 L")]),
        ("A Kubectl’s life", "Kubectl’s", [("kubectl's", "K UW1 B K AH0 T AH0 L Z")]),
        ("XIAOMI phones", "XIAOMI", [("xiaomi", "SH AW1 M IY0")]),
        ("in los  gatos.", "los  gatos", [("los", "L AO1 S"), ("gatos", "G AE1 T OW0 S")]),
        ("Write SQL.", "SQL", [("sequel", "S IY1 K W AH0 L")]),
        ("Some C++ code", "C++", [("see", "S IY1"), ("plus", "P L AH1 S"), ("plus", "P L AH1 S")]),
        ("See Dr. Lee.", "Dr.", [("dr.", "D AA1 K")]),
        ("It is 5 km.", "5 km", [("five", "F AY1 V"), ("kilometers", "K AA1")]),
        ("To bow is hard.", "bow", [("bow", "B AW1")]),
        ("The bow is old.", "bow", [("bow", "B OW1")]),
        ("Zoe's", "Zoe's", [("zoe's", "Z OW1 IY0 Z")]),
    ],
)
def test_entries_apply_to_written_forms(load, said, text, written, words):
    found = [(word, phones) for original, word, phones, _ in said(text, load(TOML)) if original == written]
    assert found == words


def test_case_scope_and_word_boundaries(load, said):
    lexicon = load(TOML)
    assert all(source != "user" for *_, source in said("sql, bowl, kubectls, Dr Lee", lexicon))


def test_the_words_around_stay_as_they_are(load, said):
    text = "On May 3, Dr. Lee paid $5 for a bow in Los Gatos, or so."
    plain = {word[:3] for word in said(text, None)}
    with_entries = {word[:3] for word in said(text, load(TOML))}
    assert {word[1] for word in plain ^ with_entries} == {"doctor", "dr.", "los", "gatos", "bow"}


def test_pls(load, said):
    lexicon = load(PLS, "words.pls")
    phones = {written: phones for written, _, phones, source in said("Gnocchi gnocci tomato", lexicon)}
    assert phones == {"Gnocchi": "N Y AA1 K IY0", "gnocci": "N Y AA1 K IY0", "tomato": "T AH0 M AA1 T OW0"}
    assert [word for _, word, *_ in said("the W3C", lexicon)] == ["the", "world", "wide", "web", "consortium"]


def test_mappings_read_back(load):
    lexicon = load(TOML)
    assert UserLexicon.from_mapping(lexicon.to_mapping()).entries == lexicon.entries


def test_merging(said):
    first = UserLexicon.from_mapping({"zyx": "Z IH1 K S", "abx": "AE1 B"})
    second = UserLexicon.from_mapping({"Zyx": "Z AY1 K S"})
    merged = first.merged(second)
    assert len(merged) == 2 and [phones for *_, phones, _ in said("zyx abx", merged)] == ["Z AY1 K S", "AE1 B"]
    assert not UserLexicon() and first.says("zyx") and not first.says("zy")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 5", "line 1: 'a' is said as 5"),
        ('\n\nab = "K QQ"', "line 3: 'ab': 'QQ'"),
        ('ab = "kk-tt"', "no vowel"),
        ('ab = "uh_k"', "is no syllable"),
        ('\nab = {ipa = "k#"}', "line 2: 'ab': '#'"),
        ('ab = {pos = "verb"}', "exactly one"),
        ('ab = {ipa = "a", say = "b"}', "exactly one"),
        ('ab = {ipa = "a", pos = "gerund"}', "part of speech 'gerund'"),
        ('ab = {ipa = "a", case = 1}', "true or false"),
        ("[ab]\nfoo = 1", "line 1: 'ab': unknown setting 'foo'"),
        ("ab = ", "not TOML"),
        ('"..." = "uh"', "no written form"),
        ('ab = ""', "empty"),
    ],
)
def test_wrong_toml_names_line_and_remedy(load, text, message):
    with pytest.raises(TextError, match=r"words\.toml: ") as caught:
        load(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<!DOCTYPE lexicon [<!ENTITY a "b">]><lexicon/>', "line 1: document types"),
        ('<!DOCTYPE lexicon SYSTEM "file:///etc/hosts"><lexicon/>', "line 1: document types"),
        ("<words/>", "expected a PLS lexicon"),
        ("<lexicon>\n<lexeme/></lexicon>", "line 2: a lexeme needs"),
        ("<lexicon>\n\n<lexeme><grapheme>a</grapheme><phoneme>#</phoneme></lexeme></lexicon>", "line 3: '#'"),
        ('<lexicon alphabet="klingon"/>', "klingon"),
        ('<lexicon>\n<lexeme role="q:zz"><grapheme>a</grapheme></lexeme></lexicon>', "line 2: the role 'q:zz'"),
        ("<lexicon>\n<lexeme>", "line 2: not well-formed"),
        ("<lexicon>&lol;</lexicon>", "not well-formed"),
    ],
)
def test_wrong_pls_names_line_and_remedy(load, text, message):
    with pytest.raises(TextError) as caught:
        load(text, "words.pls")
    assert message in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(TextError, match="cannot read"):
        UserLexicon.load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'ab = "uh"\n"\xe9" = "uh"\n')
    with pytest.raises(TextError, match="line 2: not UTF-8"):
        UserLexicon.load(tmp_path / "latin.toml")
