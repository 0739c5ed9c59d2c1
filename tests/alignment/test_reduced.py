"""Function words are heard in the forms of connected speech, not only in those that are read out."""

import pytest

from deepvoice.alignment.graph import distinct
from deepvoice.alignment.reduced import REDUCED
from deepvoice.alignment.transcript import other_readings, read_transcript
from deepvoice.text.phones import BASE_IDS, base


def variants(front_end, text, place):
    return [" ".join(map(base, phones)) for phones in read_transcript(front_end, text).words[place].variants]


@pytest.mark.parametrize(
    ("text", "place", "form"),
    [
        ("Enter your password.", 1, "Y ER"),
        ("Tell him now.", 1, "IH M"),
        ("Bread and butter.", 1, "N"),
        ("It is for them.", 2, "F ER"),
        ("They should go.", 1, "SH AH D"),
        ("What was it?", 0, "W AH T"),
    ],
)
def test_weak_forms_are_expected(aligner, text, place, form):
    assert form in variants(aligner.front_end, text, place)


def test_the_form_that_the_voice_says_comes_first(aligner):
    assert variants(aligner.front_end, "Enter your password.", 1)[0] == "Y AO R"


def test_reduced_forms_are_phones_and_none_is_lost_to_the_limit(aligner):
    for word, forms in REDUCED.items():
        assert all(base(phone) in BASE_IDS for form in forms for phone in form)
        known = {tuple(map(base, v)) for v in distinct(other_readings(word, aligner.front_end.lexicon))}
        assert {tuple(map(base, form)) for form in forms} <= known, word
