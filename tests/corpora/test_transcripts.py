import pytest

from deepvoice.recipes.corpora.transcripts import read_transcripts


def write(tmp_path, raw):
    path = tmp_path / "metadata.csv"
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    return path


def test_an_unbalanced_quote_swallows_no_row(tmp_path):
    path = write(tmp_path, 'a|One "two.\nb|"Fourth line starts quoted\nc|Plain.\nd|Ends quoted"\n')
    rows = read_transcripts(path)
    assert [row.id for row in rows] == list("abcd")
    assert rows[1].text == '"Fourth line starts quoted'
    assert rows[0].text == 'One "two.'


def test_byte_order_mark_windows_line_ends_and_blank_lines(tmp_path):
    rows = read_transcripts(write(tmp_path, "\ufeffa|One.\r\n\r\n  \r\nb|Two.\r\n"))
    assert [(row.id, row.text, row.line) for row in rows] == [("a", "One.", 1), ("b", "Two.", 4)]


@pytest.mark.parametrize(
    ("line", "text"),
    [("a|raw 5|five", "five"), ("a|raw", "raw"), ("a|raw|", "raw"), ("a\traw", "raw"), ("dir/a\traw|bar", "raw|bar")],
)
def test_two_or_three_columns_or_a_tab(tmp_path, line, text):
    assert read_transcripts(write(tmp_path, line + "\n"))[0].text == text


def test_plain_text_has_one_utterance_a_line(tmp_path):
    rows = read_transcripts(write(tmp_path, "First line.\n\nThird line."))
    assert [(row.id, row.text) for row in rows] == [("line000001", "First line."), ("line000003", "Third line.")]


def test_a_line_separator_inside_a_text_is_no_new_row(tmp_path):
    assert len(read_transcripts(write(tmp_path, "a|one\u2028two\x0bthree\x85four\n"))) == 1


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ("a|one\nb\n", 2),
        ("a|one\nb|x|y|z\n", 2),
        ("a|one\n\nb|\n", 3),
        ("a|one\n|two\n", 2),
        ("a|one\na|two\n", 2),
        ("a|one\n../b|two\n", 2),
        (b"a|one\nb|\xff\xfe\n", 2),
    ],
)
def test_what_does_not_fit_is_named_by_its_line(tmp_path, raw, line):
    with pytest.raises(ValueError, match=rf"metadata\.csv:{line}: "):
        read_transcripts(write(tmp_path, raw))


def test_an_empty_file_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no text"):
        read_transcripts(write(tmp_path, "\n \n"))
