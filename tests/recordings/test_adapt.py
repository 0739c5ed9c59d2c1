"""An aligner is adapted to a folder of recordings: a voice of its own with confidences that suit it."""

import dataclasses
import json

import numpy as np
import pytest

pytest.importorskip("torch")

from deepvoice.alignment import Aligner, AlignerSettings
from deepvoice.alignment.confidence import CONFIDENCE, ConfidenceRule, rule_of
from deepvoice.alignment.result import AlignedWord, Alignment, Fit
from deepvoice.config import to_dict
from deepvoice.errors import ConfigError
from deepvoice.recipes.segmentation.adapt import adapt, suiting_confidences
from deepvoice.recipes.segmentation.trials import Trials, fitted
from deepvoice.voice import MODULES, load_voice


def test_a_folder_becomes_a_voice_with_another_aligner(small_voice, takes, tmp_path):
    out = tmp_path / "mine"
    told = []
    adapt(takes, out, voice=small_voice, steps=2, tell=lambda done, all_: told.append((done, all_)))
    assert told[-1] == (24, 24)
    before, after = (load_voice(folder, tuple(MODULES)) for folder in (small_voice, out))
    assert after.manifest.training["aligner"] == "adapted to 22 recordings"
    changed = {
        m for m in MODULES if any(not np.array_equal(before.tensors[m][n], v) for n, v in after.tensors[m].items())
    }
    assert changed == {"segmentation"}
    assert Aligner.load(out).settings == AlignerSettings()  # too few recordings to fit confidences to
    weights = (out / "segmentation.safetensors").read_bytes()
    adapt(takes, out, voice=small_voice, steps=2)  # done: nothing is learned again
    assert (out / "segmentation.safetensors").read_bytes() == weights
    rule = suiting_confidences(Aligner.load(small_voice), out / "work" / "corpus" / "manifest.jsonl", least=51)
    assert rule is None


def test_too_few_recordings_are_named(small_voice, takes, tmp_path):
    (takes / "texts.tsv").write_text("".join((takes / "texts.tsv").read_text().splitlines(keepends=True)[:9]))
    with pytest.raises(ConfigError, match=r"9 recordings that can be used; adapting needs 20.*refused\.tsv"):
        adapt(takes, tmp_path / "mine", voice=small_voice, steps=2)


def test_a_voice_keeps_the_confidences_of_its_aligner(small_voice):
    own = ConfidenceRule(word=(7.63, 2.1, 1.3), skipped=0.045, utterance=(7.33, 9.02, -8.7, -7.82))
    manifest = json.loads((small_voice / "voice.json").read_text())

    def write(rule):
        manifest["training"] = {CONFIDENCE: rule}
        (small_voice / "voice.json").write_text(json.dumps(manifest))

    write(to_dict(own))
    assert Aligner.load(small_voice).settings.confidence == own
    assert Aligner.load(small_voice, AlignerSettings()).settings.confidence == ConfidenceRule()
    assert rule_of({}) == ConfidenceRule()
    write({"word": [1.0, 2.0]})
    with pytest.raises(ConfigError, match=r"confidence\.word"):
        Aligner.load(small_voice)
    write({"skipped": 7.0})
    with pytest.raises(ConfigError, match=r"skipped is 7\.0"):
        Aligner.load(small_voice)


def aligned(goodness, worst, *, read=True, skipped=0.0, extra=0.0):
    """Return an alignment of three words that fit so well; the second one is not read where `read` is False."""
    words = tuple(
        AlignedWord(
            text=text, start=0.0, end=0.3, span=(0, 1), phones=(0, 3) if read or n != 1 else (0, 1), confidence=0.9,
            read=read or n != 1, fit=(goodness, worst),
        )
        for n, text in enumerate("one two three".split())
    )  # fmt: skip
    return Alignment(
        text="one two three", seconds=1.0, words=words, phones=(), sentences=(), confidence=0.9, accepted=True,
        reasons=(), extra=(), fit=Fit(goodness, skipped, extra),
    )  # fmt: skip


@pytest.mark.parametrize("level", [-0.2, -1.0])  # of goodness: a network that is more or less sure of itself
def test_fitted_confidences_tell_right_from_wrong_at_any_level(level):
    random = np.random.default_rng(0)
    trials = Trials()
    for n in range(120):
        noise, other = random.normal(0, 0.05, 2), random.normal(0, 0.3, 2)
        trials.right[str(n)] = aligned(level + noise[0], 2 * level + noise[1])
        trials.swapped[str(n)] = aligned(4 * level + other[0], 6 * level + other[1], skipped=0.5, extra=0.2)
        trials.replaced[str(n)] = (aligned(4 * level + other[0], 6 * level + other[1], read=n % 2 == 0), 1)
    rule = fitted(trials, list(trials.right), ConfidenceRule(word_limit=0.3))
    assert rule.word_limit == 0.3 and rule.skipped < 0.1

    def likely(weights, values):
        return 1 / (1 + np.exp(-weights[0] - np.dot(weights[1:], values)))

    assert likely(rule.utterance, trials.right["0"].fit) > 0.9 > 0.1 > likely(rule.utterance, trials.swapped["0"].fit)
    assert likely(rule.word, trials.right["0"].words[0].fit) > 0.9
    assert likely(rule.word, trials.replaced["0"][0].words[1].fit) < 0.3
    assert dataclasses.replace(rule, word_limit=0.25) != ConfidenceRule()
