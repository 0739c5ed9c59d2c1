"""`deepvoice serve`: the HTTP server, and with --wyoming that of Home Assistant."""

import argparse
import os
from dataclasses import MISSING, fields
from typing import Any

from deepvoice.errors import ConfigError

# The server's own threads use all cores; those of numpy's matrix products would only wait for each other (41 times real
# time instead of 59 with 16 callers on 2 cores).
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments: one for each setting."""
    from deepvoice.server.settings import Settings

    for item in fields(Settings):
        add_flag(parser, item.name, item.default, item.metadata["help"])
    parser.add_argument(
        "--ray", action="store_true", help="run as a Ray Serve deployment, on this machine or a cluster"
    )


def add_flag(parser: argparse.ArgumentParser, name: str, default: Any, text: str) -> None:
    """Declare the flag of one setting; its default is None, so that a variable of the environment can count."""
    flag = f"--{name.replace('_', '-')}"
    if default is MISSING:
        raise TypeError(f"the setting {name} has no default")
    if isinstance(default, bool):
        parser.add_argument(flag, action="store_true", default=None, help=text)
    elif isinstance(default, tuple):
        parser.add_argument(flag, action="append", metavar=name.rpartition("_")[2].upper(), help=text)
    elif name == "wyoming":
        parser.add_argument(flag, nargs="?", const="127.0.0.1:10200", metavar="HOST:PORT", help=text)
    else:
        shown = f"{text} (default: {default})" if default != "" else text
        unit = {int: "N", float: "SECONDS"}.get(type(default), name.rpartition("_")[2].upper())
        parser.add_argument(flag, type=type(default), metavar="PORT" if name == "port" else unit, help=shown)


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal comes; returns the exit status."""
    from deepvoice.server.settings import settings_from

    for variable in _ONE_THREAD:  # read when numpy is loaded, which is later
        os.environ.setdefault(variable, "1")
    flags = {name: tuple(value) if isinstance(value, list) else value for name, value in vars(arguments).items()}
    settings = settings_from(flags)
    try:
        if arguments.ray:
            from deepvoice.server.cluster import serve_on_ray

            serve_on_ray(settings)
        elif settings.workers > 1:
            from deepvoice.server.front import serve_workers

            serve_workers(settings)
        else:
            from deepvoice.server.run import serve

            serve(settings)
    except ModuleNotFoundError as error:
        if (error.name or "deepvoice").startswith("deepvoice"):
            raise
        extra = "ray" if arguments.ray else "server"
        raise ConfigError(f"{error.name} is missing; install it with: pip install 'deepvoice[{extra}]'") from None
    return 0
