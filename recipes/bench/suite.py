"""The sections of `deepvoice bench`: each measures and returns plain data for JSON and tables."""

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from deepvoice import kernels
from deepvoice.kernels.bench import inner
from deepvoice.kernels.bench.inputs import PAPER_RATE, paper_shape
from deepvoice.kernels.bench.layers import measure_layers
from deepvoice.kernels.weights import WaveNetWeights, random_weights
from deepvoice.recipes.bench.sentences import SENTENCES
from deepvoice.recipes.bench.whole import both_cores, pin, two_cores

# The paper's Table 2 (Arik et al., 2017): multiples of real time on two threads of a Xeon E5-2660 v3, the better of
# float32 and int16, by layers, residual and skip channels.
PAPER = {(20, 32, 128): 2.05, (20, 64, 128): 1.2, (40, 64, 256): 0.67}
_COLD_RUNS = 5
_LONG_MINUTES = 10.0
SECTIONS = ("inner", "layers", "whole", "process", "paper", "torch", "peers")

Data = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What to measure.

    core: the processor core that everything stays on
    quick: fewer variants and sentences, shorter sounds: a check that it works rather than figures to keep
    compile: whether to time torch.compile, which takes minutes to compile
    piper: a Python with piper-tts, None for none
    say: told what comes next
    """

    voice: str | None = None
    core: int = 0
    quick: bool = False
    compile: bool = False
    piper: str | None = None
    say: Callable[[str], object] = lambda _: None


def machine(settings: Settings) -> Data:
    """Describe where this runs."""
    name = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = re.search(r"model name\s*:\s*(.+)", info.read_text(encoding="utf-8", errors="replace"))
        name = found[1] if found else name
    return {
        "processor": name,
        "cores": os.cpu_count(),
        "core": settings.core,
        "isas": kernels.supported_isas(),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def run_inner(settings: Settings) -> Data:
    """The inner loop with the voice's weights, and the numpy reference beside it."""
    weights, rate = _voice_weights(settings)
    isas = kernels.supported_isas()
    rows, limits = inner.measure(
        weights,
        sample_rate=rate,
        isas=isas[-1:] if settings.quick else isas,
        streams=(1, 8) if settings.quick else (1, 2, 4, 8, 16),
        frames=10 if settings.quick else 100,
        say=settings.say,
    )
    reference = inner.reference_seconds(weights)
    return {
        "sample_rate": rate,
        "rows": [inner.as_dict(row) for row in rows],
        "limits": [limit._asdict() for limit in limits],
        "numpy_x": 1 / (rate * reference),
    }


def run_layers(settings: Settings) -> list[Data]:
    """The ops of the front-end networks."""
    settings.say("layers")
    isas = kernels.supported_isas()
    return measure_layers(isas[-1:] if settings.quick else isas)


def run_whole(settings: Settings) -> list[Data]:
    """Text to samples: the best this machine has, then forced instruction sets."""
    isas = kernels.supported_isas()
    forced = [] if settings.quick else [isa for isa in ("avx2", "scalar") if isa in isas[:-1]]
    rows = [_whole(settings, {}, ["--many"])]
    rows += [_whole(settings, {"DEEPVOICE_CPU_ISA": isa}, ["--many"] if isa != "scalar" else []) for isa in forced]
    return rows


def run_process(settings: Settings) -> Data:
    """Whole processes: a cold `deepvoice say`, and a text of ten minutes that is streamed."""
    settings.say("cold start")
    times, memory = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "deepvoice", "say", "Hello world.", "-q", "-o", str(Path(folder) / "a.wav")]
        command += ["--voice", settings.voice] if settings.voice else []
        for _ in range(_COLD_RUNS):
            started = time.perf_counter()
            process = subprocess.Popen(command, env=_environment({}))
            _, status, usage = os.wait4(process.pid, 0)
            times.append(time.perf_counter() - started)
            memory = max(memory, usage.ru_maxrss / 1024)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise RuntimeError(f"{' '.join(command)} ended with status {process.returncode}")
    minutes = 0.5 if settings.quick else _LONG_MINUTES
    settings.say(f"a text of {minutes:g} minutes")
    streamed = _whole(settings, {}, ["--sentences", "1", "--long", str(minutes)])
    return {"cold_seconds": median(times), "cold_best_seconds": min(times), "cold_mb": memory, "long": streamed["long"]}


def run_paper(settings: Settings) -> list[Data]:
    """The paper's sizes with random weights beside the paper's figures for two threads."""
    rows = []
    for sizes, published in PAPER.items():
        settings.say(f"the paper's {'/'.join(map(str, sizes))}")
        weights = random_weights(paper_shape(*sizes))
        measured, _ = inner.measure(
            weights,
            sample_rate=PAPER_RATE,
            isas=kernels.supported_isas()[-1:],
            streams=(1,) if settings.quick else (1, 8),
            frames=10 if settings.quick else 64,
        )
        rows += [{"sizes": sizes, "paper_x": published, "threads": 1, **inner.as_dict(row)} for row in measured]
        if two_cores():
            rows += [
                {**row, "threads": 2, "x": _pair_x(replace(weights, precision=row["precision"]), settings.core)}
                for row in rows
                if row["sizes"] == sizes and row["streams"] == 1
            ]
    return rows


def _pair_x(weights: WaveNetWeights, core: int) -> float:
    with both_cores(core):
        return inner.time_pair(weights, sample_rate=PAPER_RATE)


def run_torch(settings: Settings) -> Data | None:
    """PyTorch on the same weights and core, in a process of its own; None where torch is not installed."""
    if find_spec("torch") is None:
        return None
    settings.say("PyTorch" + (" (compiling takes minutes)" if settings.compile else ""))
    arguments = ["--steps", "10" if settings.quick else "40"] + (["--compile"] if settings.compile else [])
    arguments += ["--voice", settings.voice] if settings.voice else []
    return _python(settings, ["-m", "deepvoice.recipes.bench.torch_loops", *arguments], {"OMP_NUM_THREADS": "1"})


def run_peers(settings: Settings) -> Data:
    """Other speech programs on the same sentences, each in a process of its own."""
    peers: Data = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sentences.json"
        path.write_text(json.dumps(SENTENCES[: 3 if settings.quick else None]), encoding="utf-8")
        arguments, one = [str(path), str(settings.core)], {"OMP_NUM_THREADS": "1"}
        if find_spec("hibari") is not None:
            settings.say("hibari-tts")
            peers["hibari-tts"] = _python(settings, ["-m", "deepvoice.recipes.bench.peer_hibari", *arguments], one)
        if settings.piper is not None:
            settings.say("piper")
            script = Path(__file__).with_name("peer_piper.py")
            peers["piper"] = _python(settings, [str(script), *arguments], one, program=settings.piper)
    return peers


def _voice_weights(settings: Settings) -> tuple[WaveNetWeights, int]:
    from deepvoice.networks.vocoder import wavenet_weights
    from deepvoice.voice import load_voice

    folder = load_voice(settings.voice, ("vocoder",))
    return wavenet_weights(folder.tensors["vocoder"], folder.configs["vocoder"]), folder.manifest.sample_rate


def _whole(settings: Settings, environment: dict[str, str], arguments: list[str]) -> Data:
    names = environment.get("DEEPVOICE_CPU_ISA", "the best instruction set")
    settings.say(f"text to samples: {names}")
    count = "2" if environment.get("DEEPVOICE_CPU_ISA") == "scalar" or settings.quick else "20"
    command = ["-m", "deepvoice.recipes.bench.whole", "--core", str(settings.core), "--sentences", count, *arguments]
    return _python(settings, [*command, *(["--voice", settings.voice] if settings.voice else [])], environment)


def _python(
    settings: Settings, arguments: list[str], environment: dict[str, str], program: str = sys.executable
) -> Data:
    """Run a module or script on the chosen core; returns the JSON object of its last line."""
    result = subprocess.run(
        [program, *arguments],
        capture_output=True,
        env=_environment(environment),
        check=False,
        preexec_fn=(lambda: pin(settings.core)) if hasattr(os, "sched_setaffinity") else None,
    )
    if result.returncode:
        tail = result.stderr.decode(errors="replace")[-1000:]
        raise RuntimeError(f"{' '.join(arguments)} ended with status {result.returncode}:\n{tail}")
    data: Data = json.loads(result.stdout.decode().strip().splitlines()[-1])
    return data


def _environment(changes: dict[str, str]) -> dict[str, str]:
    return {**os.environ, "PYTHONSAFEPATH": "1", **changes}


RUNNERS: dict[str, Callable[[Settings], Any]] = {
    "inner": run_inner,
    "layers": run_layers,
    "whole": run_whole,
    "process": run_process,
    "paper": run_paper,
    "torch": run_torch,
    "peers": run_peers,
}
