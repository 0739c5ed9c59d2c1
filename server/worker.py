"""One worker process behind the front: the same app on a local socket, until its standard input closes.

python -m deepvoice.server.worker SOCKET    # settings come as JSON, the first line of standard input
"""

import asyncio
import json
import os
import sys
import threading
from dataclasses import asdict
from typing import Any

from deepvoice.errors import DeepVoiceError
from deepvoice.server.app import create_app
from deepvoice.server.engine import Voices
from deepvoice.server.logs import configure, log
from deepvoice.server.run import Server, make_server, quick_switches
from deepvoice.server.settings import Settings


def dump(settings: Settings) -> str:
    """Return settings as one line."""
    return json.dumps(asdict(settings))


def parse(line: str) -> Settings:
    """Return the settings that `dump` wrote."""
    values: dict[str, Any] = json.loads(line)
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return Settings(**values)


def main(path: str) -> int:
    """Serve on a local socket; returns the exit status."""
    settings = parse(sys.stdin.readline())
    configure(settings.log_level, settings.log_text)
    try:
        voices = Voices.load(settings.voice)
    except DeepVoiceError as error:
        log("the voices cannot be loaded", level=40, reason=str(error))
        return 1
    app = create_app(settings, voices)
    server = make_server(app, settings, app.state.server, uds=path)
    threading.Thread(target=_end_with_front, args=(server,), daemon=True).start()
    with quick_switches():
        asyncio.run(server.serve())
    return 0


def _end_with_front(server: Server) -> None:
    """Stop when the front is gone: it holds the other end of standard input and never writes a second line."""
    while os.read(sys.stdin.fileno(), 1024):
        pass
    server.should_exit = True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
