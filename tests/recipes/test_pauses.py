import numpy as np
import pytest

from deepvoice.recipes.segmentation.pauses import Aligned, PauseRule, insert_pauses

RULE = PauseRule()


def energy(*levels_and_frames):
    decibels, frames = zip(*levels_and_frames, strict=True)
    return np.repeat(np.array(decibels) * np.log(10) / 10, frames).astype(np.float32)


def test_silence_at_the_start_of_a_word_becomes_a_pause():
    aligned = Aligned(["sil", "AA1", "N", "D", "."], [-1, 0, 1, 1, -1], [10, 30, 50, 10, 20])
    levels = energy((-80, 10), (0, 30), (-70, 40), (-5, 20), (-80, 20))
    result = insert_pauses(aligned, levels, RULE)
    assert result == Aligned(["sil", "AA1", ",", "N", "D", "."], [-1, 0, -1, 1, 1, -1], [10, 30, 40, 10, 10, 20])


def test_a_stop_keeps_its_closure():
    aligned = Aligned(["sil", "AA1", "T", "."], [-1, 0, 1, -1], [10, 30, 50, 20])
    result = insert_pauses(aligned, energy((-80, 10), (0, 30), (-70, 40), (-5, 10), (-80, 20)), RULE)
    assert result.symbols == ["sil", "AA1", ",", "T", "."]
    assert result.durations == [10, 30, 32, 18, 20]


def test_silence_at_the_end_of_a_word_and_the_next_share_one_pause():
    aligned = Aligned(["sil", "AA1", "N", "AA1", "."], [-1, 0, 0, 1, -1], [10, 30, 50, 50, 20])
    levels = energy((-80, 10), (0, 30), (-5, 10), (-70, 40), (-70, 30), (0, 20), (-80, 20))
    result = insert_pauses(aligned, levels, RULE)
    assert result.symbols == ["sil", "AA1", "N", ",", "AA1", "."]
    assert result.durations == [10, 30, 10, 70, 20, 20]


def test_silence_beside_a_pause_goes_to_it():
    aligned = Aligned(["sil", "N", ",", "AA1", "."], [-1, 0, -1, 1, -1], [10, 50, 5, 30, 20])
    result = insert_pauses(aligned, energy((-80, 10), (-5, 20), (-70, 35), (0, 30), (-80, 20)), RULE)
    assert result.symbols == aligned.symbols
    assert result.durations == [10, 20, 35, 30, 20]


@pytest.mark.parametrize("frames", [RULE.frames - 1, 0])
def test_short_silence_stays_where_it_is(frames):
    aligned = Aligned(["sil", "AA1", "N", "."], [-1, 0, 1, -1], [10, 30, 40, 20])
    levels = energy((-80, 10), (0, 30), (-70, frames), (-5, 40 - frames), (-80, 20))
    assert insert_pauses(aligned, levels, RULE) == aligned


def test_silence_inside_a_word_stays():
    aligned = Aligned(["sil", "AA1", "K", "AA1", "."], [-1, 0, 0, 0, -1], [10, 30, 60, 30, 20])
    levels = energy((-80, 10), (0, 30), (-70, 50), (-5, 10), (0, 30), (-80, 20))
    assert insert_pauses(aligned, levels, RULE) == aligned


def test_frames_are_kept_and_every_phone_lasts():
    random = np.random.default_rng(3)
    for _ in range(200):
        count = int(random.integers(2, 9))
        words = np.sort(random.integers(0, 3, count))
        words = (np.cumsum(np.diff(words, prepend=words[0]) > 0)).tolist()
        durations = [5, *random.integers(1, 60, count).tolist(), 9]
        aligned = Aligned(["sil", *random.choice(["T", "N", "AA1"], count).tolist(), "."], [-1, *words, -1], durations)
        levels = np.repeat(random.uniform(-20, 0, sum(durations) // 7 + 1), 7)[: sum(durations)].astype(np.float32)
        result = insert_pauses(aligned, levels, RULE)
        assert sum(result.durations) == sum(durations)
        assert min(result.durations) >= 1
        assert [s for s in result.symbols if s != ","] == aligned.symbols
