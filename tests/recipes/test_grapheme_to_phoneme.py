import dataclasses
import gzip
import json
import math

import numpy as np
import pytest

pytest.importorskip("torch")

from deepvoice.config import from_dict
from deepvoice.configs import GraphemeToPhonemeConfig
from deepvoice.models.grapheme_to_phoneme import GraphemeToPhoneme
from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.grapheme_to_phoneme import refine, relabel
from deepvoice.recipes.grapheme_to_phoneme.align import align, fit
from deepvoice.recipes.grapheme_to_phoneme.baselines import G2pEnNetwork, LetterBaseline
from deepvoice.recipes.grapheme_to_phoneme.batches import WordBatches
from deepvoice.recipes.grapheme_to_phoneme.evaluate import main as evaluate
from deepvoice.recipes.grapheme_to_phoneme.graphones import Graphones, JointModel, compile_model, training_words
from deepvoice.recipes.grapheme_to_phoneme.graphones import main as graphones_main
from deepvoice.recipes.grapheme_to_phoneme.lexicon import read_cmudict, split_of, split_words, word_families
from deepvoice.recipes.grapheme_to_phoneme.prepare import Entry, build, read, write
from deepvoice.recipes.grapheme_to_phoneme.relabel import Channel, Teachers, choose, label, unrelated_names
from deepvoice.recipes.grapheme_to_phoneme.score import edit_distance, score
from deepvoice.recipes.grapheme_to_phoneme.teacher_lexicon import from_misaki, unrelated
from deepvoice.recipes.grapheme_to_phoneme.train import (
    ModelSettings,
    Settings,
    TrainingSettings,
    default_config,
    held_out_error,
    mirrored,
    read_mirrored,
    run,
)
from deepvoice.text.analogy import Graphones as Compiled
from deepvoice.text.phones import PHONES, base

SOUNDS = {"b": "B", "d": "D", "k": "K", "t": "T", "s": "S", "a": "AE1", "i": "IH1", "o": "AA1"}
SETTINGS = Settings(
    model=ModelSettings(letter_dim=8, encoder_layers=1, encoder_dim=12, decoder_dim=16, unit_dim=8, dropout=0.1),
    training=TrainingSettings(
        epochs=1.0, mixed=0.5, letters_per_batch=60,
        learning_rate=1e-2, weight_decay=0.0, ema=0.5, clip=1.0, forget=0.1,
        smoothing=0.0, evaluate_every=1000, seed=0,
    ),
)  # fmt: skip


def made_up_words():
    """Words that are said as they are spelled, and x for K S."""
    words = {}
    for first in "bdkts":
        for vowel in "aio":
            for last in ("b", "d", "k", "t", "s", "x", "ss"):
                said = [SOUNDS[first], SOUNDS[vowel], *(["K", "S"] if last == "x" else [SOUNDS[last[0]]])]
                words[first + vowel + last] = [tuple(said)]
    return words


def test_reads_the_dictionary_format(tmp_path):
    path = tmp_path / "cmudict.dict"
    path.write_text("cat K AE1 T\ncat(2) K AA1 T # foreign\n'bout B AW1 T\na.m. EY2 EH1 M\ndon't D OW1 N T\n\n")
    assert read_cmudict(path) == {"cat": [("K", "AE1", "T"), ("K", "AA1", "T")], "don't": [("D", "OW1", "N", "T")]}


def test_inflections_stay_on_one_side_of_the_split():
    groups = ["abandon abandons abandoned abandoning abandon's abandonment", "carry carries carried carrying",
              "stop stopped stopping stopper", "make makes making maker maker's"]  # fmt: skip
    families = word_families([word for group in groups for word in group.split()])
    assert [len({families[word] for word in group.split()}) for group in groups] == [1, 1, 1, 1]
    assert len(set(families.values())) == 4


def test_inflections_without_their_plain_form_stay_together():
    families = word_families(["abated", "abating", "zebra"])
    assert families["abated"] == families["abating"] != families["zebra"]


def test_split_is_fixed_and_about_92_4_4():
    assert [split_of(word) for word in ("cat", "zebra", "mountain")] == [
        split_of(w) for w in ("cat", "zebra", "mountain")
    ]
    counts = [sum(split_of(f"w{i}") == name for i in range(5000)) for name in ("train", "dev", "test")]
    assert counts[0] / 5000 == pytest.approx(0.92, abs=0.02)
    assert counts[1] / 5000 == pytest.approx(0.04, abs=0.01)
    assert counts[2] / 5000 == pytest.approx(0.04, abs=0.01)


def test_alignment_gives_each_letter_its_sound():
    words = made_up_words()
    pairs = [(word, said[0]) for word, said in words.items()]
    units = dict(zip(words, align(fit(pairs), pairs), strict=True))
    assert units["bax"] == ("B", "AE1", "K S")
    assert units["diss"] == ("D", "IH1", "S", "")  # the first of a double consonant carries the phone
    assert all(" ".join(filter(None, units[word])).split() == list(said[0]) for word, said in words.items())


def test_alignment_refuses_more_than_two_phones_a_letter():
    pairs = [("w", tuple("D AH1 B AH0 L Y UW0".split())), ("a", ("AH0",))]
    assert align(fit(pairs), pairs) == [None, ("AH0",)]


@pytest.mark.parametrize(
    ("text", "phones"),
    [
        ("pˈɔpəɹˌIzd", "P AO1 P ER0 AY2 Z D"),
        ("ɡɹˈɪɾiəɹ", "G R IH1 T IY0 ER0"),
        ("jˌunəfˌɔɹm", "Y UW2 N AH0 F AO2 R M"),
        ("ɑkənˈɑʔn", "AA0 K AH0 N AA1 T AH0 N"),
        ("trɑ̃", None),
        ("", None),
    ],
)
def test_teacher_notation_to_arpabet(text, phones):
    assert from_misaki(text) == (tuple(phones.split()) if phones else None)


def test_extra_words_join_training_unless_related_to_held_out_ones():
    words = made_up_words()
    splits = split_words(words)
    held = next(word for word, split in splits.items() if split != "train")
    extra = {held + "s": (*words[held][0], "S"), held: words[held][0], "zzzkat": ("K", "AE1", "T")}
    assert unrelated(extra, splits) == {"zzzkat": ("K", "AE1", "T")}
    entries, _ = build(words, {"kattida": tuple("K AE1 T IH1 D AE1".split())}, min_count=1)
    assert [entry.word for entry in entries if entry.extra] == ["kattida"]


def test_dev_words_may_join_training_but_test_words_never():
    words = made_up_words()
    splits = split_words(words)
    assert set(splits.values()) == {"train", "dev", "test"}
    (entries, units), (more, same) = build(words, min_count=1), build(words, min_count=1, with_dev=True)
    assert units == same  # a run on the one can go on with the other
    assert {entry.word: entry.split for entry in more} == {
        word: "train" if split == "dev" else split for word, split in splits.items()
    }
    assert {entry.word for entry in more if entry.units} == {word for word, split in splits.items() if split != "test"}
    assert [entry for entry in entries if splits[entry.word] != "dev"] == [
        entry for entry in more if splits[entry.word] != "dev"
    ]


def test_edit_distance_and_score():
    assert edit_distance("kitten", "sitting") == 3
    assert edit_distance((), ("B",)) == 1
    listed = [[("T", "AH0", "M", "EY1", "T", "OW2"), ("T", "AH0", "M", "AA1", "T", "OW2")], [("K", "AE1", "T")]]
    said = [("T", "AH0", "M", "AA1", "T", "OW0"), ("K", "AH1", "T")]
    assert score(listed, said).word_errors == 50.0
    assert score(listed, said).phone_errors == pytest.approx(100 / 9)
    assert score(listed, said, stress=True).word_errors == 100.0
    assert score(listed, said, first_only=True).word_errors == 100.0
    with pytest.raises(ValueError, match="1 pronunciations for 2 words"):
        score(listed, said[:1])


def test_batches_are_a_function_of_the_step_and_cover_every_word():
    entries, units = build(made_up_words(), min_count=1)
    first, second = (WordBatches(entries, units, letters_per_batch=40, seed=5) for _ in range(2))
    steps = first.steps_per_epoch
    for step in (2 * steps, 0, steps - 1, steps):
        assert all((a == b).all() for a, b in zip(first.batch(step), second.batch(step), strict=True))
    seen = [tuple(row) for step in range(steps) for row in first.batch(step).letters_BG.tolist()]
    assert len(seen) == len(set(seen)) == sum(1 for entry in entries if entry.units)


def test_prepared_data_round_trip(tmp_path):
    entries, units = build(made_up_words(), min_count=1)
    write(entries, units, tmp_path)
    assert read(tmp_path) == (entries, units)


def test_training_resumes_exactly_and_is_evaluated(tmp_path, capsys):
    entries, units = build(made_up_words(), min_count=1)
    write(entries, units, tmp_path / "data")
    whole = run(SETTINGS, tmp_path / "data", tmp_path / "whole", dev_words=0)
    assert math.isfinite(float(sum(value.sum() for value in whole.ema.values())))
    run(SETTINGS, tmp_path / "data", tmp_path / "halves", minutes=0.0, dev_words=0)  # stops at once, with a checkpoint
    halves = run(SETTINGS, tmp_path / "data", tmp_path / "halves", dev_words=0)
    assert halves.step == whole.step
    assert all(bool((halves.ema[name] == value).all()) for name, value in whole.ema.items())
    figures = tmp_path / "figures.json"
    checkpoint = tmp_path / "whole" / "last.pt"
    split = "test" if any(entry.split == "test" for entry in entries) else "dev"
    capsys.readouterr()
    (tmp_path / "graphones.bin").write_bytes(compile_model(entries, units))
    options = {"data": tmp_path / "data", "checkpoint": checkpoint, "split": split, "json": figures, "errors": 2,
               "graphones": tmp_path / "graphones.bin"}  # fmt: skip
    assert evaluate([word for name, value in options.items() for word in (f"--{name}", str(value))]) == 0
    assert "lenient PER" in capsys.readouterr().out
    rows = json.loads(figures.read_text())
    for name in ("ours, network alone", "ours, with morphology"):
        assert 0.0 <= rows[name]["lenient_wer"] <= 100.0


def test_mirrored_words_are_read_from_their_first_phone_on():
    said = (("S", "IH1", "K", "S"),)
    entry = Entry(word="six", split="train", pronunciations=said, units=(("S", "IH1", "K S"),))
    back = mirrored(entry)
    assert (back.word, back.units, back.pronunciations) == ("xis", (("K S", "IH1", "S"),), entry.pronunciations)
    units = ("", "IH1", "K S", "S")

    class Finds:
        def search(self, word):
            assert word == "xis"
            return [((2, 1, 3), -0.1), ((2, 0, 3), -3.0)]

    assert read_mirrored(Finds(), units, ["xis"]) == [("S", "IH1", "K", "S")]


def test_a_network_learns_to_read_backwards(tmp_path):
    entries, units = build(made_up_words(), min_count=1)
    write(entries, units, tmp_path / "data")
    training = dataclasses.replace(SETTINGS.training, epochs=12.0, learning_rate=0.02, evaluate_every=10, reverse=True)
    settings = dataclasses.replace(SETTINGS, training=training)
    trainer = run(settings, tmp_path / "data", tmp_path / "back", dev_words=50)
    model = GraphemeToPhoneme(from_dict(GraphemeToPhonemeConfig, load_checkpoint(tmp_path / "back/last.pt")["config"]))
    model.load_state_dict(trainer.ema)
    dev = [mirrored(entry) for entry in entries if entry.split != "train"]
    assert held_out_error(model.eval(), dev, reverse=True)["dev_per"] < held_out_error(model, dev)["dev_per"]


def test_relabelled_words_train_a_second_run(tmp_path):
    words = made_up_words()
    names = unrelated_names(["katdis", "dobbit", "kat", *words], split_words(words))
    assert names
    assert not set(names) & set(words)
    entries, units = build(words, {"kattida": tuple("K AE1 T IH1 D AE1".split())}, min_count=1)
    write(entries, units, tmp_path / "data")
    first = run(SETTINGS, tmp_path / "data", tmp_path / "first", dev_words=0)
    checkpoint = tmp_path / "first" / "last.pt"
    teachers = Teachers([checkpoint, checkpoint], units, beam=4)
    asked = ["kattida", *names]
    readings = teachers.readings(asked)
    means = teachers.mean(asked, readings)
    for row, values in zip(readings, means, strict=True):  # the same teacher twice: the mean is what each says
        assert values == pytest.approx([reading.log_probability for reading in row], abs=0.3)
    made = label(entries, units, asked, readings, means, {"kattida": tuple("K AE1 T IH1 D AE1".split())})
    assert {entry.word for entry in made} <= set(asked)
    assert all(
        entry.extra and not entry.marked and sum(entry.weights) == pytest.approx(1.0, abs=0.01) for entry in made
    )
    write([*(entry for entry in entries if not entry.extra), *made], units, tmp_path / "more")
    assert read(tmp_path / "more")[0][-len(made) :] == made
    second = run(SETTINGS, tmp_path / "more", tmp_path / "second", dev_words=0, start=checkpoint)
    assert second.step > 0
    assert any(bool((second.ema[name] != value).any()) for name, value in first.ema.items())


def test_relabel_and_graphones_commands(tmp_path, monkeypatch, capsys):
    entries, units = build(made_up_words(), {"kattida": tuple("K AE1 T IH1 D AE1".split())}, min_count=1)
    write(entries, units, tmp_path / "data")
    run(SETTINGS, tmp_path / "data", tmp_path / "first", dev_words=0)
    with gzip.open(tmp_path / "lexicon.json.gz", "wt", encoding="utf-8") as handle:
        json.dump({"kattida": "kˈætˌɪdæ", "bad": "bˈæd"}, handle)
    (tmp_path / "names").write_text("KATDIS 1.0 1.0 1\nDOBBIT 0.5 1.5 2\nX 0.1 1.6 3\n")
    monkeypatch.setattr(relabel, "find_names", lambda: [tmp_path / "names"])
    monkeypatch.setattr(relabel.teacher_lexicon, "find_files", lambda: [tmp_path / "lexicon.json.gz"])
    checkpoint = str(tmp_path / "first" / "last.pt")
    command = ["--data", str(tmp_path / "data"), "--teacher", checkpoint, "--names", "--out", str(tmp_path / "more")]
    assert relabel.main(command) == 0
    words = {entry.word for entry in read(tmp_path / "more")[0]}
    assert {entry.word for entry in entries} <= words <= {entry.word for entry in entries} | {"katdis", "dobbit"}
    assert graphones_main(["--data", str(tmp_path / "more"), "--out", str(tmp_path / "graphones.bin")]) == 0
    assert Compiled(tmp_path / "graphones.bin").order == 6
    assert "bytes" in capsys.readouterr().out


def test_variants_are_shown_by_their_weights():
    said = (("B", "AE1"), ("B", "IH1"))
    entry = Entry(word="ba", split="train", pronunciations=said, units=said, extra=True, weights=(0.9, 0.1))
    batches = WordBatches([entry], ("", "AE1", "B", "IH1"), letters_per_batch=2)
    shown = [int(batches.batch(step).units_BG[0, 1]) for step in range(400)]
    assert shown.count(1) / 400 == pytest.approx(0.9, abs=0.05)
    assert shown.count(1) + shown.count(3) == 400
    assert not batches.batch(0).extra_B.any()


def test_channel_learns_what_another_lexicon_writes():
    pairs = [("kat", ("K", "AE1", "T"), ("K", "AH0", "T"))] * 20 + [("kit", ("K", "IH1", "T"), ("K", "IH1", "T"))] * 20
    channel = Channel(pairs)
    habit = channel.log_probability("bat", ("B", "AE1", "T"), ("B", "AH1", "T"))
    assert habit > channel.log_probability("bat", ("B", "IH1", "T"), ("B", "AH1", "T"))
    assert channel.log_probability("bit", ("B", "IH1", "T"), ("B", "IH1", "T")) > habit - 1.0


def test_choose_adds_up_what_differs_by_stress_alone():
    plain_of = [0, 1, 1, 2]  # units 1 and 2 are one vowel with two stresses
    found = choose([(1,), (2,), (3,), (0,)], [math.log(0.3), math.log(0.35), math.log(0.3), math.log(0.01)], plain_of)
    assert [units for units, _ in found] == [(2,), (3,)]
    assert [share for _, share in found] == pytest.approx([0.65 / 0.95, 0.3 / 0.95])


def test_joint_model_is_a_distribution_and_prefers_what_it_saw():
    words = ["abab", "abc", "abd", "ab", "cab"]
    model = JointModel(words, order=3)
    starts = sum(math.exp(model.log_probability(sign)) for sign in "abcd")
    assert 0.0 < starts < 1.0
    assert model.log_probability("ab") > model.log_probability("ba")
    with pytest.raises(ValueError, match="order is 0"):
        JointModel(words, order=0)
    with pytest.raises(ValueError, match="no words"):
        JointModel([])


def test_compiled_graphones_say_what_the_counted_ones_do(tmp_path):
    entries, units = build(made_up_words(), min_count=1)
    graphones = Graphones(units)
    model = JointModel(training_words(entries, graphones, units))
    (tmp_path / "all.bin").write_bytes(compile_model(entries, units, threshold=-math.inf))
    (tmp_path / "few.bin").write_bytes(compile_model(entries, units))
    assert (tmp_path / "few.bin").stat().st_size < (tmp_path / "all.bin").stat().st_size
    compiled = Compiled(tmp_path / "all.bin")
    for word, said in (("bax", ("B", "AE1", "K S")), ("diss", ("D", "IH1", "S", "")), ("kot", ("K", "AA1", "T"))):
        expected = model.log_probability(graphones.encode(word, [units.index(unit) for unit in said]))
        plain = [" ".join(map(base, unit.split())) for unit in said]
        assert compiled.log_probabilities(word, [plain])[0] == pytest.approx(expected, abs=0.05 * (len(word) + 1))


def test_the_recipe_s_own_settings_are_valid():
    from deepvoice.config import load_toml

    assert load_toml(Settings, default_config()).training.epochs > 0
    assert load_toml(refine.Settings, refine.default_config()).training.likelihood > 0.0
    for path in default_config().parent.glob("*.toml"):
        if path != refine.default_config():
            assert load_toml(Settings, path).model.encoder_dim == 192, path


def test_letter_baseline_says_the_commonest_unit():
    entries, _ = build(made_up_words(), min_count=1)
    assert LetterBaseline(entries)(["bax", "q"]) == [("B", "AE1", "K", "S"), ()]


def test_g2p_en_checkpoint_layout(tmp_path):
    random, size = np.random.default_rng(0), 5
    symbols = 4 + len(PHONES) + 1
    shapes = {"enc_emb": (29, size), "dec_emb": (symbols, size), "fc_w": (symbols, size), "fc_b": (symbols,)}
    for half in ("enc", "dec"):
        shapes |= {f"{half}_w_ih": (3 * size, size), f"{half}_w_hh": (3 * size, size)}
        shapes |= {f"{half}_b_ih": (3 * size,), f"{half}_b_hh": (3 * size,)}
    np.savez(
        tmp_path / "c.npz", **{name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    )
    said = G2pEnNetwork(tmp_path / "c.npz")(["cat", "don't"])
    assert all(len(phones) <= 20 and set(phones) <= {*PHONES, "UW"} for phones in said)
