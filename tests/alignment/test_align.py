"""Speech with known times is aligned: at any rate, of any length, and not when the text is another."""

from dataclasses import replace

import numpy as np
import pytest

import deepvoice
from deepvoice import alignment
from deepvoice.alignment import aligner as aligner_module
from deepvoice.alignment import long as long_module
from deepvoice.alignment.formats import ctm
from deepvoice.alignment.stream import read_scores
from deepvoice.audio.resample import resample
from deepvoice.errors import AudioError, ConfigError, TextError
from deepvoice.text.user_lexicon import UserLexicon

TEXT = "He read the record of forty two years ago. Please enter your password, and press the key."


@pytest.fixture(scope="module")
def spoken():
    """Speech of TEXT by the voice of the package, with its times."""
    return deepvoice.load().speak(TEXT)


def far_off(found, spoken):
    """Return the share of words that begin more than 50 ms from where they were spoken."""
    assert [word.text for word in found.words] == [word.text for word in spoken.words]
    return np.mean([abs(a.start - b.start) > 0.05 for a, b in zip(found.words, spoken.words, strict=True)])


@pytest.fixture(scope="module")
def found(aligner, spoken):
    return alignment.align(spoken.samples, TEXT, sample_rate=spoken.sample_rate, aligner=aligner)


def test_words_are_found_where_they_were_spoken(found, spoken):
    assert far_off(found, spoken) <= 0.15
    assert found.confidence > 0.8
    assert sum(word.read for word in found.words) >= len(found.words) - 1


def test_phones_cover_the_recording_and_belong_to_words(found, spoken):
    assert found.phones[0].start == 0
    assert found.phones[-1].end == pytest.approx(len(spoken.samples) / spoken.sample_rate, abs=0.006)
    for before, after in zip(found.phones, found.phones[1:], strict=False):
        assert before.end == after.start and before.start < before.end
    for index, word in enumerate(found.words):
        inside = found.phones[slice(*word.phones)]
        assert {phone.word for phone in inside} == {index}
        assert (inside[0].start, inside[-1].end) == (word.start, word.end)
        assert 0 <= word.confidence <= 1
    assert all(phone.goodness <= 0 and 0 <= phone.confidence <= 1 for phone in found.phones)
    assert [TEXT[slice(*word.span)] for word in found.words[:3]] == ["He", "read", "the"]
    assert len(found.sentences) == 2


def test_the_heteronym_that_was_spoken_is_heard(found, spoken):
    said = [p.symbol.rstrip("012") for p in spoken.phones if p.word == 3]  # "record", the noun
    assert [p.symbol.rstrip("012") for p in found.phones[slice(*found.words[3].phones)]] == said


@pytest.mark.parametrize(("rate", "channels"), [(8000, 1), (16000, 1), (44100, 2)])
def test_any_rate_and_number_of_channels(aligner, spoken, rate, channels):
    samples = resample(spoken.samples, spoken.sample_rate, rate)
    samples = samples if channels == 1 else np.stack([samples, np.zeros_like(samples)], axis=1)
    assert far_off(aligner.align(samples, rate, TEXT), spoken) <= 0.3


def test_another_text_is_not_accepted(aligner, spoken):
    wrong = aligner.align(
        spoken.samples, spoken.sample_rate, "Nobody expected seven purple elephants in the garden of the museum."
    )
    assert not wrong.accepted and wrong.confidence < 0.5
    assert "does not say the text" in wrong.reasons[0]
    assert len(wrong.unread) >= 5


def test_a_word_that_was_not_read_is_named(aligner, spoken):
    changed = aligner.align(spoken.samples, spoken.sample_rate, TEXT.replace("password", "umbrella"))
    assert "umbrella" in [word.text for word in changed.unread]
    assert not changed.accepted


def test_short_words_that_only_the_text_has_were_not_read(aligner, spoken):
    """A word of one or two phones fits nearly everywhere, in a frame or two of its neighbours."""
    found = []
    words = TEXT.split()
    for place in range(2, len(words), 3):
        for extra in ("in", "of", "was", "a"):
            text = " ".join([*words[:place], extra, *words[place:]])
            changed = aligner.align(spoken.samples, spoken.sample_rate, text)
            at = len(" ".join(words[:place])) + 1
            (added,) = [word for word in changed.words if word.span[0] == at]
            assert not added.read or added.end - added.start >= 0.025
            assert added.read or (added.confidence < 0.25 and "words not read" in str(changed.reasons))
            found.append(not added.read)
    assert np.mean(found) >= 0.8


def test_speech_that_is_not_in_the_text_is_found(aligner, spoken):
    half = aligner.align(spoken.samples, spoken.sample_rate, TEXT.split(". ")[1])
    assert sum(end - start for start, end in half.extra) > 0.8
    assert not half.accepted


def test_own_pronunciations_come_first(aligner):
    lexicon = UserLexicon.from_mapping({"xqzt": "K AE1 T"})
    assert [w.variants for w in aligner.transcript("Xqzt.", lexicon).words] == [(("K", "AE1", "T"),)]


def test_a_list_of_words_is_a_text(aligner):
    assert [w.text for w in aligner.transcript(["one", "cat"]).words] == ["one", "cat"]


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (np.zeros(0, np.float32), "empty"),
        (np.zeros(24000, np.float32), "silent"),
        (np.full(24000, np.nan, np.float32), "not numbers"),
        (np.zeros((2, 3, 4), np.float32), "shape"),
        (np.full(24000, 3000, np.int16), r"int16; expected floats in \[-1, 1\]"),
        (np.ones(1200, np.float32) * 0.1, "cannot hold"),
    ],
)
def test_bad_recordings_are_refused(aligner, samples, message):
    with pytest.raises(AudioError, match=message):
        aligner.align(samples, 24000, TEXT)


def test_texts_that_cannot_be_spoken_are_refused(aligner, spoken):
    for text in ("", "...", "   "):
        with pytest.raises(TextError):
            aligner.align(spoken.samples, 24000, text)


@pytest.mark.parametrize("kind", ["white", "pink", "clicks"])
@pytest.mark.parametrize("text", ["Hello.", "Please enter your password.", TEXT])
def test_noise_says_no_text(aligner, kind, text):
    random = np.random.default_rng(1)
    samples = random.standard_normal(5 * 24000)
    if kind == "pink":
        spectrum = np.fft.rfft(samples)
        samples = np.fft.irfft(spectrum / np.sqrt(np.arange(1, len(spectrum) + 1)))
    elif kind == "clicks":
        samples = samples * (random.random(len(samples)) < 0.001)
    noise = (0.3 * samples / np.abs(samples).max()).astype(np.float32)
    result = alignment.align(noise, text, sample_rate=24000, aligner=aligner)
    assert not result.accepted and result.unread
    if kind != "clicks":  # between which there is silence, and the network is sure of that
        assert result.confidence < 0.3 and result.unread == result.words


@pytest.mark.parametrize("snr", [10, 20])
def test_speech_in_noise_is_still_heard(aligner, spoken, snr):
    noise = np.random.default_rng(2).standard_normal(len(spoken.samples))
    noise *= np.std(spoken.samples) / 10 ** (snr / 20)
    result = aligner.align((spoken.samples + noise).astype(np.float32), spoken.sample_rate, TEXT)
    assert len(result.unread) <= 2 and far_off(result, spoken) < 0.2


@pytest.mark.parametrize(
    ("text", "shown"),
    [(f"{TEXT} Привет.", "'Привет'"), (f"<speak>{TEXT}</speak>", "'<speak>', '</speak>'"), (f"{TEXT} 😀", "")],
)
def test_text_without_words_is_a_reason_and_emoji_are_none(aligner, spoken, text, shown):
    result = alignment.align(spoken.samples, text, sample_rate=spoken.sample_rate, aligner=aligner)
    told = [reason for reason in result.reasons if "cannot be spoken" in reason]
    assert told == ([f"text: {shown} cannot be spoken; write what is said"] if shown else [])
    plain = alignment.align(spoken.samples, TEXT, sample_rate=spoken.sample_rate, aligner=aligner)
    assert result.accepted == (plain.accepted and not shown)


def test_paragraphs_that_are_not_in_the_text_are_one_stretch(aligner, spoken):
    others = [deepvoice.load().speak(text).samples for text in ("Nine cats sat there.", "The garden was very quiet.")]
    pause = np.zeros(12000, np.float32)
    parts = [spoken.samples, pause, others[0], pause, others[1], pause, others[0], pause, spoken.samples]
    result = aligner.align(np.concatenate(parts), spoken.sample_rate, f"{TEXT} {TEXT}")
    ((start, end),) = result.extra
    before = len(spoken.samples) / spoken.sample_rate
    after = sum(map(len, parts[:-1])) / spoken.sample_rate
    assert before - 0.2 < start < before + 0.9 and after - 0.9 < end < after + 0.4
    assert len(result.unread) <= 2  # of 34


def test_clipped_recordings_are_not_accepted(aligner, spoken):
    loud = np.clip(spoken.samples * 30, -1, 1)
    found = aligner.align(loud, spoken.sample_rate, TEXT)
    assert "clipped" in found.reasons[0] and not found.accepted


def test_a_long_recording_is_cut_and_put_together(aligner, spoken, monkeypatch):
    whole = np.concatenate(
        [spoken.samples, deepvoice.load().speak("The ferry leaves at dawn.").samples, spoken.samples]
    )
    text = f"{TEXT} The ferry leaves at dawn. {TEXT}"
    direct = aligner.align(whole, spoken.sample_rate, text)
    monkeypatch.setattr(aligner_module, "_LONG", 1)
    monkeypatch.setattr(long_module, "_SHORTEST", 200)
    monkeypatch.setattr(long_module, "_WANTED", 800)
    pieces = aligner.align(whole, spoken.sample_rate, text)
    assert [word.text for word in pieces.words] == [word.text for word in direct.words]
    differ = [abs(a.start - b.start) > 0.03 for a, b in zip(pieces.words, direct.words, strict=True)]
    assert np.mean(differ) <= 0.05
    assert pieces.seconds == pytest.approx(direct.seconds)
    for before, after in zip(pieces.phones, pieces.phones[1:], strict=False):
        assert before.end == pytest.approx(after.start, abs=1e-9)
    for index, word in enumerate(pieces.words):
        assert {phone.word for phone in pieces.phones[slice(*word.phones)]} == {index}


@pytest.mark.parametrize(
    ("seconds", "place", "noise"),
    [
        (30, 0.5, 0.0), (62, 0.0, 0.0), (62, 0.5, 1e-4), (62, 1.0, 1e-3), (110, 0.0, 0.0), (110, 0.0, 3e-3),
        (110, 0.5, 1e-4), (110, 1.0, 3e-3),
    ],
)  # fmt: skip
def test_a_pause_of_any_length_moves_words_and_changes_nothing_else(aligner, found, spoken, seconds, place, noise):
    rate = spoken.sample_rate
    word = int(place * len(found.words))  # the pause lies before this one
    cut = len(spoken.samples) if place == 1 else int(rate * found.words[word].start) if place else 0
    pause = np.random.default_rng(0).standard_normal(seconds * rate).astype(np.float32) * np.float32(noise)
    apart = aligner.align(np.concatenate([spoken.samples[:cut], pause, spoken.samples[cut:]]), rate, TEXT)
    moved = [w.start + (seconds if index >= word else 0) for index, w in enumerate(found.words)]
    late = [abs(w.start - m) for w, m in zip(apart.words, moved, strict=True)]
    assert np.mean(np.array(late) < 0.05) >= 0.9
    assert len(apart.unread) <= len(found.unread) + 1 and apart.confidence > 0.8


def test_a_loud_noise_does_not_make_a_faint_voice_a_pause(aligner, spoken, found):
    rate = spoken.sample_rate
    applause = np.random.default_rng(0).standard_normal(5 * rate).astype(np.float32) * np.float32(0.2)
    pause = np.zeros(60 * rate, np.float32)
    parts = [0.02 * spoken.samples, pause, applause, pause, spoken.samples]
    heard = aligner.align(np.concatenate(parts), rate, f"{TEXT} {TEXT}")
    later = sum(map(len, parts[:-1])) / rate
    moved = [w.start + late for late in (0, later) for w in found.words]
    assert np.mean([abs(w.start - m) < 0.05 for w, m in zip(heard.words, moved, strict=True)]) >= 0.9
    assert len(heard.unread) <= 2


def test_scores_do_not_depend_on_how_a_recording_comes(aligner, spoken):
    samples = spoken.samples
    samples = np.tile(samples, 6)  # more than what the network reads at a time
    one = read_scores(aligner._network, aligner._stack, [samples])
    many = read_scores(aligner._network, aligner._stack, np.array_split(samples, 17))
    assert np.array_equal(one.frame_FV, many.frame_FV)
    assert np.array_equal(one.energy_F, many.energy_F)
    assert np.array_equal(one.class_F, many.class_F)


def test_files_and_samples_are_aligned_alike(aligner, spoken, found, tmp_path):
    spoken.save(tmp_path / "take.wav")
    of_file = deepvoice.align(str(tmp_path / "take.wav"), TEXT.split(), aligner=aligner)
    assert [w.text for w in of_file.words] == [w.text for w in found.words]
    assert np.allclose([w.start for w in of_file.words], [w.start for w in found.words], atol=0.02)


def test_samples_need_a_rate_and_files_have_one(aligner, spoken):
    with pytest.raises(ConfigError, match="sample_rate=24000"):
        deepvoice.align(spoken.samples, TEXT, aligner=aligner)
    with pytest.raises(ConfigError, match="a file has its own"):
        deepvoice.align("take.wav", TEXT, sample_rate=16000, aligner=aligner)
    with pytest.raises(AudioError, match=r"missing\.wav"):
        deepvoice.align("missing.wav", TEXT, aligner=aligner)
    for text in (5, ["a", 3], None):
        with pytest.raises(TextError, match="expected a string, or its words"):
            deepvoice.align("take.wav", text, aligner=aligner)
        with pytest.raises(TextError, match="expected a string, or its words"):
            deepvoice.align(spoken.samples, text, sample_rate=spoken.sample_rate, aligner=aligner)


def test_a_ctm_has_six_columns_whatever_the_words_are(aligner):
    speech = deepvoice.load().speak("The PBX rings.")
    found = aligner.align(speech.samples, speech.sample_rate, "The PBX rings.")
    assert "p b x" in [word.text for word in found.words]
    rows = [line.split(" ") for line in ctm(found, "my take").splitlines()]
    assert [(row[0], row[1], row[4]) for row in rows] == [("my_take", "1", w) for w in ("the", "p_b_x", "rings")]
    assert all(len(row) == 6 for row in rows)


def test_no_word_of_a_ctm_ends_after_the_next_begins(found):
    rows = [line.split() for line in ctm(found, "take").splitlines()]
    starts, ends = [round(1000 * float(r[2])) for r in rows], [round(1000 * (float(r[2]) + float(r[3]))) for r in rows]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    read = [word for word in found.words if word.read]
    assert ends == [round(1000 * word.end) for word in read]
    third = replace(found, words=tuple(replace(read[0], start=s, end=e) for s, e in ((0.1006, 0.2014), (0.2014, 0.3))))
    assert [line.split()[2:4] for line in ctm(third, "take").splitlines()] == [["0.101", "0.100"], ["0.201", "0.099"]]
