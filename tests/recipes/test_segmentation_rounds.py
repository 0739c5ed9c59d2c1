"""Further rounds of the segmentation recipe, and silences between words that two phones share."""

import numpy as np
import pytest

pytest.importorskip("torch")

from deepvoice.config import load_toml
from deepvoice.recipes.segmentation.corpus import Utterance, base_ids
from deepvoice.recipes.segmentation.decode import _states
from deepvoice.recipes.segmentation.gaps import GapRule, share_gaps
from deepvoice.recipes.segmentation.settings import Settings, TrainingSettings, default_config
from deepvoice.recipes.segmentation.train import loss_of_frames, loss_of_pairs, plan_of

RULE = GapRule(frames=10, depth=35.0)
SYMBOLS = base_ids("sil S IY1 K AE1 .".split())
WORD_OF = [-1, 0, 0, 1, 1, -1]
DURATIONS = np.array([10, 20, 30, 40, 20, 10])


def energy(*silent):
    """Return log power of 130 frames of 80 dB, but for spans 40 dB below."""
    level = np.full(130, 80.0)
    for first, last in silent:
        level[first:last] = 40.0
    return (level * np.log(10) / 10).astype(np.float32)


def shared(*silent, rule=RULE, word_of=WORD_OF):
    return share_gaps(DURATIONS, SYMBOLS, word_of, energy(*silent), rule).tolist()


@pytest.mark.parametrize(("first", "last"), [(60, 80), (50, 70), (45, 55), (61, 71)])
def test_a_silence_between_two_words_is_shared_evenly(first, last):
    middle = (first + last) // 2
    assert shared((first, last)) == [10, 20, middle - 30, 100 - middle, 20, 10]


def test_what_is_short_or_inside_a_word_or_without_words_stays():
    assert shared((60, 69)) == DURATIONS.tolist()
    assert shared((25, 45)) == DURATIONS.tolist()
    assert shared((60, 80), word_of=()) == DURATIONS.tolist()
    assert shared((60, 80), rule=GapRule()) == DURATIONS.tolist()


def test_phones_keep_a_frame_and_the_sum_stays():
    short = np.array([10, 20, 2, 68, 20, 10])
    moved = share_gaps(short, SYMBOLS, WORD_OF, energy((30, 100)), RULE)
    assert moved.min() >= 1 and moved.sum() == short.sum()
    assert (short == [10, 20, 2, 68, 20, 10]).all()


def test_a_plan_without_rounds_ends_with_the_varied_stage(tmp_path):
    stages = plan_of(Settings(training=TrainingSettings(varied_steps=7)), tmp_path)
    assert [stage.folder.name for stage in stages] == ["pairs", "frames", tmp_path.name]
    assert [stage.loss_fn for stage in stages] == [loss_of_pairs, loss_of_frames, loss_of_frames]
    assert stages[-1].steps == 7 and stages[-1].augmentation is not None
    assert stages[0].start is None and stages[0].augmentation is None and stages[1].augmentation is None


def test_every_round_begins_where_the_one_before_ended(tmp_path):
    training = TrainingSettings(rounds=2, round_steps=5, round_rate=1e-4)
    stages = plan_of(Settings(training=training), tmp_path)
    assert [stage.folder.name for stage in stages] == ["pairs", "frames", "varied", "round1", tmp_path.name]
    assert [stage.start for stage in stages[1:]] == [stage.folder / "last.pt" for stage in stages[:-1]]
    assert [(s.steps, s.rate) for s in stages[3:]] == [(5, 1e-4)] * 2


def test_the_settings_for_one_corpus_have_a_round_and_share_gaps():
    own = load_toml(Settings, default_config().with_name("own.toml"))
    assert own.training.rounds == 1 and own.alignment.gaps == RULE
    assert load_toml(Settings, default_config()).alignment.gaps.frames == 0


def test_a_phone_has_as_many_states_as_the_frames_that_it_needs():
    assert _states(Utterance("u", SYMBOLS, 14), 3).tolist() == [0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5]
    assert _states(Utterance("u", SYMBOLS, 13), 3).tolist() == [0, 1, 2, 3, 4, 5]  # too short: one frame each
    assert _states(Utterance("u", SYMBOLS, 130), 1).tolist() == [0, 1, 2, 3, 4, 5]
