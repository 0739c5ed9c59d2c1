"""Layouts and tables; rows D1 and D2 of reported faults: quotes, blank lines, marks, line ends, missing columns."""

import pytest

from deepvoice.errors import ConfigError
from deepvoice.recipes.recordings.layouts import find
from deepvoice.recipes.recordings.tables import read_table


def table(tmp_path, raw, name="metadata.csv"):
    path = tmp_path / name
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    return path


def folder_with(tmp_path, *names):
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return tmp_path


@pytest.mark.parametrize("separator", ["|", "\t"])
def test_an_unbalanced_quote_swallows_no_row(tmp_path, separator):
    raw = 'a|One "two.\nb|"Fourth line starts quoted\nc|Plain.\nd|Ends quoted"\n'.replace("|", separator)
    lines, refused = read_table(table(tmp_path, raw))
    assert [line.name for line in lines] == list("abcd")
    assert lines[1].text == '"Fourth line starts quoted'
    assert not refused


def test_with_commas_an_unbalanced_quote_costs_its_own_line(tmp_path):
    raw = 'file,text\na.wav,"One, two."\nb.wav,"never closed\nc.wav,Plain.\nd.wav,"He said ""go""."\n'
    lines, refused = read_table(table(tmp_path, raw))
    assert [(line.name, line.text) for line in lines] == [
        ("a.wav", "One, two."),
        ("c.wav", "Plain."),
        ("d.wav", 'He said "go".'),
    ]
    assert len(refused) == 1
    assert refused[0].place.endswith("metadata.csv:3") and "quotes" in refused[0].reason


def test_marks_line_ends_blank_lines_and_encodings(tmp_path):
    lines, refused = read_table(table(tmp_path, "\ufeffa|One.\r\n\r\n  \r\nb|raw 2|two\r\nc|raw|\r\n"))
    assert [(line.name, line.text) for line in lines] == [("a", "One."), ("b", "two"), ("c", "raw")]
    assert [line.place.rsplit(":", 1)[1] for line in lines] == ["1", "4", "5"] and not refused
    lines, _ = read_table(table(tmp_path, "a\tNaïve.\n".encode("utf-16")))
    assert lines[0].text == "Naïve."
    lines, refused = read_table(table(tmp_path, b"a|One.\nb|caf\xe9\nc|Three.\n"))
    assert [line.name for line in lines] == ["a", "c"]
    assert refused[0].place.endswith(":2") and "UTF-8" in refused[0].reason
    lines, _ = read_table(table(tmp_path, "a|one\u2028two\x0bthree\x85four\n"))
    assert len(lines) == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("b", "column"),
        ("b|x|y|z", "4 columns"),
        ("b|", "empty text"),
        ("|two", "empty name"),
        ("../b|two", "out of the folder"),
        ("/etc/b|two", "out of the folder"),
        ("b|" + "x" * 100_001, "characters"),
    ],
)
def test_what_does_not_fit_is_named_by_its_line_and_the_rest_is_read(tmp_path, line, words):
    lines, refused = read_table(table(tmp_path, f"a|one\n{line}\nc|three\n"))
    assert [entry.name for entry in lines] == ["a", "c"]
    assert refused[0].place.endswith("metadata.csv:2") and words in refused[0].reason


@pytest.mark.parametrize("head", ["path\tsentence", "sentence\tup_votes\tpath", "client\tpath\tsentence\tage"])
def test_names_of_columns_say_which_count(tmp_path, head):
    names = head.split("\t")
    row = "\t".join({"path": "clip.mp3", "sentence": "Hello."}.get(name, "3") for name in names)
    lines, refused = read_table(table(tmp_path, f"{head}\n{row}\n"))
    assert [(line.name, line.text) for line in lines] == [("clip.mp3", "Hello.")] and not refused


def test_ljspeech_pairs_and_tables_are_found(tmp_path):
    lj = folder_with(tmp_path / "lj", "wavs/a.wav", "wavs/b.flac", "wavs/extra.wav", ".hidden/c.wav")
    (lj / "metadata.csv").write_text("a|One.\nb|Two.\nmissing|Three.\na|Again.\n")
    found = find(lj)
    assert [(r.id, r.path.name, r.text) for r in found.recordings] == [("a", "a.wav", "One."), ("b", "b.flac", "Two.")]
    reasons = {refused.place.rsplit("/", 1)[1]: refused.reason for refused in found.refused}
    assert reasons.keys() == {"metadata.csv:3", "metadata.csv:4", "extra.wav"}
    assert "missing" in reasons["metadata.csv:3"] and "already" in reasons["metadata.csv:4"]

    pairs = folder_with(tmp_path / "pairs", "x/1.wav", "y/1.wav", "y/1.mp3", "alone.wav", "z.lab", "empty.wav")
    for name, text in (("x/1.txt", "One\n two."), ("y/1.txt", "Three."), ("empty.txt", " ")):
        (pairs / name).write_text(text)
    found = find(pairs)
    assert [(r.id, r.text) for r in found.recordings] == [("x_1", "One two."), ("y_1", "Three.")]
    reasons = {refused.place.rsplit("/", 1)[1]: refused.reason for refused in found.refused}
    assert reasons.keys() == {"1.mp3", "alone.wav", "z.lab", "empty.txt:1"}

    (pairs / "one.tsv").write_text("x/1.wav\tOne.\n")
    assert find(pairs).layout == "table one.tsv"
    (pairs / "two.csv").write_text("x/1.wav,One.\n")
    with pytest.raises(ConfigError, match=r"2 tables .* --table"):
        find(pairs)
    assert len(find(pairs, pairs / "two.csv").recordings) == 1


def test_names_that_fall_together_stay_apart(tmp_path):
    folder = folder_with(tmp_path, "a/b.wav", "a_b.wav", "A_B.wav")
    (folder / "t.tsv").write_text("a/b.wav\tOne.\na_b.wav\tTwo.\nA_B.wav\tThree.\n")
    assert [recording.id for recording in find(folder).recordings] == ["a_b", "a_b-2", "A_B-3"]


def test_folders_that_hold_nothing_say_so(tmp_path):
    with pytest.raises(ConfigError, match="is missing"):
        find(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="is a file"):
        find(tmp_path / "file")
    with pytest.raises(ConfigError, match="has no recordings"):
        find(tmp_path)
    folder_with(tmp_path, "a.wav")
    with pytest.raises(ConfigError, match="1 recordings but no texts"):
        find(tmp_path)
    (tmp_path / "metadata.csv").write_text("\n")
    with pytest.raises(ConfigError, match="no text"):
        find(tmp_path)


def test_a_manifest_is_a_table_where_there_is_no_other(tmp_path):
    folder = folder_with(tmp_path, "wavs/a.wav", "wavs/b.wav", "c.wav")
    rows = ['{"id": "x", "audio": "wavs/a.wav", "text": "One."}', '{"audio": "wavs/b.wav"}', "{}[", '"c"', ""]
    rows += ['{"file": "c.wav", "transcript": " Two. "}', '{"audio": "../d.wav", "text": "Three."}', "[" * 50_000]
    table(folder, "\n".join(rows), "manifest.jsonl")
    found = find(folder)
    assert [(r.path.name, r.text) for r in found.recordings] == [("a.wav", "One."), ("c.wav", "Two.")]
    refused = {r.place.rsplit(":", 1)[-1]: r.reason for r in found.refused}
    assert all('{"audio": file, "text": words}' in refused[line] for line in ("2", "3", "4", "8"))
    assert "leads out of the folder" in refused["7"]
    table(folder, "a|Another.\n")
    assert [r.text for r in find(folder).recordings] == ["Another."]
