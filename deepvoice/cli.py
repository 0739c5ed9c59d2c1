"""The command `deepvoice`, up to the point where an interrupt can be handled by the command itself.

Loading takes a fifth of a second, in which Python would answer Ctrl-C with a traceback. So nothing is imported here
before interrupts end the process with one line.
"""

import os
import signal
import sys

INTERRUPTED = 130  # exit status, as shells report it
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run one command and return its exit status; see `deepvoice.commands.program`."""
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, end_at_once)
    except ValueError:  # signals can only be set in the main thread
        pass
    from deepvoice.commands.program import run

    return run(argv)


def end_at_once(number: int, frame: "FrameType | None") -> None:
    """Handle an interrupt when there is nothing to clean up."""
    if sys.stderr is not None:
        os.write(2, b"deepvoice: interrupted\n")
    os._exit(INTERRUPTED)
