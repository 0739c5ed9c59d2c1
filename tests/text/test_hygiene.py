"""Clean text and the map back to the original characters."""

import pytest

from deepvoice.text.hygiene import clean, fold


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it wasn’t “so”", 'it wasn\'t "so"'),
        ("don`t", "don't"),
        ("wait…", "wait..."),
        ("ﬁne Ｆｕｌｌ 𝐁𝐨𝐥𝐝", "fine Full Bold"),
        ("3½ m² 20 ℃", "3 1/2 m² 20 °C"),
        ("−5 to – and ―", "-5 to – and —"),
        ("cafe\u0301", "café"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("soft\u00adhyphen\u200b", "softhyphen"),
        ("№ 5", "No. 5"),
        ("١٢٣", "123"),
    ],
)
def test_clean(text, expected):
    assert clean(text).text == expected


def test_every_clean_character_points_into_the_original():
    text = "“Café” — ﬁne… 3½ e\u0301 👍🏽 x"
    cleaned = clean(text, offset=100)
    assert len(cleaned.text) == len(cleaned.starts) == len(cleaned.ends)
    for char, start, end in zip(cleaned.text, cleaned.starts, cleaned.ends, strict=True):
        assert 100 <= start < end <= 100 + len(text)
        if char.isascii() and char.isalpha() and text[start - 100].isascii():
            assert text[start - 100] == char
    assert list(cleaned.starts) == sorted(cleaned.starts)


@pytest.mark.parametrize(
    ("text", "dropped", "reason"),
    [
        ("Done ✅👍🏽 ok", "✅👍🏽", "emoji"),
        ("你好 world", "你好", "other script"),
        ("a → b", "→", "symbol"),
        ("a\x00b", "\x00", "control character"),
        ("a\ud800b", "\ud800", "no character"),
    ],
)
def test_what_has_no_reading_is_dropped_and_listed(text, dropped, reason):
    (entry,) = clean(text).dropped
    assert (entry.text, entry.reason, text[entry.start : entry.end]) == (dropped, reason, dropped)


def test_fold():
    assert [fold(word) for word in ("Café", "Łódź", "Straße", "Æther")] == ["cafe", "lodz", "strasse", "aether"]
