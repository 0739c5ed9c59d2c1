"""A book needs no more memory than a note."""

import pytest

CODE = """
import re, sys
import deepvoice
voice = deepvoice.load(sys.argv[1])
stream = voice.stream("The ferry leaves at dawn, and nobody knows where it goes. " * {sentences}, times=False)
peaks = []
for number, piece in enumerate(stream):
    if number in ({first}, {last}):
        status = open("/proc/self/status").read()  # getrusage would include the parent's memory at the fork
        peaks.append(int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) / 1024)
print(peaks[0], peaks[1], stream.report.sentences)
"""


def peaks(run_python, tiny_voice, **numbers):
    result = run_python("-c", CODE.format(**numbers), str(tiny_voice), timeout=900)
    assert result.returncode == 0, result.stderr.decode()
    early, late, sentences = result.stdout.decode().split()
    assert int(sentences) == numbers["sentences"]
    return float(early), float(late)


def test_memory_does_not_grow_with_the_text(run_python, tiny_voice):
    early, late = peaks(run_python, tiny_voice, sentences=60, first=30, last=300)
    assert late <= 150 and late - early < 8  # MB


@pytest.mark.slow
def test_memory_does_not_grow_with_a_book(run_python, tiny_voice):
    early, late = peaks(run_python, tiny_voice, sentences=1000, first=200, last=5000)
    assert late <= 150 and late - early < 8
