"""The whole front end: spans, sources, report, weak forms, limits, streaming."""

import random
import threading

import pytest

from deepvoice.errors import TextError, VoiceError
from deepvoice.text.frontend import MAX_PHONES, FrontEnd, ReportCollector
from deepvoice.text.phones import ENDS, SYMBOLS

TEXTS = [
    "Dr. Smith paid $3.50 for 2 lbs. of “Café” beans on Jan. 5, 2026 — twice!",
    "你好 world ✅ it wasn’t 3½ miles; see www.example.com (or not).",
    "Apples\nBananas\n\nThe FBI's CEOs met at 5pm.\n\nzoxquav brillig",
]


def phones_of(front_end, text):
    return [" ".join(s.sequence.symbols) for s in front_end.analyse(text).sentences]


@pytest.mark.parametrize("text", TEXTS)
def test_spans_tie_back_to_the_original_text(front_end, text):
    analysis = front_end.analyse(text)
    position = 0
    for sentence in analysis.sentences:
        assert position <= sentence.start < sentence.end <= len(text)
        position = sentence.end
        last = sentence.start
        for word in sentence.words:
            assert last <= word.start < word.end <= sentence.end
            last = word.start
            original = text[word.start : word.end]
            assert original.strip() == original and original
            changed = any(entry.start <= word.start < entry.end for entry in analysis.report.normalised)
            assert changed or original.lower().replace("’", "'") == word.text
    for entry in analysis.report.normalised:
        assert text[entry.start : entry.end] == entry.text and entry.spoken
    for entry in analysis.report.dropped:
        assert text[entry.start : entry.end] == entry.text and entry.reason


@pytest.mark.parametrize("text", TEXTS)
def test_sequences_are_what_the_networks_expect(front_end, text):
    for sentence in front_end.analyse(text).sentences:
        symbols, word_of = sentence.sequence.symbols, sentence.sequence.word_of
        assert symbols[0] == "sil" and symbols[-1] in ENDS and set(symbols) <= set(SYMBOLS)
        assert sorted(set(word_of)) == list(range(-1, len(sentence.words)))
        for i, word in enumerate(sentence.words):
            assert tuple(s for s, w in zip(symbols, word_of, strict=True) if w == i) == word.phones


def test_sources(front_end):
    (sentence,) = front_end.analyse("The emoji of FBI zoxquav cat.").sentences
    assert [w.source for w in sentence.words] == ["weak", "supplement", "weak", "letters", "g2p", "lexicon"]


def test_weak_forms_by_context(front_end):
    assert phones_of(front_end, "The apple of the cat.") == ["sil DH IY0 AE1 P AH0 L AH0 V DH AH0 K AE1 T ."]
    assert phones_of(front_end, "What is it for?")[0].endswith("F AO1 R ?")
    assert phones_of(front_end, "A.")[0] == "sil EY1 ."


def test_initialisms_carry_stress_on_the_last_letter(front_end):
    assert phones_of(front_end, "FBI") == ["sil EH2 F B IY2 AY1 ."]
    assert phones_of(front_end, "the CEOs")[0].endswith("S IY2 IY2 OW1 Z .")


def test_regular_endings_come_from_the_lexicon(front_end):
    words = front_end.analyse("podcasters' emojis vlogged kombucha's").sentences[0].words
    assert [w.phones[-1] for w in words[1:]] == ["Z", "D", "Z"]
    assert front_end.analyse("emojis").report.unknown == ()


@pytest.mark.parametrize(
    ("text", "word", "phones"),
    [
        ("She will lead the team.", "lead", "L IY1 D"),
        ("It is a lead pipe.", "lead", "L EH1 D"),
        ("I read it yesterday.", "read", "R EH1 D"),
        ("I will read more.", "read", "R IY1 D"),
        ("We live here.", "live", "L IH1 V"),
        ("We like live music.", "live", "L AY1 V"),
        ("He wound it.", "wound", "W AW1 N D"),
        ("It is a wound.", "wound", "W UW1 N D"),
        ("a record", "record", "R EH1 K ER0 D"),
        ("to record", "record", "R IH0 K AO1 R D"),
    ],
)
def test_heteronyms(front_end, text, word, phones):
    (sentence,) = front_end.analyse(text).sentences
    assert next(" ".join(w.phones) for w in sentence.words if w.text == word) == phones


def test_pauses_collapse_to_the_strongest(front_end):
    (sequence,) = phones_of(front_end, "Cat, (dog; -- cat)?!")
    assert [s for s in sequence.split() if s in ",;:-"] == [",", ";"] and sequence.endswith("?")


def test_unknown_words_go_to_the_model_once_and_in_one_batch(front_end, g2p):
    text = "Zoxquav met brillig. Zoxquav left the blorft.\n\nBrillig stayed."
    report = front_end.analyse(text).report
    assert g2p.calls == [["zoxquav", "brillig", "blorft"]] and report.unknown == ("zoxquav", "brillig", "blorft")
    front_end.analyse("zoxquav")
    assert len(g2p.calls) == 1


def test_the_model_reads_possessives_that_are_not_spelled(front_end, g2p):
    (sentence,) = front_end.analyse("Zoxquav, zoxquav's, grzx's.").sentences
    assert g2p.calls == [["zoxquav", "zoxquav's"]]
    assert sentence.words[2].source == "letters" and sentence.words[2].phones[-5:] == ("EH1", "K", "S", "IH0", "Z")


@pytest.mark.parametrize(
    ("answer", "message"), [([("XX",)], "no phone"), ([("sil",)], "no phone"), ([], "answered 0 words of 1")]
)
def test_the_model_is_held_to_the_phone_set(lexicon, answer, message):
    with pytest.raises(VoiceError, match=message):
        FrontEnd(lexicon, lambda words: answer).analyse("zoxquav")


def test_a_word_that_the_model_leaves_empty_is_spelled(lexicon):
    (sentence,) = FrontEnd(lexicon, lambda words: [()]).analyse("zoxquav").sentences
    assert sentence.words[0].source == "letters" and len(sentence.words[0].phones) > 6


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\ufeff"])
def test_blank_text_is_refused(front_end, text):
    with pytest.raises(TextError):
        front_end.analyse(text)
    with pytest.raises(TextError):
        list(front_end.iterate(text))


@pytest.mark.parametrize("text", [None, b"hello", 5, ["hello"], object()])
def test_what_is_no_text_is_refused(front_end, text):
    with pytest.raises(TextError, match="expected a string"):
        front_end.analyse(text)
    with pytest.raises(TextError, match="expected a string"):
        next(front_end.iterate(text))


@pytest.mark.parametrize("text", ["***", "...!?", "—", "你好", "✅👍🏽", "\u0301", "((((", "\x00"])
def test_text_without_anything_to_say_is_refused(front_end, text):
    with pytest.raises(TextError, match=r"nothing in the text can be spoken|empty"):
        front_end.analyse(text)


def test_nothing_is_dropped_from_a_text_without_punctuation(front_end):
    text = " ".join(["river", "stone", "window", "apple"] * 500)
    analysis = front_end.analyse(text)
    assert [w.text for s in analysis.sentences for w in s.words] == text.split()
    assert all(len(s.sequence) <= MAX_PHONES + 2 for s in analysis.sentences)


def test_a_long_run_is_spelled_in_full_and_reported(front_end):
    analysis = front_end.analyse("a" * 3000)
    assert sum(w.text.count("a") for s in analysis.sentences for w in s.words) == 3000
    assert sum(len(n.text) for n in analysis.report.normalised) == 3000


@pytest.mark.parametrize("text", TEXTS)
def test_streaming_gives_the_same_sentences_and_report(front_end, text):
    collector = ReportCollector()
    analysis = front_end.analyse(text)
    assert tuple(front_end.iterate(text, collector)) == analysis.sentences
    assert collector.report() == analysis.report


def test_the_first_sentence_of_a_book_needs_only_its_beginning(front_end):
    book = "This is one sentence of a long book without blank lines. " * 20_000
    collector = ReportCollector()
    sentences = front_end.iterate("5 " + book, collector)
    next(sentences)
    assert len(collector.normalised) == 1  # what follows has not been looked at


def test_one_front_end_serves_many_threads(front_end):
    expected = {text: front_end.analyse(text) for text in TEXTS}
    wrong = []

    def work(seed):
        for text in random.Random(seed).sample(TEXTS * 5, 15):
            if front_end.analyse(text) != expected[text]:
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_random_strings_never_raise_anything_but_text_errors(front_end):
    generator = random.Random(11)
    alphabet = "aAbBeEiIsStT  ..,,;:!?'\"-–—()[]$€%&@#/\\*+=<>0123456789\n\r\t’“”…½²°é你👍\u0301\x00αΩ`~^_|{}"
    for _ in range(1500):
        text = "".join(generator.choice(alphabet) for _ in range(generator.randrange(1, 60)))
        try:
            analysis = front_end.analyse(text)
        except TextError:
            continue
        for sentence in analysis.sentences:
            assert 0 <= sentence.start < sentence.end <= len(text)
            assert all(0 <= w.start < w.end <= len(text) for w in sentence.words)
