"""Work grows in proportion to the text, whatever the text: counted in executed lines, not in seconds."""

import sys

import pytest

PATTERNS = [
    "a", "a.", "1", "1,", "1-", "1.", "1/2/", "1:", "$1", "a@", "a/", "http://", "www.", ".", ".)", "!?", "(", "'", '"',
    "-", "A", "I", "A&", "x1", "a'", "é", "👍", "\u0301a", "word ", "Ab", "No. ", "St. ", "1 1/2 ", "a\n", "\n", " ",
    "`a", "(555) 123-", "e.g. ", "=", "…", "me.666", "[a](", "<a ", "<!--", "&amp;", "&a", "*a", "# a\n", "- a\n", "|a",
    "x^2", "II ", "Aа", "Δt", "⁵a", "👨‍👩‍👧", "1h 5m ", "1e5", "5°", "Jan 5-", ":-) ", "@a_", "#a",
    "/a", "C:\\a", "1+1=", "½", "a^", "<3", "x\n", "5 C ", "NaOH ", "5! =", "a!=", "1-2=", "9+9' ", "read ", "NW ",
]  # fmt: skip


def lines_executed(function):
    """Count the Python lines that run in the front end; long scans inside one call are bounded by the sentence."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        if "deepvoice" not in frame.f_code.co_filename:
            return None
        if event == "line":
            count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("pattern", PATTERNS)
def test_work_grows_linearly(front_end, pattern):
    def analyse(length):
        text = "Go. " + (pattern * length)[:length]
        front_end.analyse(text)

    analyse(100)  # fill the caches
    small, large = lines_executed(lambda: analyse(750)), lines_executed(lambda: analyse(3000))
    assert large <= 4.6 * small + 2000


@pytest.mark.parametrize("text", ["a" * 100_000, "a." * 50_000, "1" * 50_000, "me." + "6" * 40])
def test_long_runs_are_spoken(front_end, text):
    analysis = front_end.analyse(text)
    assert analysis.sentences[0].start == 0 and analysis.sentences[-1].end >= len(text) - 1
