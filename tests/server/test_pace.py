"""Streams that are far ahead let others go first."""

import asyncio
import threading

import pytest

from deepvoice.server import pace as paces
from deepvoice.server.bridge import AbandonedError, Bridge


class Clock:
    now = 100.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(paces, "time", clock)
    return clock


def bridge(limit=10.0):
    async def make():
        return Bridge(limit)

    return asyncio.run(make())


def test_need_is_measured_against_the_listener(clock):
    streams = paces.Paces()
    with streams.stream(bridge()) as ahead, streams.stream(bridge()) as new:
        ahead.spoke(3.0)
        assert ahead.ahead() == 3.0 and not ahead.is_in_need()
        assert new.is_in_need() and streams.is_any_in_need(ahead)
        assert not streams.is_any_in_need(new)
        clock.now += 2.5
        assert ahead.ahead() == 0.5 and streams.is_any_in_need(new)
    assert not streams.is_any_in_need(ahead)


def test_one_that_does_not_read_needs_nothing(clock):
    streams, stuck = paces.Paces(), bridge(1.0)
    with streams.stream(stuck) as slow, streams.stream(bridge()) as other:
        stuck.put("audio", 1.5)
        clock.now += 100
        assert not slow.is_in_need() and not streams.is_any_in_need(other)


def test_a_stream_far_ahead_rests_until_the_other_has_enough(clock):
    streams = paces.Paces()
    with streams.stream(bridge()) as rich, streams.stream(bridge()) as poor:
        went_on = threading.Event()

        def run():
            rich.spoke(60.0)
            went_on.set()

        thread = threading.Thread(target=run)
        thread.start()
        assert not went_on.wait(0.1)
        poor.spoke(5.0)
        thread.join()


def test_a_client_that_leaves_ends_the_rest(clock):
    streams, left = paces.Paces(), bridge()
    with streams.stream(left) as rich, streams.stream(bridge()):
        threading.Timer(0.05, left.abandon).start()
        with pytest.raises(AbandonedError):
            rich.spoke(60.0)
