"""Tables and a picture of what `deepvoice bench` measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Data = dict[str, Any]
Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]  # title, head, rows
_LOOPS = {"naive": "naive PyTorch", "cached": "PyTorch, cached", "compiled": "torch.compile"}


def tables(result: Data) -> list[Table]:
    """Return everything measured as tables of text."""
    builders = (_whole, _process, _inner, _limits, _paper, _layers)
    return [table for builder in builders if (table := builder(result)) is not None]


def text(result: Data) -> str:
    """Lay the tables out for a terminal."""
    parts = []
    for title, head, rows in tables(result):
        widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
            for row in (head, *rows)
        ]
        parts.append("\n".join([title, "-" * len(title), *(line.rstrip() for line in lines)]))
    return "\n\n".join(parts)


def markdown(result: Data) -> str:
    """Lay the tables out for a README."""
    parts = []
    for title, head, rows in tables(result):
        lines = [f"**{title}**", "", _row(head), _row(["---", *["---:"] * (len(head) - 1)]), *map(_row, rows)]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def plot(result: Data, path: Path) -> None:
    """Draw the multiples of real time of all ways to run the inner loop. Raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    bars = [("numpy", result["inner"]["numpy_x"], None)] if "inner" in result else []
    loops = result.get("torch", {})
    bars += [(name, loops[key]["x"], None) for key, name in _LOOPS.items() if key in loops]
    for row in result.get("inner", {}).get("rows", []):
        name = f"{row['isa']} {row['precision']}" + (f", {row['streams']} streams" if row["streams"] > 1 else "")
        bars.append((name, row["x"], row["limit"]))
    bars.sort(key=lambda bar: bar[1])
    figure, axes = pyplot.subplots(figsize=(8, 0.28 * len(bars) + 1), layout="constrained")
    axes.barh([bar[0] for bar in bars], [bar[1] for bar in bars], color="#4878a8")
    for i, (_, _, limit) in enumerate(bars):
        if limit is not None:
            axes.plot([limit, limit], [i - 0.4, i + 0.4], color="#c44e52", linewidth=2)
    axes.set_xscale("log")
    axes.set_xlabel("seconds of sound for a second of one core; red: limit of the machine")
    axes.tick_params(axis="y", labelsize=7)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _x(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.3f}"


def _whole(result: Data) -> Table | None:
    if "whole" not in result:
        return None
    rows = [
        (
            f"deepvoice, {row['isa']}, {row.get('precision', '')}".rstrip(", "),
            _x(row["one"]["x"]),
            _x(row["many"]["x"]) if "many" in row else "",
            f"{row['one']['first_ms']:.0f} ms",
            f"{row['mb']:.0f} MB" if row.get("mb") else "",
        )
        for row in result["whole"]
    ]
    rows += [(name, _x(peer["x"]), "", "", "") for name, peer in result.get("peers", {}).items()]
    head = ("text to samples, one core", "one by one", "side by side", "first sound", "peak memory")
    return "Multiples of real time, median of the sentences", head, rows


def _process(result: Data) -> Table | None:
    if "process" not in result:
        return None
    process, long = result["process"], result["process"]["long"]
    rows = [
        (
            'cold `deepvoice say "Hello world." -o a.wav`',
            f"{process['cold_seconds']:.2f} s, {process['cold_mb']:.0f} MB",
        ),
        (
            f"a text of {long['minutes']:.0f} minutes, streamed: speed of its first and second half",
            f"{_x(long['x_first_half'])}, {_x(long['x_second_half'])} times real time",
        ),
    ]
    if long["mb_end"] is not None:
        memory = f"{long['mb_first_fifth']:.0f}, {long['mb_end']:.0f} MB"
        rows.append(("its peak memory after a fifth and at the end", memory))
    return "Whole processes", ("what", "measured"), rows


def _inner(result: Data) -> Table | None:
    if "inner" not in result:
        return None
    inner, loops = result["inner"], result.get("torch") or {}
    names = [key for key in _LOOPS if key in loops]
    rows = [
        (
            f"{row['isa']}, {row['precision']}",
            str(row["streams"]),
            f"{row['error']:.0e}",
            _x(row["x"]),
            f"{100 * row['share']:.0f} % ({row['binds']})",
            _x(row["x"] / inner["numpy_x"]),
            *(_x(row["x"] / loops[key]["x"]) for key in names),
        )
        for row in inner["rows"]
    ]
    rows.append(("numpy reference", "1", "", _x(inner["numpy_x"]), "", "1", *([""] * len(names))))
    rows += [(_LOOPS[key], "1", "", _x(loops[key]["x"]), "", "", *([""] * len(names))) for key in names]
    gaps = (f"/ {_LOOPS[key]}" for key in names)
    head = ("inner loop", "streams", "error", "x real time", "of the limit", "/ numpy", *gaps)
    return "The inner loop on one core, the voice's own weights", head, rows


def _limits(result: Data) -> Table | None:
    if "inner" not in result:
        return None
    kinds = ("float32", "bfloat16", "int8")
    rows = [
        (
            limit["isa"],
            *(f"{1e-9 * limit['multiply_adds'][kind]:.0f}" if kind in limit["multiply_adds"] else "" for kind in kinds),
            f"{1e-9 * limit['read_bytes']:.0f}",
        )
        for limit in result["inner"]["limits"]
    ]
    head = ("instruction set", *(f"{kind}, 10^9 multiply-adds/s" for kind in kinds), "L2 cache, GB/s")
    return "Limits of one core, measured in the same run", head, rows


def _paper(result: Data) -> Table | None:
    if "paper" not in result:
        return None
    rows = [
        (
            "/".join(map(str, row["sizes"])),
            f"{row['isa']}, {row['precision']}",
            f"{row['streams']}{' on 2 threads' if row['threads'] == 2 else ''}",
            _x(row["x"]),
            f"{row['paper_x']}",
            _x(row["x"] / row["paper_x"]),
            "" if row["threads"] == 2 else f"{100 * row['share']:.0f} %",
        )
        for row in result["paper"]
    ]
    head = ("layers/R/S", "kernel", "streams", "x real time", "the paper, 2 threads", "ratio", "of the limit")
    return "The paper's sizes, one sample a step, 16,384 Hz, one core unless it says two threads", head, rows


def _layers(result: Data) -> Table | None:
    if "layers" not in result:
        return None
    rows = [
        (
            row["op"], row["isa"], row["precision"], f"{row['us']:.0f}", f"{row['giga_multiply_adds']:.0f}",
            f"{100 * row['share']:.0f} %", _x(row["numpy_gap"]),
        )
        for row in result["layers"]
    ]  # fmt: skip
    head = ("layer", "instruction set", "precision", "us", "10^9 multiply-adds/s", "of the limit", "/ numpy")
    return "Layers of the front-end networks", head, rows
