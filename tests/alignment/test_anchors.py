"""Anchors of long recordings: certain places stay, errors do not spread."""

import numpy as np
import pytest

from deepvoice.alignment.anchors import Heard, choose_cuts, find_anchors, hear
from deepvoice.text.phones import BASES, NUM_SILENCES


def text(random, length=3000):
    return random.integers(NUM_SILENCES, len(BASES), length)


def heard_from(random, text_P, errors=0.15):
    """Return what is heard of a text with errors, and the place in the text of each phone that was heard."""
    kinds = random.random(len(text_P))
    heard, place = [], []
    for p, phone in enumerate(text_P.tolist()):
        if kinds[p] < errors / 3:  # missed
            continue
        if kinds[p] < 2 * errors / 3:  # heard as another
            phone = int(random.integers(NUM_SILENCES, len(BASES)))
        heard.append(phone)
        place.append(p)
        if kinds[p] > 1 - errors / 3:  # one too many
            heard.append(int(random.integers(NUM_SILENCES, len(BASES))))
            place.append(p)
    return np.array(heard), np.array(place)


def test_anchors_lie_where_the_same_was_said():
    random = np.random.default_rng(0)
    text_P = text(random)
    heard_H, place_H = heard_from(random, text_P)
    anchors = find_anchors(text_P, heard_H, 300)
    assert (np.diff(anchors, axis=0) > 0).all()
    assert np.mean(np.abs(place_H[anchors[:, 1]] - anchors[:, 0]) <= 1) > 0.98
    assert np.diff(anchors[:, 0]).max() < 300


def test_what_is_missing_or_added_does_not_move_what_follows():
    random = np.random.default_rng(1)
    text_P = text(random)
    heard_H, place_H = heard_from(random, np.delete(text_P, slice(1000, 1400)), 0.1)  # 400 phones were not read
    heard_H = np.insert(heard_H, 1800, text(random, 500))  # and 500 are not in the text
    place_H = np.insert(place_H + 400 * (place_H >= 1000), 1800, np.full(500, -1))
    anchors = find_anchors(text_P, heard_H, 300)
    assert np.mean(np.abs(place_H[anchors[:, 1]] - anchors[:, 0]) <= 1) > 0.97
    inside = (anchors[:, 0] > 1020) & (anchors[:, 0] < 1380)
    assert np.count_nonzero(inside) <= 2


@pytest.mark.parametrize("sizes", [(0, 0), (0, 50), (50, 0), (3, 3), (4, 5000)])
def test_little_or_nothing_has_no_anchors(sizes):
    random = np.random.default_rng(2)
    assert len(find_anchors(text(random, sizes[0]), text(random, sizes[1]), 100)) == 0


def test_phones_are_runs_of_frames_and_short_ones_are_noise():
    class_F = np.array([0] * 5 + [20] * 6 + [21] + [20] * 5 + [0] * 10 + [20] * 4 + [30] * 7)
    heard = hear(class_F)
    assert heard.base_H.tolist() == [20, 20, 30]  # one run in spite of the frame of noise, and two around the silence
    assert heard.start_H.tolist() == [5, 27, 31]
    assert heard.end_H.tolist() == [17, 31, 38]
    assert len(hear(np.zeros(10, np.int64)).base_H) == 0


def test_cuts_lie_in_silences_between_words():
    words = 60
    word_P = np.repeat(np.arange(words), 3)
    start_H = np.arange(3 * words) * 20 + np.repeat(np.arange(words) // 10, 3) * 50  # a pause after every 10 words
    heard = Heard(np.zeros(3 * words, np.int64), start_H, start_H + 20)
    anchors = np.stack([np.arange(3 * words)] * 2, axis=1)
    cuts = choose_cuts(anchors, word_P, heard, int(heard.end_H[-1]), 600, 1400)
    assert [cut.word for cut in cuts] == [10, 20, 30, 40, 50]
    for cut in cuts:
        assert heard.end_H[3 * cut.word - 1] < cut.frame < heard.start_H[3 * cut.word]
    assert choose_cuts(anchors[:0], word_P, heard, 4000, 600, 1400) == []
