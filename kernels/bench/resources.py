"""Compile every CUDA kernel for every card and report its registers, shared memory and spills.

    python -m deepvoice.kernels.bench.resources --json build/cuda/report.json

needs nvcc, but no device. It returns 1 when a kernel spills: registers that go to memory inside a persistent kernel
cost more than the kernel saves. `make cuda` runs it, and `tests/kernels/cuda/test_cuda_resources.py` reads the report.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path

from deepvoice.errors import ConfigError

CAPABILITIES = (75, 80, 89, 90)
SOURCES = Path(__file__).resolve().parents[1] / "cuda"  # in a checkout only
_EMULATION_ONLY = {"emulation_demo.cu"}
_ENTRY = re.compile(r"Compiling entry function '(\S+)' for 'sm_(\d+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What one kernel takes on one kind of card; sizes in bytes."""

    kernel: str
    capability: int
    registers: int  # of a thread
    stack: int
    spill_stores: int
    spill_loads: int
    shared: int  # static; what a launch asks for comes on top

    @property
    def spills(self) -> bool:
        """Whether registers go to memory."""
        return self.spill_stores + self.spill_loads > 0


def find_nvcc(named: str | None = None) -> Path:
    """Return the path of nvcc: the one named, of CUDACXX, on PATH, or in /usr/local/cuda*.

    Raises ConfigError when there is none.
    """
    installed = sorted(Path("/usr/local").glob("cuda*/bin/nvcc"), reverse=True)
    for candidate in (named, os.environ.get("CUDACXX"), shutil.which("nvcc"), *installed):
        if candidate and Path(candidate).is_file():
            return Path(candidate)
    raise ConfigError(
        f"nvcc is {named or 'missing'}: install the CUDA toolkit (12 or newer), or the PyPI packages that .ci/run "
        "names, and pass --nvcc PATH or set CUDACXX"
    )


def parse(report: str) -> list[Resources]:
    """Read what `ptxas -v` printed. Raises ConfigError when a kernel has no figures."""
    found = []
    entries = list(_ENTRY.finditer(report))
    for entry, after in zip_longest(entries, entries[1:]):
        body = report[entry.end() : after.start() if after else len(report)]
        spills, used, shared = _SPILLS.search(body), _USED.search(body), _SHARED.search(body)
        if spills is None or used is None:
            raise ConfigError(f"nvcc said nothing of the registers of {entry[1]}; expected what ptxas -v prints")
        found.append(
            Resources(
                kernel=entry[1],
                capability=int(entry[2]),
                registers=int(used[1]),
                stack=int(spills[1]),
                spill_stores=int(spills[2]),
                spill_loads=int(spills[3]),
                shared=int(shared[1]) if shared else 0,
            )
        )
    return found


def compile_one(nvcc: Path, source: Path, capability: int) -> list[Resources]:
    """Compile a source for one kind of card. Raises ConfigError with the compiler's words when that fails."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(nvcc), "-std=c++17", "-O3", "-fmad=false", "-Xptxas", "-v", "-cubin", f"-arch=sm_{capability}"]
        command += ["-o", f"{folder}/kernel.cubin", str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConfigError(f"{source.name} does not compile for sm_{capability}:\n{done.stderr}")
    return parse(done.stderr)


def compile_all(nvcc: Path, jobs: int) -> Iterator[Resources]:
    """Compile every source for every kind of card, several at a time."""
    sources = sorted(path for path in SOURCES.glob("*.cu") if path.name not in _EMULATION_ONLY)
    if not sources:
        raise ConfigError(f"there are no CUDA sources in {SOURCES}; run this in a checkout")
    # Those that take longest first, so that none is left over at the end.
    work = sorted(((path, c) for path in sources for c in CAPABILITIES), key=lambda item: -item[0].stat().st_size)
    with ThreadPoolExecutor(jobs) as pool:
        for kernels in pool.map(lambda item: compile_one(nvcc, *item), work):
            yield from kernels


def demangled(names: Sequence[str]) -> list[str]:
    """Return readable names, where c++filt is there."""
    program = shutil.which("c++filt")
    if program is None or not names:
        return list(names)
    done = subprocess.run([program], input="\n".join(names), capture_output=True, text=True, check=True)
    return [
        re.sub(r"\(anonymous namespace\)::|dv::cuda::|^void |\(dv.*$|\(\(anonymous.*$", "", line)
        for line in done.stdout.splitlines()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table and write the report; returns 1 when a kernel spills."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nvcc", help="path of the compiler")
    parser.add_argument("--json", type=Path, help="write the report to this file")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="compilers at a time")
    options = parser.parse_args(arguments)
    try:
        nvcc = find_nvcc(options.nvcc)
        kernels = list(compile_all(nvcc, max(1, options.jobs)))
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    names = demangled([kernel.kernel for kernel in kernels])
    rows = [{**asdict(kernel), "kernel": name} for kernel, name in zip(kernels, names, strict=True)]
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"nvcc": str(nvcc), "kernels": rows}, indent=1) + "\n")
    for row in sorted(rows, key=lambda row: (str(row["kernel"]), str(row["capability"]))):
        spilled = f"  SPILLS {row['spill_stores']} + {row['spill_loads']} bytes"
        spill = spilled if row["spill_stores"] or row["spill_loads"] else ""
        print(f"sm_{row['capability']}  {row['registers']:>4} registers  {row['kernel']}{spill}")
    spilling = sum(kernel.spills for kernel in kernels)
    print(f"{len(kernels)} kernels, {spilling} of them spill")
    return 1 if spilling else 0


if __name__ == "__main__":
    raise SystemExit(main())
