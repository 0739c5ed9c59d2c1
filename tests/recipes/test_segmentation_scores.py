"""Scoring of alignments and of what is heard without a transcript."""

import itertools
import json

import numpy as np
import pytest
import soundfile

pytest.importorskip("torch")
pytest.importorskip("pyworld")

from deepvoice.audio.mel import MelSpec
from deepvoice.networks.segmentation import SegmentationScores
from deepvoice.recipes.common.features import build_cache
from deepvoice.recipes.segmentation import evaluate, recognise
from deepvoice.recipes.segmentation.corpus import base_ids, open_corpus, whole_durations
from deepvoice.text.phones import BASE_IDS, BASES

SYMBOLS = "sil K AA1 S M .".split()


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    """Twenty recordings of noise, half a second each, between silence."""
    folder = tmp_path_factory.mktemp("corpus")
    random = np.random.default_rng(0)
    rows = []
    for number in range(20):
        samples = np.zeros(24000, np.float32)
        samples[6000:18000] = 0.1 * random.standard_normal(12000)
        soundfile.write(folder / f"u{number:02d}.wav", samples, 24000)
        rows.append(
            {"id": f"u{number:02d}", "audio": f"u{number:02d}.wav", "text": "x", "speed": 1.0,
             "phones": " ".join(SYMBOLS), "word_of": [-1, 0, 0, 0, 0, -1], "words": ["x"], "seconds": 1.0}
        )  # fmt: skip
    path = folder / "manifest.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    build_cache(path, folder / "features", MelSpec())
    return path


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def printed(capsys):
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def alignment(opened, shift=0):
    """The same boundaries for every held-out recording, `shift` frames later."""
    cuts = np.array([50.0, 80.0, 100.0, 130.0, 150.0]) + shift
    rows = (*opened.rows.dev, *opened.rows.test)
    return [
        {"id": row["id"], "durations": whole_durations(cuts, opened.cache.frames(row["id"])).tolist()} for row in rows
    ]


def test_scoring_removes_a_common_offset_and_cuts_pauses_off_the_truth(manifest, tmp_path, capsys):
    opened = open_corpus(manifest)
    ours = write_rows(tmp_path / "ours.jsonl", alignment(opened))
    later = write_rows(tmp_path / "later.jsonl", alignment(opened, 4))
    # the truth lags by 50 ms, and gives 100 ms of the closing silence to the last phone
    truth = [{"id": row["id"], "durations_ms": [300.0, 150.0, 100.0, 150.0, 200.0, 100.0]} for row in alignment(opened)]
    (manifest.parent / "truth").mkdir(exist_ok=True)
    write_rows(manifest.parent / "truth" / "truth.jsonl", truth)
    figures = tmp_path / "figures.json"
    arguments = [str(manifest), "--alignments", str(ours), "--beside", f"late={later}", "--json", str(figures)]
    assert evaluate.main(arguments) == 0
    lines = printed(capsys)
    assert "segmentation, raw 0.0 0.0 0.0 80.0 50.0" in lines
    assert "segmentation, less -50.0 ms 80.0 80.0 80.0 80.0 0.0" in lines
    assert "late, less -30.0 ms 80.0 80.0 80.0 80.0 0.0" in lines
    assert lines.count("all, pauses out of the phones 100.0 100.0 100.0 100.0 0.0") == 2
    assert "from a phone to silence, pauses out 100.0 100.0 100.0 100.0 0.0" in lines
    assert json.loads(figures.read_text())["late"]["late, raw"]["median_ms"] == 30.0


def test_another_aligner_may_stand_in_the_place_of_the_truth(manifest, tmp_path, capsys):
    opened = open_corpus(manifest)
    ours = write_rows(tmp_path / "ours.jsonl", alignment(opened))
    later = write_rows(tmp_path / "later.jsonl", alignment(opened, 4))
    arguments = [str(manifest), "--alignments", str(ours), "--reference", str(later)]
    assert evaluate.main(arguments) == 0
    assert "segmentation, raw 0.0 100.0 100.0 100.0 20.0" in printed(capsys)
    with pytest.raises(SystemExit):
        evaluate.main([*arguments, "--beside", "pocketsphinx"])


def test_the_truth_of_a_pause_begins_where_it_is_silent():
    energy = np.full(200, -5.0, np.float32)
    energy[100:140] = -20.0  # 65 dB below
    bases, words = base_ids("sil AA1 , S .".split()), [-1, 0, -1, 1, -1]
    truth = [100.0, 600.0, 50.0, 150.0, 100.0]  # the phone is said to last until 700 ms, 50 ms late
    low, high = evaluate.truth_spans(truth, bases, words, energy)
    assert low.tolist() == high.tolist() == [100.0, 550.0, 750.0, 900.0]
    energy[100:140] = -5.0  # no silence: the truth stays
    assert evaluate.truth_spans(truth, bases, words, energy)[0].tolist() == [100.0, 700.0, 750.0, 900.0]


def test_a_boundary_of_words_may_lie_anywhere_in_an_unmarked_pause():
    energy = np.full(200, -5.0, np.float32)
    energy[100:128] = -20.0
    bases = base_ids("sil AA1 S .".split())
    truth = [100.0, 600.0, 200.0, 100.0]
    low, high = evaluate.truth_spans(truth, bases, [-1, 0, 1, -1], energy)
    assert (low.tolist(), high.tolist()) == ([100.0, 550.0, 900.0], [100.0, 690.0, 900.0])
    low, high = evaluate.truth_spans(truth, bases, [-1, 0, 0, -1], energy)  # within a word silence is a phone's own
    assert low.tolist() == high.tolist() == [100.0, 700.0, 900.0]


def scores_of(phones, steps_each=5, wrong=()):
    """Scores that say a line of phones clearly, except for boundaries listed as `wrong`, which hardly say anything."""
    V, T = len(BASES), steps_each * len(phones)
    ids = [BASE_IDS[phone] for phone in phones]
    frame = np.full((T, V), -8.0, np.float32)
    left, right = np.full((T, V), np.log(1 / V), np.float32), np.full((T, V), np.log(1 / V), np.float32)
    boundary = np.full(T, -6.0, np.float32)
    for i, phone in enumerate(ids):
        frame[i * steps_each : (i + 1) * steps_each, phone] = -0.1
        if i:
            t = i * steps_each
            sure = 0.5 if i in wrong else 8.0
            left[t], right[t], boundary[t] = -9.0, -9.0, sure
            left[t, ids[i - 1]] = right[t, phone] = -0.01
    return SegmentationScores(left_TV=left, right_TV=right, boundary_T=boundary, frame_FV=np.repeat(frame, 2, axis=0))


def test_both_decoders_read_a_clear_line():
    phones = ["sil", "K", "AA", "S", "S", "M", "."]
    meant = [BASE_IDS[phone] for phone in ("sil", "K", "AA", "S", "S", "M", "sil")]
    scores = scores_of(phones)
    assert recognise.viterbi_phones(scores, 2, 0.5).tolist() == meant
    assert recognise.greedy_pairs(scores) == recognise.pairs_of(np.array(meant))


def test_a_chain_of_pairs_mends_what_a_single_pair_leaves_open():
    phones = ["sil", "K", "AA", "S", "M", "."]
    scores = scores_of(phones, wrong=(3,))
    scores.left_TV[15] = -9.0
    scores.left_TV[15, BASE_IDS["T"]] = np.log(0.4)  # the wrong phone is likelier at this boundary alone
    scores.left_TV[15, BASE_IDS["AA"]] = np.log(0.3)
    assert recognise.viterbi_phones(scores, 2, 0.5).tolist() == [
        BASE_IDS[p] for p in ("sil", "K", "AA", "S", "M", "sil")
    ]
    assert (BASE_IDS["T"], BASE_IDS["S"]) in recognise.greedy_pairs(scores)


def test_pauses_are_left_out_of_pairs_as_of_phones():
    phones = np.array([0, 16, 32, 0, 23, 0])
    assert recognise.phones_without_pauses(phones).tolist() == [0, 16, 32, 23, 0]
    pairs = recognise.pairs_of(phones)
    assert recognise.pairs_without_pauses(pairs) == recognise.pairs_of(recognise.phones_without_pauses(phones))


def test_edit_distance_agrees_with_a_search():
    def slow(a, b):
        if not a or not b:
            return len(a) + len(b)
        return min(slow(a[1:], b) + 1, slow(a, b[1:]) + 1, slow(a[1:], b[1:]) + (a[0] != b[0]))

    for size_a, size_b in itertools.product(range(4), range(4)):
        for a in itertools.product("xy", repeat=size_a):
            for b in itertools.product("xy", repeat=size_b):
                assert recognise.distance(a, b) == slow(a, b)
