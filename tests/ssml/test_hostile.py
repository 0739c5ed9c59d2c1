"""Documents that nobody would write by hand: all are spoken, or refused with a place, in linear time."""

import random
import time

import pytest

import deepvoice
from deepvoice.ssml import read

PIECES = [
    "<speak>", "</speak>", "<p>", "</p>", "<s>", "</s>", "<break/>", "<break time='1s'/>", "<break time='", "'/>",
    "<mark name='x'/>", "<prosody rate='fast'>", "<prosody pitch='+2st' volume='-6dB'>", "</prosody>", "<emphasis>",
    "</emphasis>", "<w>", "</w>", "<say-as interpret-as='cardinal'>42</say-as>", "<say-as interpret-as='date'>",
    "</say-as>", "<sub alias='a b'>c</sub>", "<phoneme ph='kæt'>cat</phoneme>", "<x:y>", "</x:y>", "<metadata>",
    "<phoneme alphabet='arpabet' ph='K AE1 T'/>", "</metadata>", "<![CDATA[", "]]>", "<!--", "-->", "<?x?>", "&amp;",
    "&#65;", "&#x1F600;", "&nbsp;", "&", "<", ">", "'", '"', "=", "/", "cat", " ", "\n", "\r\n", "42", "é", "😀",
    "你好", "\u200d", "Dr. ", "$5", "...", "\x00", "<!DOCTYPE a [", "<!ENTITY b 'c'>",
]  # fmt: skip


WHOLE = [
    "cat", " ", "42", "é", "😀", "你好", "Dr. ", "$5", "&amp;", "&#65;", "<break/>", "<mark name='x'/>", "<!-- x -->",
    "<s>{}</s>", "<p>{}</p>", "<prosody rate='fast' volume='-6dB'>{}</prosody>", "<prosody pitch='+9st'>{}</prosody>",
    "<emphasis>{}</emphasis>", "<x:y>{}</x:y>", "<metadata><s>{}</s><mark/></metadata>", "<sub alias='a b'>c</sub>",
    "<phoneme ph='kæt'>cat</phoneme>", "<say-as interpret-as='cardinal'>42</say-as>", "<![CDATA[&<]]>", "? ", ", ",
    "<break time='90ms'/>", "\r\n", "<sub alias='b'/>",
]  # fmt: skip


def made(generator, size):
    """A document of pieces that fit together, or of pieces that need not."""
    if generator.random() < 0.5:
        return "<speak>" + "".join(generator.choice(PIECES) for _ in range(size)) + "</speak>"
    text = "cat"
    for _ in range(size):
        piece = generator.choice(WHOLE)
        text = piece.format(text) if "{}" in piece else text + piece if generator.random() < 0.5 else piece + text
    return f"<speak>{text}</speak>"


@pytest.mark.parametrize("seed", range(8))
def test_random_documents_are_read_or_refused(voice, seed):
    generator = random.Random(seed)
    spoken = 0
    for _ in range(150):
        source = made(generator, generator.randint(0, 12))
        try:
            found = read(source)
        except deepvoice.TextError as error:
            assert str(error).startswith(("SSML line ", "the text is empty")), source
            continue
        document = found.document
        assert len(document.origin) == len(document.text) + 1
        assert list(document.origin) == sorted(document.origin)
        assert all(0 <= style.start < style.end <= len(document.text) for style in document.styles)
        try:
            speech = voice.timings(source, ssml=True)
        except deepvoice.TextError:
            continue
        spoken += 1
        assert all(0 <= a < b <= len(source) for a, b in (word.span for word in speech.words))
        edges = [0, *(edge for phone in speech.phones for edge in phone.samples)]
        assert edges == sorted(edges)
    assert spoken > 20


@pytest.mark.parametrize("seed", range(4))
def test_damaged_documents_are_read_or_refused(seed):
    source = (
        "<?xml version='1.0'?><speak version='1.1' xml:lang='en-US'>Tom &amp; <prosody rate='80%' pitch='+2st'>the "
        "<emphasis level='strong'>big</emphasis></prosody> cat.<break time='500ms'/>"
        "<p><s>É <sub alias='x'>y</sub></s></p></speak>"
    )
    generator = random.Random(seed)
    for _ in range(300):
        text = list(source)
        for _ in range(generator.randint(1, 3)):
            place = generator.randrange(len(text))
            action = generator.randrange(3)
            if action == 0:
                del text[place]
            elif action == 1:
                text[place] = generator.choice("<>&'\"/= aé0%\x01")
            else:
                text.insert(place, generator.choice(["<", ">", "&", "</s>", "<s>", "'", "<break/>", "\ud800", "]]>"]))
        try:
            read("".join(text))
        except deepvoice.TextError as error:
            assert str(error).startswith("SSML line "), "".join(text)


@pytest.mark.parametrize(
    "inner",
    [
        "<s>One.</s>" * 20_000, "<p/>" * 50_000 + "x", "a<mark name='m'/>" * 10_000, "&amp;" * 50_000,
        " " * 500_000 + "x",
        "<prosody rate='fast'>a</prosody> <prosody rate='slow'>b</prosody> " * 4_000, "x\n" * 100_000,
        "<sub alias='a'>b</sub> " * 8_000, "<![CDATA[<]]>" * 20_000, "<!-- x -->" * 50_000 + "x", "é" * 300_000,
    ],
    ids=range(11),
)  # fmt: skip
def test_reading_takes_linear_time(inner):
    def seconds(text):
        begin = time.process_time()
        read(f"<speak>{text}</speak>")
        return time.process_time() - begin

    assert seconds(inner) < 20  # a square of these sizes would take minutes


def test_many_styles_and_marks_are_spoken(voice):
    inner = "".join(
        f"<prosody pitch='+{i % 5}st' rate='{90 + i % 20}%'>cat</prosody> <mark name='{i}'/>" for i in range(400)
    )
    speech = voice.timings(f"<speak>{inner}.</speak>", ssml=True)
    assert len(speech.words) == 400 and [mark.name for mark in speech.marks] == [str(i) for i in range(400)]
    assert [mark.sample for mark in speech.marks] == sorted(mark.sample for mark in speech.marks)
