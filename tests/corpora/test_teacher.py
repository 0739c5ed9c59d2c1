import json

import numpy as np
import pytest
import soundfile

pytest.importorskip("scipy")

from deepvoice.errors import ConfigError
from deepvoice.recipes.corpora import teacher as recipe
from deepvoice.recipes.corpora.labels import front_end
from deepvoice.recipes.corpora.short_prompts import short_prompts
from deepvoice.recipes.corpora.teacher import TeacherOptions, finished, generate, keep_options, merge, plan, speak
from deepvoice.recipes.corpora.truth import merge_durations

VOCABULARY = " ,;:.?!—bʧdðfɡhʤklmnŋpɹsʃtθvwjzʒɑæʌɔWIɛɜAiɪOYuʊəTᵊˈˌ"
TEXTS = [
    "The cat sat on the mat, and the dog ran away", "She sells shells by the shore. He buys none!",
    "Where is the house?", "A quiet morning in the garden.", "The house and the dog and the cat are old.",
    "Nothing was said;",
]  # fmt: skip


class FakeTeacher:
    """Speaks a tenth of a second of noise for each character, and counts what it was asked."""

    def __init__(self, vocabulary=VOCABULARY):
        self.vocab = {character: i for i, character in enumerate(vocabulary)}
        self.spoken = []

    def from_phonemes(self, phonemes, speed, seed):
        self.spoken.append(phonemes)
        samples = round(600 * len(phonemes) / speed)
        return 0.1 * np.random.default_rng(seed).standard_normal(samples).astype(np.float32)


@pytest.fixture
def prompts_file(tmp_path):
    path = tmp_path / "prompts.txt"
    path.write_text("\n".join(TEXTS * 3))
    return path


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(recipe, "BLOCK", 5)


def make(prompts_file, out, options, shards=1, teacher=None):
    teacher = teacher or FakeTeacher()
    prompts = plan([prompts_file], options)
    for shard in range(shards):
        generate(prompts, front_end(), teacher, options, out, (shard, shards))
    return merge(prompts, options, out), teacher


@pytest.mark.usefixtures("small_blocks")
def test_the_corpus_has_what_the_manifest_says(prompts_file, tmp_path):
    options = TeacherOptions(short=6, varied=0.5)
    count, teacher = make(prompts_file, tmp_path / "c", options)
    rows = [json.loads(line) for line in (tmp_path / "c" / "manifest.jsonl").read_text().splitlines()]
    assert count == len(rows) == len(teacher.spoken) >= 18 + 6
    assert len({row["id"] for row in rows}) == len(rows)
    speeds = {row["speed"] for row in rows}
    assert 1.0 in speeds
    assert all(0.7 <= speed <= 1.5 for speed in speeds)
    assert len(speeds) > 3
    for row in rows[:5]:
        info = soundfile.info(tmp_path / "c" / row["audio"])
        assert info.samplerate == 24000
        assert info.frames == pytest.approx(row["seconds"] * 24000, abs=3)


@pytest.mark.usefixtures("small_blocks")
def test_an_interrupted_run_continues_and_shards_give_the_same_corpus(prompts_file, tmp_path):
    options = TeacherOptions(short=6, varied=0.5)
    make(prompts_file, tmp_path / "whole", options)
    make(prompts_file, tmp_path / "parts", options, shards=3)
    (tmp_path / "parts" / "blocks" / "00001.jsonl").unlink()  # as if stopped there
    _, teacher = make(prompts_file, tmp_path / "parts", options)
    assert 5 <= len(teacher.spoken) <= 12  # one block only
    whole, parts = ((tmp_path / name / "manifest.jsonl").read_text() for name in ("whole", "parts"))
    assert whole == parts


@pytest.mark.usefixtures("small_blocks")
def test_a_missing_block_leaves_the_manifest_unwritten(prompts_file, tmp_path):
    options = TeacherOptions(short=0)
    prompts = plan([prompts_file], options)
    generate(prompts, front_end(), FakeTeacher(), options, tmp_path / "c", (0, 2))
    assert merge(prompts, options, tmp_path / "c") == 0
    assert not (tmp_path / "c" / "manifest.jsonl").exists()


@pytest.mark.usefixtures("small_blocks")
def test_hours_bound_the_corpus(prompts_file, tmp_path):
    count, _ = make(prompts_file, tmp_path / "c", TeacherOptions(short=0, hours=0.002))
    assert 0 < count < 18


def test_other_options_are_refused(prompts_file, tmp_path):
    keep_options(tmp_path, TeacherOptions(hours=1.0), [prompts_file])
    keep_options(tmp_path, TeacherOptions(hours=2.0), [prompts_file])  # more hours continue the same corpus
    with pytest.raises(ConfigError, match="seed"):
        keep_options(tmp_path, TeacherOptions(seed=1), [prompts_file])
    prompts_file.write_text("Other text.\n")
    with pytest.raises(ConfigError, match="prompts"):
        keep_options(tmp_path, TeacherOptions(), [prompts_file])


def test_a_character_outside_the_vocabulary_is_never_dropped():
    label = recipe.label_sentences(front_end(), "The cat got away.")[0]
    with pytest.raises(ValueError, match=r"U\+0261"):
        speak(FakeTeacher(VOCABULARY.replace("ɡ", "g")), "x", label, 1.0)  # ASCII g is another character


def test_prompts_get_the_mark_they_lack():
    assert finished("He said, ") == "He said."
    assert finished('"Why?"') == '"Why?"'
    assert finished("Yes") == "Yes."


def test_short_prompts_are_many_kinds_and_reproducible():
    texts = short_prompts(TEXTS, 300, seed=3)
    assert texts == short_prompts(TEXTS, 300, seed=3)
    assert len(set(texts)) == len(texts) >= 250
    assert all(text[-1] in ".?!" for text in texts)
    assert any(character.isdigit() for text in texts for character in text)
    assert sum(len(text.split()) <= 4 for text in texts) > len(texts) / 2


def test_durations_of_the_teacher_are_merged_to_our_symbols():
    symbols = ["sil", "K", "AE1", "T", ",", "S", "."]
    text_owners = [1, 2, 2, 3, 4, -1, 5, 6]  # k ˈ æ t , space s .
    frames = [10, 2, 1, 3, 2, 4, 2, 3, 1, 6]
    merged = merge_durations(frames, text_owners, symbols)
    assert merged.tolist() == [250.0, 50.0, 100.0, 50.0, 150.0, 75.0, 175.0]
    assert merged.sum() == sum(frames) * 25
    split = merge_durations([1, 2, 1, 2, 1], [1, -1, 2], ["sil", "K", "T", "."])
    assert split.tolist() == [25.0, 62.5, 62.5, 25.0]
    with pytest.raises(ValueError, match="pads"):
        merge_durations([1, 2], [1], symbols)
