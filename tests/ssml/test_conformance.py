"""SSML, case by case: what each element makes of the text, and what is refused where."""

import itertools

import pytest

from deepvoice.errors import TextError
from deepvoice.ssml import read
from deepvoice.text.document import Break, Mark

SPEAK = "<speak>"


def body(inner):
    return f"{SPEAK}{inner}</speak>"


def parsed(inner, **options):
    return read(body(inner), **options)


PLAIN = [
    ("Hello.", "Hello."),
    ("a &amp; b &lt;c&gt; &quot;d&quot; &apos;e&apos;", "a & b <c> \"d\" 'e'"),
    ("caf&#233; &#x263A; &#128512;", "café ☺ 😀"),
    ("<![CDATA[a < b & c]]>", "a < b & c"),
    ("one<!-- not spoken -->two", "onetwo"),
    ("one<?target not spoken?> two", "one two"),
    ("one\n\ttwo\r\nthree", "one  two three"),
    ("<w>word</w> and <token role='x'>token</token>", "word and token"),
    ("<metadata><p>not</p>spoken</metadata>Hi<meta name='a' content='b'/>", "Hi"),
    ("un<mark name='m'/>believable <emphasis>un</emphasis>real", "unbelievable unreal"),
    ("<lang xml:lang='en-US'>hi</lang>", "hi"),
    ("<voice name='heart'>hi</voice>", "hi"),
    ("<lookup ref='x'>hi</lookup>", "hi"),
]


@pytest.mark.parametrize(("inner", "text"), PLAIN)
def test_text(inner, text):
    assert read(body(inner), voice="heart").document.text == text


ROOTS = [
    '<?xml version="1.0"?><speak>Hi</speak>',
    '<?xml version="1.0" encoding="UTF-16"?><speak>Hi</speak>',
    '\ufeff<?xml version="1.0"?>\n<speak>Hi</speak>\n',
    '\n  <?xml version="1.0"?><speak>Hi</speak>',
    '<speak version="1.1" xmlns="http://www.w3.org/2001/10/synthesis" xml:lang="en-US">Hi</speak>',
    '<ssml:speak xmlns:ssml="http://www.w3.org/2001/10/synthesis"><ssml:s>Hi</ssml:s></ssml:speak>',
    '<speak xmlns:xsi="http://x" xsi:schemaLocation="a b" version="1.0" xml:base="http://x">Hi</speak>',
]


@pytest.mark.parametrize("source", ROOTS)
def test_roots(source):
    assert read(source).document.text.strip() == "Hi"


BREAKS = [
    ("a<break/>b", 0.5),
    ("a<break time='750ms'/>b", 0.75),
    ("a<break time='1.5s'/>b", 1.5),
    ("a<break time=' +2S '/>b", 2.0),
    ("a<break time='.25s'/>b", 0.25),
    ("a<break time='0s'/>b", 0.0),
    ("a<break time='60s'/>b", 60.0),
    ("a<break strength='none'/>b", 0.0),
    ("a<break strength='x-weak'/>b", 0.1),
    ("a<break strength='weak'/>b", 0.25),
    ("a<break strength='medium'/>b", 0.5),
    ("a<break strength='strong'/>b", 0.8),
    ("a<break strength='x-strong'/>b", 1.2),
    ("a<break strength='strong' time='10ms'/>b", 0.01),
    ("a<break></break>b", 0.5),
]


@pytest.mark.parametrize(("inner", "seconds"), BREAKS)
def test_breaks(inner, seconds):
    document = parsed(inner).document
    assert document.text == "a  b"
    assert document.breaks == (Break(position=2, seconds=seconds),)


SENTENCES = [
    ("<s>One</s><s>Two</s>", ["One", "Two"]),
    ("<p>One</p><p>Two</p>", ["One", "Two"]),
    ("<p><s>One</s><s>Two</s></p>Three", ["One", "Two", "Three"]),
    ("Zero<s>One</s>", ["Zero", "One"]),
    ("<p> <s> One </s> </p>", ["One"]),
    ("<p/><s/>One", ["One"]),
]


@pytest.mark.parametrize(("inner", "sentences"), SENTENCES)
def test_sentences(inner, sentences):
    document = parsed(inner).document
    edges = [0, *(pause.position for pause in document.breaks), len(document.text)]
    pieces = [document.text[a:b].strip() for a, b in itertools.pairwise(edges)]
    assert [piece for piece in pieces if piece] == sentences
    assert all(pause.seconds is None for pause in document.breaks)


def reading(inner):
    (found,) = parsed(inner).document.readings
    return found


READINGS = [
    ("<sub alias='World Wide Web'>WWW</sub>", {"spoken": "World Wide Web"}),
    ("<sub alias='x'/>", {"spoken": "x"}),
    ("<phoneme alphabet='ipa' ph='təˈmeɪtoʊ'>tomato</phoneme>", {"phones": ("T", "AH0", "M", "EY1", "T", "OW0")}),
    ("<phoneme ph='kæt'>cat</phoneme>", {"phones": ("K", "AE1", "T")}),
    ("<phoneme alphabet='x-sampa' ph='k{t'>cat</phoneme>", {"phones": ("K", "AE1", "T")}),
    ("<phoneme alphabet='X-SAMPA' ph='k{t'/>", {"phones": ("K", "AE1", "T")}),
    ("<phoneme alphabet='arpabet' ph='K AE1 T'>cat</phoneme>", {"phones": ("K", "AE1", "T")}),
    ("<phoneme alphabet='x-cmu' ph='k ae t'>cat</phoneme>", {"phones": ("K", "AE1", "T")}),
    ("<say-as interpret-as='characters'>abc</say-as>", {"say_as": "characters"}),
    ("<say-as interpret-as='spell-out'>abc</say-as>", {"say_as": "spell-out"}),
    ("<say-as interpret-as='cardinal'>42</say-as>", {"say_as": "cardinal"}),
    ("<say-as interpret-as='number'>42</say-as>", {"say_as": "number"}),
    ("<say-as interpret-as='ordinal'>3</say-as>", {"say_as": "ordinal"}),
    ("<say-as interpret-as='digits'>2769</say-as>", {"say_as": "digits"}),
    ("<say-as interpret-as='date' format='mdy'>03/04/2026</say-as>", {"say_as": "date", "detail": "mdy"}),
    ("<say-as interpret-as='date' format='dmy'>03/04/2026</say-as>", {"say_as": "date", "detail": "dmy"}),
    ("<say-as interpret-as='date' format='dd.mm.yyyy'>03/04/2026</say-as>", {"say_as": "date", "detail": "dmy"}),
    ("<say-as interpret-as='time' format='hms12'>1:49pm</say-as>", {"say_as": "time", "detail": "hms12"}),
    ("<say-as interpret-as='telephone'>555-123-4567</say-as>", {"say_as": "telephone"}),
    ("<say-as interpret-as='fraction'>2/3</say-as>", {"say_as": "fraction"}),
    ("<say-as interpret-as='unit'>5km</say-as>", {"say_as": "unit"}),
    ("<say-as interpret-as=' Cardinal '> 42 </say-as>", {"say_as": "cardinal"}),
]


@pytest.mark.parametrize(("inner", "expected"), READINGS)
def test_readings(inner, expected):
    found = reading(inner)
    if "phones" in expected:
        assert found.phones == (expected["phones"],)
    else:
        assert {name: getattr(found, name) for name in expected} == expected


def test_a_reading_covers_the_words_and_no_spaces():
    document = parsed("The <sub alias='x'> W W </sub> is").document
    (found,) = document.readings
    assert document.text[found.start : found.end] == "W W"


STYLES = [
    ("<prosody rate='fast'>x</prosody>", {"rate": 1.35}),
    ("<prosody rate='x-slow'>x</prosody>", {"rate": 0.5}),
    ("<prosody rate='80%'>x</prosody>", {"rate": 0.8}),
    ("<prosody rate='+20%'>x</prosody>", {"rate": 1.2}),
    ("<prosody rate='-20%'>x</prosody>", {"rate": 0.8}),
    ("<prosody rate='1.5'>x</prosody>", {"rate": 1.5}),
    ("<prosody pitch='+2st'>x</prosody>", {"pitch": 2.0}),
    ("<prosody pitch='-2.5ST'>x</prosody>", {"pitch": -2.5}),
    ("<prosody pitch='high'>x</prosody>", {"pitch": 3.0}),
    ("<prosody pitch='x-low'>x</prosody>", {"pitch": -6.0}),
    ("<prosody pitch='200Hz'>x</prosody>", {"pitch": 12.0}),
    ("<prosody pitch='+100Hz'>x</prosody>", {"pitch": 12.0}),
    ("<prosody pitch='-50%'>x</prosody>", {"pitch": -12.0}),
    ("<prosody volume='-6dB'>x</prosody>", {"volume": 0.501}),
    ("<prosody volume='+6dB'>x</prosody>", {"volume": 1.995}),
    ("<prosody volume='silent'>x</prosody>", {"volume": 0.0}),
    ("<prosody volume='soft'>x</prosody>", {"volume": 0.501}),
    ("<prosody volume='50'>x</prosody>", {"volume": 0.5}),
    ("<prosody volume='+10'>x</prosody>", {"volume": 1.1}),
    ("<prosody volume='-10%'>x</prosody>", {"volume": 0.9}),
    ("<prosody rate='slow' pitch='low' volume='loud'>x</prosody>", {"rate": 0.75, "pitch": -3.0, "volume": 1.585}),
    ("<emphasis>x</emphasis>", {"emphasis": 1}),
    ("<emphasis level='strong'>x</emphasis>", {"emphasis": 2}),
    ("<emphasis level='reduced'>x</emphasis>", {"emphasis": -1}),
    ("<emphasis level='strong'><emphasis level='moderate'>x</emphasis></emphasis>", {"emphasis": 1}),
    ("<prosody rate='50%'><prosody rate='50%'>x</prosody></prosody>", {"rate": 0.25}),
    ("<prosody rate='50%'><prosody rate='fast'>x</prosody></prosody>", {"rate": 1.35}),
    ("<prosody pitch='+2st'><prosody pitch='+1st'>x</prosody></prosody>", {"pitch": 3.0}),
    ("<prosody pitch='+2st'><prosody pitch='100Hz' rate='2'>x</prosody></prosody>", {"pitch": 0.0, "rate": 2.0}),
    ("<prosody volume='-6dB'><prosody volume='-6dB'>x</prosody></prosody>", {"volume": 0.251}),
]


@pytest.mark.parametrize(("inner", "expected"), STYLES)
def test_styles(inner, expected):
    (style,) = parsed(inner, mean_hz=100.0).document.styles
    assert (style.start, style.end) == (0, 1)
    neutral = {"rate": 1.0, "pitch": 0.0, "volume": 1.0, "emphasis": 0}
    for name, value in {**neutral, **expected}.items():
        assert getattr(style, name) == pytest.approx(value, abs=1e-3), name


@pytest.mark.parametrize(
    "inner",
    [
        "<prosody>x</prosody>", "<prosody rate='medium'>x</prosody>", "<prosody rate='100%' pitch='+0st'>x</prosody>",
        "<prosody volume='100'>x</prosody>", "<emphasis level='none'>x</emphasis>",
        "<prosody pitch='default'>x</prosody>",
    ],
)  # fmt: skip
def test_what_changes_nothing_leaves_no_style(inner):
    assert parsed(inner).document.styles == ()


def test_styles_end_with_their_elements():
    document = parsed("a <prosody rate='2'>b <emphasis>c</emphasis> d</prosody> e").document
    styles = {document.text[style.start : style.end]: (style.rate, style.emphasis) for style in document.styles}
    assert styles == {"b ": (2.0, 0), "c": (2.0, 1), " d": (2.0, 0)}


def test_marks():
    document = parsed("<mark name='start'/>One <mark name='a b'/>two<mark name='end'/>").document
    assert document.marks == (
        Mark(position=0, name="start"), Mark(position=4, name="a b"), Mark(position=7, name="end")
    )  # fmt: skip


NOTED = [
    ("<voice name='Joanna'>hi</voice>", "not the one that speaks"),
    ("<voice gender='male'>hi</voice>", "gender"),
    ("<lang xml:lang='fr-FR'>bonjour</lang>", "'fr-FR' is spoken in US English"),
    ("<p xml:lang='de'>hallo</p>", "'de'"),
    ("<amazon:effect name='whispered'>psst</amazon:effect>", "another vendor's"),
    ("<mstts:express-as style='sad'>oh</mstts:express-as>", "another vendor's"),
    ("<prosody amazon:max-duration='2s'>x</prosody>", "another vendor's"),
    ("<prosody contour='(0%,+20Hz)' range='high' duration='2s'>x</prosody>", "does nothing"),
    ("<lexicon uri='http://x/l.pls'/>hi", "not fetched"),
    ("<say-as interpret-as='expletive'>darn</say-as>", "as it is written"),
    ("<prosody rate='900%'>x</prosody>", "limited"),
    ("<prosody pitch='+40st'>x</prosody>", "limited"),
]


@pytest.mark.parametrize(("inner", "reason"), NOTED)
def test_what_is_not_done_is_noted(inner, reason):
    found = parsed(inner, voice="heart")
    assert any(reason in note.reason for note in found.notes)
    assert found.document.text.strip()
    source = body(inner)
    assert all(source[note.start : note.end].startswith("<") for note in found.notes)


REFUSED = [
    ("Hello", 1, 1, "<speak>"),
    ("<p>Hi</p>", 1, 1, "outermost"),
    ("<speak>Hi", 1, 10, "closed"),
    ("<speak>Hi</p></speak>", 1, 12, "close every element"),
    ("<speak>Hi</speak><speak>Ho</speak>", 1, 18, "one <speak>"),
    ("<speak>\nTom & Jerry</speak>", 2, 6, "&amp;"),
    ("<speak>\n\n  3 < 4</speak>", 3, 6, "&lt;"),
    ("<speak>a&nbsp;b</speak>", 1, 9, "number such as"),
    ("<speak><break time=1s/></speak>", 1, 20, "quote"),
    ("<speak><break time='1s' time='2s'/></speak>", 1, 25, "once"),
    ("<speak>\x00</speak>", 1, 8, "well-formed"),
    ("<speak>\ud800</speak>", 1, 8, "surrogate"),
    ("<!DOCTYPE speak SYSTEM 'http://x/speak.dtd'><speak>Hi</speak>", 1, None, "document type"),
    ("<!DOCTYPE a [<!ENTITY b 'c'>]><speak>&b;</speak>", 1, None, "document type"),
    ("<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><speak>&b;</speak>", 1, None, "document type"),
    ("<speak><brake/></speak>", 1, 8, "expected <break>"),
    ("<speak><b>x</b></speak>", 1, 8, "<b> is unknown"),
    ("<speak><speak>x</speak></speak>", 1, 8, "one, around everything"),
    ("<speak><audio src='a.wav'>x</audio></speak>", 1, 8, "audio cannot be mixed in"),
    ("<speak>x<break tme='1s'/></speak>", 1, 9, "expected time"),
    ("<speak>x<break time='1'/></speak>", 1, 9, "500ms"),
    ("<speak>x<break time='-1s'/></speak>", 1, 9, "500ms"),
    ("<speak>x<break time='61s'/></speak>", 1, 9, "at most 60s"),
    ("<speak>x<break time='9e9s'/></speak>", 1, 9, "500ms"),
    ("<speak>x<break strength='huge'/></speak>", 1, 9, "x-strong"),
    ("<speak><break>x</break></speak>", 1, 15, "<break/>"),
    ("<speak>x" + "<break time='60s'/>" * 61 + "</speak>", 1, None, "add up to more than 3600s"),
    ("<SPEAK>x</SPEAK>", 1, 1, "lower case"),
    ("<speak><mark/>x</speak>", 1, 8, "lacks the attribute name"),
    ("<speak><mark name=' '/>x</speak>", 1, 8, "expected a name"),
    ("<speak><sub>x</sub></speak>", 1, 8, "lacks the attribute alias"),
    ("<speak><sub alias='x'><break/></sub></speak>", 1, 23, "no elements"),
    ("<speak><phoneme ph='☃'>x</phoneme></speak>", 1, 8, "ph of <phoneme>"),
    ("<speak><phoneme ph=''>x</phoneme></speak>", 1, 8, "ph of <phoneme>"),
    ("<speak><phoneme alphabet='klingon' ph='x'>x</phoneme></speak>", 1, 8, "ipa, x-sampa or arpabet"),
    ("<speak><say-as>x</say-as></speak>", 1, 8, "interpret-as"),
    ("<speak><say-as interpret-as='sarcasm'>x</say-as></speak>", 1, 8, "sarcasm"),
    ("<speak>\n<say-as interpret-as='cardinal'>cat</say-as></speak>", 2, 1, "'cat'"),
    ("<speak><prosody rate='quick'>x</prosody></speak>", 1, 8, "x-slow"),
    ("<speak><prosody rate='-100%'>x</prosody></speak>", 1, 8, "above 0"),
    ("<speak><prosody rate='0'>x</prosody></speak>", 1, 8, "above 0"),
    ("<speak><prosody pitch='5'>x</prosody></speak>", 1, 8, "+2st"),
    ("<speak><prosody pitch='-9999Hz'>x</prosody></speak>", 1, 8, "above 0 Hz"),
    ("<speak><prosody volume='200'>x</prosody></speak>", 1, 8, "0 to 100"),
    ("<speak><prosody volume='6 dBs'>x</prosody></speak>", 1, 8, "-6dB"),
    ("<speak><prosody rate='" + "9" * 100 + "x'>x</prosody></speak>", 1, 8, "..."),
    ("<speak><emphasis level='very'>x</emphasis></speak>", 1, 8, "moderate"),
    ("<speak>" + "<p>" * 60 + "x" + "</p>" * 60 + "</speak>", 1, None, "deep"),
    ("<speak><sub alias='" + "x" * 20_000 + "'>x</sub></speak>", 1, 8, "10000"),
]


@pytest.mark.parametrize(("source", "line", "column", "words"), REFUSED)
def test_refused(source, line, column, words):
    with pytest.raises(TextError) as caught:
        read(source)
    message = str(caught.value)
    assert message.startswith(f"SSML line {line}, column {column if column else ''}"), message
    assert words in message
    assert len(message) < 400


@pytest.mark.parametrize("source", ["", "  \n", "\ufeff"])
def test_nothing(source):
    with pytest.raises(TextError, match="empty"):
        read(source)


def test_what_is_no_string_or_too_long():
    with pytest.raises(TextError, match="bytes"):
        read(b"<speak>Hi</speak>")
    with pytest.raises(TextError, match="at most"):
        read("<speak>" + "x" * 2_000_001 + "</speak>")


def test_the_table_is_long_enough():
    tables = (PLAIN, ROOTS, BREAKS, SENTENCES, READINGS, STYLES, NOTED, REFUSED)
    assert sum(map(len, tables)) >= 150


def test_every_character_leads_back_to_where_it_was_written():
    source = "<speak>\r\nÀ &amp; <![CDATA[<é>]]> 😀<s>x<break/>y</s>&#233;\n</speak>"
    document = read(source).document
    assert len(document.origin) == len(document.text) + 1
    assert list(document.origin) == sorted(document.origin)
    for char, position in zip(document.text, document.origin, strict=False):
        if not char.isspace():
            assert source[position] in (char, "&"), (char, position)
