"""The voices of a server and the threads that work for its requests.

A request waits for its turn, then has one thread of its own for the text and the encoding; the samples of all requests
come from the voice's dispatcher, whose threads compute many of them at once. The event loop only passes bytes on.
"""

import asyncio
import contextlib
import ctypes
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from starlette.types import Receive

from deepvoice import voice as voice_folders
from deepvoice.dispatch import Dispatcher
from deepvoice.machine import usable_cores
from deepvoice.pipeline import Voice
from deepvoice.server.bridge import Bridge, while_connected
from deepvoice.server.errors import ApiError, shown
from deepvoice.server.metrics import Metrics
from deepvoice.server.pace import Paces
from deepvoice.server.settings import Settings

Result = TypeVar("Result")

# Names of OpenAI's voices, so that clients with a fixed list work.
ALIASES = (
    "alloy",
    "ash",
    "ballad",
    "coral",
    "echo",
    "fable",
    "onyx",
    "nova",
    "sage",
    "shimmer",
    "verse",
    "marin",
    "cedar",
)
DEFAULT = "default"
WARM_TEXT = "Ready."
_TIDY_SECONDS = 3.0


class ServedVoice(NamedTuple):
    """A voice and what renders for it."""

    name: str
    voice: Voice
    dispatcher: Dispatcher


class Voices:
    """The voices by name. Names are looked up in this table and nowhere else: they never reach the file system."""

    def __init__(self, voices: Mapping[str, Voice]) -> None:
        """Take loaded voices; the first is the default one."""
        self.table = dict(voices)
        self.default = next(iter(self.table))

    @classmethod
    def load(cls, names: tuple[str, ...]) -> "Voices":
        """Load voices by name or folder; none named means all of the package. Raises VoiceError."""
        wanted = list(names) or [
            voice_folders.DEFAULT_VOICE,
            *(name for name in voice_folders.voice_names() if name != voice_folders.DEFAULT_VOICE),
        ]
        loaded = [Voice.load(name) for name in wanted]
        return cls({voice.name: voice for voice in loaded})


class Turns:
    """Lets a number of requests work at a time and a number of others wait, in order; the rest are refused."""

    def __init__(self, working: int, waiting: int, metrics: Metrics) -> None:
        self._free = working
        self._most_waiting = waiting
        self._queue: deque[asyncio.Future[None]] = deque()
        self._metrics = metrics
        self._working = 0
        self.worked = False  # since someone last set it to false

    @property
    def is_idle(self) -> bool:
        """Whether nobody has a place."""
        return not self._working

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold a place while the block runs; ApiError 429 when too many wait already."""
        await self.enter()
        try:
            yield
        finally:
            self.leave()

    async def enter(self) -> None:
        """Take a place, which `leave` gives back; ApiError 429 when too many wait already."""
        await self._wait()
        self._working += 1
        self.worked = True
        self._metrics.speaking.inc()

    def leave(self) -> None:
        """Give a place back."""
        self._working -= 1
        self._metrics.speaking.dec()
        self._pass_on()

    async def _wait(self) -> None:
        if self._free and not self._queue:
            self._free -= 1
            return
        if len(self._queue) >= self._most_waiting:
            seconds = str(1 + len(self._queue) // 16)
            message = f"the server is busy: {len(self._queue)} requests wait; try again in {seconds} s"
            raise ApiError(429, message, code="server_busy", headers={"retry-after": seconds})
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        self._metrics.waiting.set(len(self._queue))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # the turn came as the client left
                self._pass_on()
            with contextlib.suppress(ValueError):  # it may have been passed over already
                self._queue.remove(place)
            raise
        finally:
            self._metrics.waiting.set(len(self._queue))

    def _pass_on(self) -> None:
        while self._queue:
            place = self._queue.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._free += 1


class Engine:
    """Voices, turns and threads."""

    def __init__(self, voices: Voices, settings: Settings, metrics: Metrics) -> None:
        self.voices = voices
        self.metrics = metrics
        threads = settings.threads or usable_cores()
        self._served = {
            name: ServedVoice(name, voice, voice.dispatcher(threads, settings.slots or None))
            for name, voice in voices.table.items()
        }
        metrics.watch({name: served.dispatcher for name, served in self._served.items()})
        self.turns = Turns(settings.max_speaking, settings.max_waiting, metrics)
        self.paces = Paces()
        self.ready = False
        self._executor = ThreadPoolExecutor(settings.max_speaking, thread_name_prefix="speak")
        self._helpers = ThreadPoolExecutor(4, thread_name_prefix="help")  # short work that needs no turn

    def voice(self, name: str) -> ServedVoice:
        """Return a voice by its name or an alias; ApiError for any other string, whatever it looks like."""
        if name in self._served:
            return self._served[name]
        if name in ALIASES or name == DEFAULT:
            return self._served[self.voices.default]
        names = ", ".join((*self._served, DEFAULT, *ALIASES))
        message = f"there is no voice {shown(name)}; the voices are {names}"
        raise ApiError(400, message, param="voice", code="unknown_voice")

    def start(self, bridge: Bridge[Result], work: Callable[[Bridge[Result]], None]) -> None:
        """Begin work in a thread; the caller holds a turn, so there is one."""
        bridge.start(self._executor, work)

    async def call(self, function: Callable[[], Result]) -> Result:
        """Run something short in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._helpers, function)

    async def call_in_turn(self, function: Callable[[], Result], receive: Receive) -> Result:
        """Run something in a thread when there is a turn. Raises ClientLeftError when the client leaves before that."""
        async with while_connected(receive), self.turns.turn():
            return await self.call(function)

    async def warm(self) -> None:
        """Speak a word with each voice, so that the first request finds everything in place."""
        for served in self._served.values():
            stream = served.voice.stream(WARM_TEXT, dispatcher=served.dispatcher)
            await self.call(lambda stream=stream: sum(map(len, stream)))  # type: ignore[misc]
        self.ready = True

    async def give_memory_back(self) -> None:
        """Return memory to the system after work, for ever: the C library keeps the most that there ever was."""
        while True:
            await asyncio.sleep(_TIDY_SECONDS)
            if self.turns.worked and self.turns.is_idle:
                self.turns.worked = False
                await self.call(release_memory)

    def close(self) -> None:
        """End the threads; those that still work notice at their next piece of audio."""
        self.ready = False
        for executor in (self._executor, self._helpers):
            executor.shutdown(wait=False, cancel_futures=True)
        for served in self._served.values():
            served.dispatcher.close()


def release_memory() -> None:
    """Return what the C library keeps for later, where it is glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(ctypes.c_size_t(0))
