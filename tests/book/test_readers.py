"""Chapters and blocks from every kind of file, and what hostile or damaged files do."""

import struct
import zipfile

import pytest

from deepvoice.book.markup import read_page
from deepvoice.book.model import Block
from deepvoice.book.package import parse_xml, resolve
from deepvoice.book.plain import read_markdown, read_plain
from deepvoice.book.plan import plan_book
from deepvoice.book.reader import read_book
from deepvoice.commands.arguments import decode_text
from deepvoice.errors import TextError


def read(path):
    return read_book(path, decode_text)


def titles(book):
    return [chapter.title for chapter in book.chapters]


def texts(chapter):
    return [block.text for block in chapter.blocks]


def write(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_epub(sample):
    book = read(sample)
    assert (book.title, book.author, book.language) == ("The Keeper & the Cat", "E. Holm", "en")
    assert titles(book) == ["The Lamp", "The Storm", "What the Sea Left"]
    assert book.chapters[1].blocks[0] == Block("heading", "The Storm")
    assert texts(book.chapters[1])[-1] == "They took the boat."
    assert book.cover is not None and book.cover.media_type == "image/png"


def test_epub_2_and_chapters_inside_a_page(make_epub, files_of):
    files = files_of({"One": ("First.",), "Two": ("Second.</p><h2 id='three'>Three</h2><p>Third.",)})
    opf = files["OEBPS/book.opf"].replace(
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>',
        '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>',
    )
    points = "".join(
        f'<navPoint><navLabel><text>{title}</text></navLabel><content src="text/{place}"/></navPoint>'
        for title, place in (("I. One", "c0.xhtml"), ("II. Two", "c1.xhtml"), ("III. Three", "c1.xhtml#three"))
    )
    files["OEBPS/toc.ncx"] = (
        f"<!DOCTYPE ncx><ncx xmlns='http://www.daisy.org/z3986/2005/ncx/'><navMap>{points}</navMap></ncx>"
    )
    book = read(make_epub({**files, "OEBPS/book.opf": opf.replace("<spine>", '<spine toc="ncx">')}))
    assert titles(book) == ["I. One", "II. Two", "III. Three"]
    assert texts(book.chapters[2]) == ["Three", "Third."]


def test_epub_without_contents_has_a_chapter_for_each_page(make_epub, files_of):
    files = files_of({"One": ("First.",), "Two": ("Second.",)})
    files["OEBPS/nav.xhtml"] = "<html xmlns='http://www.w3.org/1999/xhtml'><body/></html>"
    assert titles(read(make_epub(files))) == ["One", "Two"]


def test_what_is_not_for_the_ear_stays_out():
    page = read_page(
        "<html lang='en'><head><title>T</title></head><body><nav>menu</nav><p>One"
        "<sup><a epub:type='noteref'>1</a></sup> &amp; two<br/>three</p><script>x()</script>"
        "<span epub:type='pagebreak' title='7'>7</span><hr>"
        "<table><tr><td>a</td><td>b</td></tr></table><p hidden>no</p>"
        "<p>漢<ruby>字<rt>ji</rt></ruby> <img alt='A map'></p>"
        "<ul><li>x<li>y</ul><p>unclosed"
    )
    assert [block.text for block in page.blocks] == [
        "One & two\nthree", "", "a, b", "漢字 A map", "x", "y", "unclosed"
    ]  # fmt: skip
    assert [block.kind for block in page.blocks][1] == "rule"
    assert (page.title, page.language) == ("T", "en")


def test_notes_and_entities_of_html(make_epub, files_of):
    note = "<aside epub:type='footnote'><p>A note.</p></aside><aside role='doc-endnote'>Another.</aside>"
    files = files_of({"One&nbsp;&amp; two": (f"First.</p>{note}<p>Last.",)})
    book = read(make_epub(files))
    assert titles(book) == ["One & two"]
    assert texts(book.chapters[0])[1:] == ["First.", "Last."]
    assert book.notes == ("2 notes at the foot or the end",)
    broken = read(make_epub({**files, "OEBPS/nav.xhtml": "<html><p></html>"}))
    assert len(broken.chapters) == 1 and "table of contents" in broken.notes[-1]


def test_html(tmp_path):
    path = write(tmp_path, "a.html", "<title>B</title><h1>B</h1><h2>One</h2><p>First.</p><h2>Two</h2><p>Second.</p>")
    book = read(path)
    assert book.title == "B" and titles(book) == ["B", "One", "Two"]


def test_plain_text(tmp_path):
    text = (
        "*** START OF THE PROJECT GUTENBERG EBOOK X ***\n\n"
        "A NOVEL\n\nCHAPTER I.\nDown the Hole\n\nAlice was\ntired.\n\n"
        "* * *\n\nShe slept.\n\nChapter II: The Pool\n\nIt was wet.\n\n"
        "*** END OF THE PROJECT GUTENBERG EBOOK X ***\nlicence"
    )
    book = read_plain(text, tmp_path / "alice.txt")
    assert titles(book) == ["Beginning", "CHAPTER I: Down the Hole", "Chapter II: The Pool"]
    assert [block.kind for block in book.chapters[1].blocks] == ["heading", "paragraph", "rule", "paragraph"]
    assert texts(book.chapters[1])[1] == "Alice was\ntired."
    for line in ("Chapter and verse.", "Part of it.", "Chapter one was dull.", "Chapter I remember well.", "Act now!"):
        assert titles(read_plain(f"Just a note.\n\n{line}\n\nMore.", tmp_path / "n.txt")) == ["n"], line
    for line in (
        "Chapter Twenty-One",
        "PART THE FIRST",
        "Chapter 12 The Sea",
        "Epilogue",
        "Book II — Iron",
        "Act Two: War",
    ):
        assert titles(read_plain(f"Just a note.\n\n{line}\n\nMore.", tmp_path / "n.txt")) == ["Beginning", line], line
    assert titles(read_plain("I\n\nOne.\n\nII\n\nTwo.\n\nXIV\n\nLast.", tmp_path / "n.txt")) == ["I", "II", "XIV"]


def test_markdown(tmp_path):
    text = (
        "---\ntitle: My Book\nauthor: 'Me'\n---\n# My Book\n\nIntro.\n\n## One *bold*\nFirst.\n```py\nx = 1\n```\n"
        "More.\n\nTwo\n---\n\nSecond [link](http://x).\n\n***\n\nEnd.\n"
    )
    book = read_markdown(text, tmp_path / "x.md")
    assert (book.title, book.author) == ("My Book", "Me")
    assert titles(book) == ["My Book", "One bold", "Two"]
    assert texts(book.chapters[1]) == ["One bold", "First.", "More."]
    assert "code" in book.notes[0]
    assert titles(read_markdown("Only text.", tmp_path / "x.md")) == ["x"]


def pdf(pages, bookmarks):
    """A PDF with lines of text on pages, and bookmarks (title, page)."""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R /Outlines 4 0 R >>",
        "",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    first = 5 + len(bookmarks)
    kids = " ".join(f"{first + 2 * n} 0 R" for n in range(len(pages)))
    objects[1] = f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"
    objects.append(f"<< /Type /Outlines /First 5 0 R /Last {4 + len(bookmarks)} 0 R /Count {len(bookmarks)} >>")
    for n, (title, page) in enumerate(bookmarks):
        after = f" /Next {6 + n} 0 R" if n + 1 < len(bookmarks) else ""
        objects.append(f"<< /Title ({title}) /Parent 4 0 R /Dest [{first + 2 * page} 0 R /Fit]{after} >>")
    for n, lines in enumerate(pages):
        drawn = "BT /F 12 Tf 50 700 Td 14 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {first + 2 * n + 1} 0 R "
            "/Resources << /Font << /F 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(drawn)} >> stream\n{drawn}\nendstream")
    body, places = b"%PDF-1.4\n", []
    for n, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{n} 0 obj {content} endobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    return (
        body
        + (
            f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
            f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF"
        ).encode()
    )


def test_pdf(tmp_path):
    pages = [
        ["A Book", "Arrival", "They came at night and won-", "dered at the lights,", "1"],
        ["A Book", "which went out.", "2"],
        ["A Book", "Departure", "They left.", "3"],
        ["A Book", "No one saw.", "4"],
        ["A Book", "The end.", "5"],
    ]
    book = read(write(tmp_path, "a.pdf", pdf(pages, [("Arrival", 0), ("Departure", 2)])))
    assert titles(book) == ["Arrival", "Departure"]
    assert "wondered" in texts(book.chapters[0])[1].replace("\n", " ")
    assert "A Book" not in " ".join(texts(book.chapters[1]))
    assert not any(digit in " ".join(texts(chapter)) for chapter in book.chapters for digit in "12345")


@pytest.mark.parametrize("name", ["a.epub", "a.pdf", "a.txt", "a.html", "a.md"])
@pytest.mark.parametrize(
    "content", [b"", b"\0" * 50, bytes(range(256)) * 20, b"PK\x03\x04rubbish", b"%PDF-1.4 rubbish"]
)
def test_rubbish_is_one_error(tmp_path, name, content):
    try:
        book = read(write(tmp_path, name, content))
        assert book.chapters  # such as the letters of a text file
    except TextError as error:
        assert len(str(error)) > 20


def test_pages_without_text_and_protected_files(tmp_path):
    with pytest.raises(TextError, match=r"only pictures.*OCR"):
        read(write(tmp_path, "a.pdf", pdf([[]], [("x", 0)])))
    with pytest.raises(TextError, match="no text that can be spoken"):
        read(write(tmp_path, "a.txt", "***\n\n---\n"))


def test_hostile_epubs(make_epub, files_of, tmp_path):
    files = files_of({"One": ("First.",)})
    bomb = '<!DOCTYPE p [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><package>&b;</package>'
    with pytest.raises(TextError, match="entities"):
        read(make_epub({**files, "OEBPS/book.opf": bomb}))
    with pytest.raises(TextError, match="nested"):
        read(make_epub({**files, "OEBPS/book.opf": "<a>" * 5000}))
    with pytest.raises(TextError, match="too large"):
        read(make_epub({**files, "OEBPS/text/c0.xhtml": b"<p>" + b"a" * (65 << 20)}))
    with pytest.raises(TextError, match="is not XML"):
        read(make_epub({**files, "OEBPS/book.opf": "<package>"}))
    with pytest.raises(TextError, match="no package document"):
        read(make_epub({"OEBPS/book.opf": files["OEBPS/book.opf"], "META-INF/container.xml": "<container/>"}))
    outside = files["OEBPS/book.opf"].replace("text/c0.xhtml", "../../../etc/passwd")
    with pytest.raises(TextError, match="lacks its file"):
        read(make_epub({**files, "OEBPS/book.opf": outside}))


def test_damaged_archives(sample, tmp_path):
    data = sample.read_bytes()
    for size in range(0, len(data), max(1, len(data) // 40)):
        with pytest.raises(TextError):
            read(write(tmp_path, "cut.epub", data[:size]))
    with zipfile.ZipFile(sample) as archive:
        place = archive.getinfo("OEBPS/text/c0.xhtml").header_offset
    damaged = bytearray(data)
    damaged[place + 60 : place + 90] = b"\xff" * 30
    with pytest.raises(TextError, match="damaged"):
        read(write(tmp_path, "bad.epub", bytes(damaged)))
    # a directory that lies about the size
    lying = bytearray(data)
    entry = lying.find(b"PK\x01\x02")
    struct.pack_into("<I", lying, entry + 24, 0xFFFFFF)
    try:
        read(write(tmp_path, "lie.epub", bytes(lying)))
    except TextError as error:
        assert "damaged" in str(error)


def test_deep_and_long_pages_are_read():
    page = read_page("<div>" * 100_000 + "deep" + "</div>" * 100_000 + "<p>" + "long " * 100_000)
    assert page.blocks[0].text == "deep" and len(page.blocks[-1].text) == 5 * 100_000 - 1


def test_links():
    assert resolve("OEBPS/nav.xhtml", "text/a%20b.xhtml#x") == ("OEBPS/text/a b.xhtml", "x")
    assert resolve("a/b.xhtml", "../c.xhtml") == ("c.xhtml", "")
    assert parse_xml(b"<a>x <b>y</b> z</a>", "t").words() == "x y z"


def test_pieces_cover_the_text_and_keep_their_keys(sample, tmp_path):
    book = read(sample)
    pieces = plan_book(book, None, {}, marked=False)
    assert [piece.chapter for piece in pieces] == [0, 1, 2]
    assert pieces == plan_book(read(sample), None, {}, marked=False)
    assert plan_book(book, None, {"speed": 2.0}, marked=False)[0].key != pieces[0].key
    assert pieces[1].breaks == ((11, 1.0), (99, 0.6), (201, 0.6))
    long = read_plain("word " * 5000 + "\n\n" + "A sentence. " * 2000, tmp_path / "l.txt")
    pieces = plan_book(long, None, {}, marked=True)
    assert all(len(piece.text) <= 6000 for piece in pieces)
    assert (
        "".join(piece.text for piece in pieces).split() == ("word " * 5000 + "A sentence. " * 2000).split()
        or len(" ".join(piece.text for piece in pieces).split()) == 9000
    )
