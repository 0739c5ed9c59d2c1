"""Many sentences at once: the samples of one at a time, errors where they belong, nothing left behind."""

import gc
import threading
from collections import Counter

import numpy as np
import pytest

from deepvoice.dispatch import Dispatcher
from deepvoice.errors import ConfigError, DeepVoiceError, VoiceError
from deepvoice.kernels.wavenet import Generated

TEXTS = ("The ferry leaves at dawn.", "Cats!", "Dr. Smith has 42 of them, mostly asleep, in a house by the sea.", "No?")
WAIT = 20  # seconds until a test that hangs fails


@pytest.fixture(scope="module")
def sentences(voice):
    """Arguments of `submit` for a few sentences, with the samples they should have."""
    synthesizer = voice._synthesizer
    result = []
    for number, text in enumerate(TEXTS):
        plan = synthesizer.plan(voice.phonemes(text)[0].sequence, 1.0)
        arguments = (plan, synthesizer.prosody(plan, 0.0), 7, number)
        result.append((arguments, np.concatenate(list(synthesizer.render(*arguments)))))
    return result


@pytest.fixture(params=[(1, 1), (1, 3), (2, 16)], ids=["alone", "slots", "threads"])
def dispatcher(request, voice):
    threads, slots = request.param
    with Dispatcher(voice._synthesizer, threads=threads, slots=slots) as made:
        yield made


def test_samples_are_those_of_one_sentence_at_a_time(dispatcher, sentences):
    jobs = [dispatcher.submit(*arguments, urgent=bool(i % 2)) for i, (arguments, _) in enumerate(sentences * 4)]
    for job, (_, wanted) in reversed(list(zip(jobs, sentences * 4, strict=True))):
        assert np.array_equal(np.concatenate(list(job)), wanted)
        assert list(job) == []
    stats = dispatcher.stats()
    assert (stats.busy, stats.waiting, stats.paused) == (0, 0, 0)
    assert stats.pieces == sum(size * count for size, count in stats.batches)
    assert max(size for size, _ in stats.batches) <= stats.slots == dispatcher.slots


def test_eight_threads_of_readers(dispatcher, sentences):
    found = {}

    def read(number):
        arguments, wanted = sentences[number % len(sentences)]
        found[number] = np.array_equal(np.concatenate(list(dispatcher.submit(*arguments))), wanted)

    threads = [threading.Thread(target=read, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert found == dict.fromkeys(range(8), True)


def test_a_reader_far_behind_rests_its_job(voice, sentences):
    arguments, wanted = sentences[2]
    with Dispatcher(voice._synthesizer, ahead_seconds=0.1) as dispatcher:
        slow, quick = dispatcher.submit(*arguments), dispatcher.submit(*arguments)
        assert np.array_equal(np.concatenate(list(quick)), wanted)
        assert dispatcher.stats().paused == 1
        assert slow._task.buffered < len(wanted)
        assert np.array_equal(np.concatenate(list(slow)), wanted)


class Steps:
    """A synthesizer of silence that makes a piece only when the test lets it."""

    sample_rate = 1000

    def __init__(self):
        self.allowed = threading.Semaphore(0)
        self.called = threading.Semaphore(0)  # released at the start of every call
        self.calls = []
        self.free = False
        self.error = None

    def let_go(self):
        """Make every piece at once from now on."""
        self.free = True
        self.allowed.release(100)

    def rendering(self, plan, prosody, seed, sentence):
        if plan == "broken":
            raise VoiceError("broken plan")
        return Silence(plan, sentence)

    def generate(self, pieces):
        self.calls.append([name for name, _ in pieces])
        self.called.release()
        assert self.free or self.allowed.acquire(timeout=WAIT)
        if self.error is not None and any(name == self.error for name, _ in pieces):
            raise MemoryError(self.error)
        return [Generated(np.zeros(frames, np.float32), np.zeros(frames, np.uint8), None) for _, frames in pieces]


class Silence:
    def __init__(self, name, frames):
        self.name, self.frames_left = name, frames

    def ask(self, frames):
        if self.name == "asks too much":
            raise ValueError(self.name)
        self.asked = min(frames, self.frames_left)
        return self.name, self.asked

    def take(self, made):
        if self.name == "damaged":
            raise VoiceError("not numbers")
        self.frames_left -= self.asked
        return made.samples


@pytest.fixture
def steps():
    made = Steps()
    yield made
    made.let_go()


class Plan(str):
    """The name of a sentence, with its length."""

    num_samples = 0


def submit(dispatcher, name, frames=8, urgent=True):
    plan = Plan(name)
    plan.num_samples = frames
    return dispatcher.submit(plan, None, 1, frames, urgent=urgent)


def started(steps):
    assert steps.called.acquire(timeout=WAIT)


def test_batches_take_what_waits_and_first_sounds_go_first(steps):
    with Dispatcher(steps, slots=2) as dispatcher:
        jobs = [submit(dispatcher, "a", 300)]
        started(steps)
        jobs += [
            submit(dispatcher, "later", 300, urgent=False),
            submit(dispatcher, "b", 300),
            submit(dispatcher, "c", 9),
        ]
        steps.let_go()
        assert [sum(map(len, job)) for job in jobs] == [300, 300, 300, 9]
        batches = dict(dispatcher.stats().batches)
    assert steps.calls[:3] == [["a"], ["b"], ["c"]]  # one sentence of a batch may be new
    assert "later" in steps.calls[3]  # then whoever has least to read
    assert batches == Counter(map(len, steps.calls)) and batches[2] > batches[1]


def test_sentences_that_nobody_waits_for_begin_only_when_there_is_room(steps):
    """Room is for one sentence at a time here; the order is that of the readers, and every sentence is made."""
    steps.let_go()
    with Dispatcher(steps, slots=1, ahead_seconds=0.1) as dispatcher:
        jobs = [submit(dispatcher, "first", 150)]
        jobs += [submit(dispatcher, str(number), 150, urgent=False) for number in range(6)]
        while dispatcher.stats().paused < 1:
            steps.called.acquire(timeout=WAIT)
        assert {name for names in steps.calls for name in names} == {"first"}
        assert [sum(map(len, job)) for job in reversed(jobs)] == [150] * 7
        jobs[0].cancel()
        last = submit(dispatcher, "last", 150, urgent=False)
        while dispatcher.stats().paused < 1:
            steps.called.acquire(timeout=WAIT)
        assert sum(map(len, last)) == 150


def test_errors_reach_the_sentence_they_belong_to(steps):
    steps.error = "out of memory"
    steps.let_go()
    with Dispatcher(steps) as dispatcher:
        names = ("fine", "broken", "damaged", "asks too much", "out of memory", "fine too")
        jobs = {name: submit(dispatcher, name, 40) for name in names}
        assert sum(map(len, jobs["fine"])) == sum(map(len, jobs["fine too"])) == 40
        for name, error in (("broken", VoiceError), ("damaged", VoiceError), ("asks too much", ValueError)):
            for _ in range(2):
                with pytest.raises(error, match=r"broken plan|not numbers|asks too much"):
                    next(jobs[name])
        with pytest.raises(MemoryError, match="out of memory"):
            next(jobs["out of memory"])
        assert sum(map(len, submit(dispatcher, "after", 10))) == 10
        assert dispatcher.stats().waiting == 0


def test_a_sentence_without_frames_ends(steps):
    with Dispatcher(steps) as dispatcher:
        assert list(submit(dispatcher, "empty", 0)) == []


def test_cancelling(steps):
    with Dispatcher(steps, slots=1) as dispatcher:
        running, queued = submit(dispatcher, "running", 50), submit(dispatcher, "queued", 50)
        started(steps)
        queued.cancel()
        running.cancel()  # returns at once although its piece is being made
        for job in (running, queued):
            with pytest.raises(DeepVoiceError, match="cancelled"):
                next(job)
        job = submit(dispatcher, "next", 8)
        steps.let_go()
        assert sum(map(len, job)) == 8
        job.cancel()
        assert list(job) == []
        assert steps.calls[0] == ["running"] and {*map(tuple, steps.calls[1:])} == {("next",)}


def test_a_blocked_reader_wakes_when_its_job_is_cancelled_or_the_dispatcher_closes(steps):
    dispatcher = Dispatcher(steps)
    jobs = [submit(dispatcher, str(i)) for i in range(2)]
    found = {}

    def read(i):
        try:
            next(jobs[i])
        except DeepVoiceError as error:
            found[i] = str(error)

    readers = [threading.Thread(target=read, args=(i,)) for i in range(2)]
    for reader in readers:
        reader.start()
    started(steps)
    jobs[0].cancel()
    readers[0].join(WAIT)
    assert "cancelled" in found[0]
    closing = threading.Thread(target=dispatcher.close)
    closing.start()
    readers[1].join(WAIT)
    assert "closed" in found[1]
    steps.let_go()
    closing.join(WAIT)
    assert not closing.is_alive()


def test_a_dropped_job_frees_its_slot(steps):
    with Dispatcher(steps, slots=1) as dispatcher:
        job = submit(dispatcher, "dropped", 1000)
        started(steps)
        del job
        gc.collect()
        steps.let_go()
        assert sum(map(len, submit(dispatcher, "next", 8))) == 8
        assert steps.calls[0] == ["dropped"] and {*map(tuple, steps.calls[1:])} == {("next",)}


def test_closing_ends_jobs_and_threads(steps):
    before = threading.active_count()
    dispatcher = Dispatcher(steps, threads=3)
    jobs = [submit(dispatcher, str(i), 10**9) for i in range(5)]
    started(steps)
    steps.let_go()
    assert len(next(jobs[0])) > 0
    dispatcher.close()
    dispatcher.close()
    assert threading.active_count() == before
    for job in jobs:
        with pytest.raises(DeepVoiceError, match="closed"):
            for _ in job:
                pass  # what was made before can still be read
    with pytest.raises(DeepVoiceError, match="make a new one"):
        submit(dispatcher, "late")


def test_a_forgotten_dispatcher_ends_its_threads(voice):
    before = threading.active_count()
    dispatcher = Dispatcher(voice._synthesizer, threads=2)
    assert threading.active_count() == before + 2
    del dispatcher
    gc.collect()
    assert threading.active_count() == before


def test_slow_machines_make_shorter_pieces(steps):
    dispatcher = Dispatcher(steps)
    dispatcher._engine._cost = 0.02  # seconds a frame
    steps.let_go()
    pieces = [len(piece) for piece in submit(dispatcher, "a", 50)]
    dispatcher.close()
    assert pieces[0] == 4 and sum(pieces) == 50


def test_a_program_that_forgets_to_close_still_ends(run_python, tiny_voice):
    code = """
import sys, deepvoice
from deepvoice.dispatch import Dispatcher
voice = deepvoice.load(sys.argv[1])
synthesizer = voice._synthesizer
plan = synthesizer.plan(voice.phonemes("The ferry leaves at dawn.")[0].sequence, 0.25)
dispatcher = Dispatcher(synthesizer)
jobs = [dispatcher.submit(plan, synthesizer.prosody(plan, 0.0), 1, i) for i in range(50)]
print(len(next(jobs[0])))
"""
    result = run_python("-c", code, str(tiny_voice))
    assert result.returncode == 0 and result.stderr == b"" and int(result.stdout) > 0


@pytest.mark.parametrize(
    "wrong", [{"threads": 0}, {"slots": 0}, {"slots": 1.5}, {"threads": True}, {"ahead_seconds": 0}]
)
def test_wrong_sizes(voice, wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Dispatcher(voice._synthesizer, **wrong)
