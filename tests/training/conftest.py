"""Processes for the tests of training: forked from one server that has imported torch, so that each costs little."""

import importlib.util
import multiprocessing
import os
import runpy
import signal
import socket
from pathlib import Path

import pytest

pytest.importorskip("torch")

PROGRAM = Path(__file__).with_name("tiny.py")


def load_tiny():
    spec = importlib.util.spec_from_file_location("tiny_training", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def tiny():
    """The module tiny.py: corpora, settings, command lines."""
    return load_tiny()


@pytest.fixture(scope="session")
def begin(tiny):
    """Start a process that performs a task of tiny.py."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(tiny.PRELOAD)

    def start(task):
        process = context.Process(target=runpy.run_path, args=(str(PROGRAM), {"TASK": task}, "task"))
        process.start()
        return process

    start({"log": os.devnull, "commands": []}).join()  # the server is there, so that a test can tell how long it takes
    return start


@pytest.fixture
def torchrun(begin):
    """Perform a task in two processes of torchrun's own agent, which starts them anew when one fails."""
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=2, max_restarts=2, run_id="test", rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0", start_method="forkserver", monitor_interval=0.05,
    )  # fmt: skip
    before = {number: signal.getsignal(number) for number in signal.valid_signals() if signal.getsignal(number)}

    def run(task):
        program = f"import runpy\ntry:\n    runpy.run_path({str(PROGRAM)!r}, {{'TASK': {task!r}}}, 'task')\n"
        elastic_launch(config, exec)(program + "except SystemExit as end:\n    assert not end.code, end.code")

    yield run
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.fixture(scope="session")
def corpora(tmp_path_factory, tiny, begin):
    """The data of all modules."""
    folder = tmp_path_factory.mktemp("corpora")
    tiny.write_corpora(folder)
    return folder


@pytest.fixture(scope="session")
def free_ports():
    """A function that returns so many free ports."""

    def find(count):
        sockets = [socket.socket() for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in sockets]
        for one in sockets:
            one.close()
        return ports

    return find
