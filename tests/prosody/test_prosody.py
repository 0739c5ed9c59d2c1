"""Rate, pitch, volume, emphasis, pauses and questions on the shipped voice, measured in its times and its samples."""

import numpy as np
import pytest

import deepvoice

RATE = 24000
TEXTS = (
    "Nobody knows why the captain chose the younger sailors, but the storm was close.",
    "It was a bright cold day in April.",
)


@pytest.fixture(scope="module")
def heart():
    return deepvoice.load()


@pytest.fixture(scope="module")
def plain(heart):
    return [heart.speak(text) for text in TEXTS]


def track(samples, low, high):
    """Pitch of the frames that have a clear one, by autocorrelation: middle of the frame -> Hz; low, high: Hz."""
    size = round(4.0 / low * RATE)
    window = np.hanning(size)
    of_window = np.fft.irfft(np.abs(np.fft.rfft(window, 8192)) ** 2)
    lags = slice(int(RATE / high), int(RATE / low))
    found = {}
    for middle in range(size // 2, len(samples) - size // 2, 240):
        frame = samples[middle - size // 2 :][:size]
        if np.sqrt(np.mean(frame**2)) < 0.01:
            continue
        correlation = np.fft.irfft(np.abs(np.fft.rfft((frame - frame.mean()) * window, 8192)) ** 2)
        scores = correlation[lags] / correlation[0] * of_window[0] / of_window[lags]
        best = int(np.argmax(scores > 0.9 * scores.max()))  # the shortest period that fits, not its multiple
        best += int(np.argmax(scores[best : best + 20]))
        if scores[best] > 0.8:
            found[middle // 240] = RATE / (lags.start + best)
    return found


def median_pitch(speeches):
    return float(np.median([hz for s in speeches for hz in track(s.samples, 110, 370).values()]))


def spoken_time(speech):
    return speech.words[-1].end - speech.words[0].start


@pytest.mark.parametrize("speed", [0.5, 2.0])
def test_rate_keeps_the_pitch(heart, plain, speed):
    changed = [heart.speak(text, speed=speed) for text in TEXTS]
    for before, after in zip(plain, changed, strict=True):
        assert spoken_time(after) * speed == pytest.approx(spoken_time(before), rel=0.02)
        assert len(after.samples) * speed == pytest.approx(len(before.samples), rel=0.1)
    assert median_pitch(changed) == pytest.approx(
        median_pitch(plain), rel=0.05
    )  # asked for equally; the tracker sees other frames


@pytest.mark.parametrize("semitones", [4.0, -4.0])
def test_pitch_keeps_the_rate(heart, plain, semitones):
    ratio = 2 ** (semitones / 12)
    changed = [heart.speak(text, pitch=semitones) for text in TEXTS]
    for before, after in zip(plain, changed, strict=True):
        assert [phone.samples for phone in after.phones] == [phone.samples for phone in before.phones]
        pairs = [(a.f0, b.f0) for a, b in zip(before.phones, after.phones, strict=True) if a.f0]
        assert all(high / low == pytest.approx(ratio, rel=1e-3) for low, high in pairs)
    ratios = []
    for before, after in zip(plain, changed, strict=True):
        low, high = track(before.samples, 110, 370), track(after.samples, 110 * ratio, 370 * ratio)
        ratios += [high[at] / low[at] for at in low.keys() & high.keys()]
    assert len(ratios) > 100 and np.median(ratios) == pytest.approx(ratio, rel=0.03)


@pytest.mark.parametrize("speed", [0.25, 0.6, 0.8, 1.3, 1.7, 3.0, 4.0])
def test_every_rate_takes_its_time(heart, speed):
    for text in TEXTS:
        before, after = heart.timings(text), heart.timings(text, speed=speed)
        assert spoken_time(after) * speed == pytest.approx(spoken_time(before), rel=0.03)
        assert after.phones[-1].samples[1] - after.phones[-1].samples[0] >= 0.05 * RATE


WORD = "The <prosody {}>captain</prosody> chose the younger sailors."


def word(speech, text="captain"):
    return next(w for w in speech.words if w.text == text)


def ssml(heart, inner, **options):
    return heart.speak(f"<speak>{inner}</speak>", ssml=True, **options)


def length(item):
    return item.end - item.start


@pytest.mark.parametrize(("value", "factor"), [("50%", 2.0), ("x-slow", 2.0), ("200%", 0.5), ("+25%", 0.8)])
def test_the_rate_of_a_word(heart, value, factor):
    before, after = ssml(heart, WORD.format("")), ssml(heart, WORD.format(f"rate='{value}'"))
    assert length(word(after)) / length(word(before)) == pytest.approx(factor, rel=0.15)
    assert length(word(after, "sailors")) == pytest.approx(length(word(before, "sailors")), rel=0.15)


def test_a_rate_for_everything_is_that_of_the_call(heart):
    by_ssml = ssml(heart, "<prosody rate='80%' pitch='+2st'>It was a cold day.</prosody>")
    by_call = heart.speak("It was a cold day.", speed=0.8, pitch=2)
    assert [p.samples for p in by_ssml.phones] == [p.samples for p in by_call.phones]
    assert [p.f0 for p in by_ssml.phones] == pytest.approx([p.f0 for p in by_call.phones], rel=1e-3)
    times_four = heart.timings("<speak><prosody rate='x-fast'>It was a cold day.</prosody></speak>", ssml=True, speed=4)
    assert spoken_time(times_four) * 4 == pytest.approx(spoken_time(heart.timings("It was a cold day.")), rel=0.05)


def pitch_of(speech, text):
    index = next(i for i, w in enumerate(speech.words) if w.text == text)
    f0 = [(p.f0, length(p)) for p in speech.phones if p.word == index and p.f0]
    return sum(hz * time for hz, time in f0) / sum(time for _, time in f0)


def test_the_pitch_of_a_word(heart):
    before, after = ssml(heart, WORD.format("")), ssml(heart, WORD.format("pitch='+6st'"))
    assert [p.samples for p in after.phones] == [p.samples for p in before.phones]
    assert 12 * np.log2(pitch_of(after, "captain") / pitch_of(before, "captain")) == pytest.approx(6, abs=0.7)
    assert pitch_of(after, "sailors") == pytest.approx(pitch_of(before, "sailors"), rel=0.01)


def level(speech, item):
    return float(np.sqrt(np.mean(speech.samples[slice(*item.samples)] ** 2)))


def test_the_volume_of_a_word_changes_without_a_click(heart):
    before, after = ssml(heart, WORD.format("")), ssml(heart, WORD.format("volume='-12dB'"))
    assert 20 * np.log10(level(after, word(after)) / level(before, word(before))) == pytest.approx(-12, abs=1)
    untouched = word(after, "sailors").samples[0]
    assert np.array_equal(after.samples[untouched:], before.samples[untouched:])
    ratio = after.samples / np.where(np.abs(before.samples) > 1e-4, before.samples, np.nan)
    steps = np.abs(np.diff(ratio))
    assert np.nanmax(steps) < 0.01  # of a gain that goes from 1 to 0.25
    assert not np.any(ssml(heart, "<prosody volume='silent'>Two cats.</prosody>").samples)


@pytest.mark.parametrize(("name", "least"), [("moderate", 1.05), ("strong", 1.15)])
def test_emphasis(heart, name, least):
    text = "The <emphasis level='{}'>captain</emphasis> chose the younger sailors."
    before, after = ssml(heart, text.format("none")), ssml(heart, text.format(name))
    assert length(word(after)) > least * length(word(before))
    assert max(p.f0 for p in after.phones if p.word == 1) > 1.03 * max(p.f0 for p in before.phones if p.word == 1)
    assert level(after, word(after)) > 1.05 * level(before, word(before))
    reduced = ssml(heart, text.format("reduced"))
    assert length(word(reduced)) < length(word(before)) and level(reduced, word(reduced)) < level(before, word(before))


def end_of(heart, text, **options):
    """Pitch that is asked of the vocoder in the last voiced frames of a sentence."""
    stream = heart.stream(text, **options)
    prosody = stream._prosody(stream._waiting[0])
    return float(np.median(prosody.f0_F[prosody.voiced_F][-4:]))


YES_NO = [
    "You are ready", "She is coming to the party", "He went home", "It is finished", "Is it cold", "Is it for you",
    "Did you see the new captain", "You said that you would bring the money", "Well, do you like it",
]  # fmt: skip
OTHERS = [
    "Where is the captain", "Why did he go home", "And what is that", "In which town do you live", "Who's there",
    "If it rains, where do we go", "Would you like tea or coffee", "Why",
]  # fmt: skip


@pytest.mark.parametrize("text", YES_NO)
def test_yes_no_questions_rise(heart, text):
    question, flat = heart.timings(f"{text}?"), heart.timings(f"{text}?", question_rise=False)
    assert [p.samples for p in question.phones] == [p.samples for p in flat.phones]
    end = end_of(heart, f"{text}?")
    assert 12 * np.log2(end / end_of(heart, f"{text}.")) >= 3
    assert end >= end_of(heart, f"{text}?", question_rise=False)


@pytest.mark.parametrize("text", OTHERS)
def test_other_questions_do_not(heart, text):
    question, flat = heart.timings(f"{text}?"), heart.timings(f"{text}?", question_rise=False)
    assert question.phones == flat.phones


@pytest.mark.parametrize(
    "text",
    [
        "How far away is the museum?",
        "What had they eaten?",
        "When should I water the garden?",
        "Would you like tea or coffee?",
        "Where were the children?",  # ends in a creak with a moment of voice in it
        "When did she sell the old house?",  # the last stressed vowel creaks
        "How many people live in Berlin?",
        "When did you lock the window?",  # falls steeply as the voice dies away
        "The price has gone down.",
        "The meeting was useful.",
        "The roof could hold a garden.",
        "Stop the car!",
        "No.",
    ],
)  # fmt: skip
def test_what_is_no_yes_no_question_ends_below_its_median(heart, text):
    stream = heart.stream(text)
    prosody = stream._prosody(stream._waiting[0])
    edges = np.flatnonzero(np.diff(prosody.voiced_F, prepend=False, append=False))
    spans = [slice(*edges[i : i + 2]) for i in range(0, len(edges), 2)]
    heard = np.concatenate([prosody.f0_F[span] for span in spans if span.stop - span.start >= 10])
    semitones = 12 * np.log2(heard)
    assert np.median(semitones[-20:]) <= np.median(semitones) - 1.5
    assert len(semitones) <= 40 or np.median(semitones[-26:-6]) <= np.median(semitones) - 1.5


def test_a_pitch_that_is_asked_for_at_the_end_is_kept(heart):
    plain, raised = (
        heart.timings(f"<speak>The price has gone {word}.</speak>", ssml=True)
        for word in ("down", '<prosody pitch="+4st">down</prosody>')
    )
    last, higher = ([p.f0 for p in one.phones if p.f0][-1] for one in (plain, raised))
    assert 12 * np.log2(higher / last) > 3


def test_edges_ramp_and_the_last_consonant_is_whole(heart):
    for speed in (0.5, 1.0, 2.0):
        speech = heart.speak("These are its shaping forces.", speed=speed)
        ramp = np.sin(np.arange(120) / 120 * np.pi / 2) ** 2 + 1e-6
        peak = np.abs(speech.samples).max()
        assert np.all(np.abs(speech.samples[:120]) <= peak * ramp)
        assert np.all(np.abs(speech.samples[::-1][:120]) <= peak * ramp)
        *_, last, pad = speech.phones
        assert last.symbol == "Z" and length(pad) >= 0.05
        final = speech.samples[last.samples[0] : last.samples[1]]
        spectrum = np.abs(np.fft.rfft(final * np.hanning(len(final)))) ** 2
        high = spectrum[np.fft.rfftfreq(len(final), 1 / RATE) > 4000].sum()
        assert high > 0.2 * spectrum.sum() and np.sqrt(np.mean(final**2)) > 0.002


def test_lead_in(heart):
    before, after = heart.speak("Two cats."), heart.speak("Two cats.", lead_in=0.2)
    assert np.array_equal(after.samples[4800:], before.samples) and not after.samples[:4800].any()
    assert after.words[0].start == pytest.approx(before.words[0].start + 0.2)


def test_loudness(heart):
    from deepvoice.audio.loudness import loudness

    for target in (-30.0, -20.0):
        speech = heart.speak(TEXTS[1], loudness=target)
        assert loudness(speech.samples, RATE) == pytest.approx(target, abs=0.05)
        assert speech.report.loudness == pytest.approx(target, abs=0.05)
    before = heart.speak(TEXTS[1])
    gains = speech.samples[before.samples != 0] / before.samples[before.samples != 0]
    assert gains.max() == pytest.approx(gains.min(), rel=1e-4)  # one gain
    loud = heart.speak(TEXTS[1], loudness=-5.0)
    assert np.abs(loud.samples).max() <= 10 ** (-1 / 20) + 1e-6 and loud.report.loudness < -5
    assert np.array_equal(np.concatenate(list(heart.stream(TEXTS[1], loudness=-20.0))), speech.samples)
