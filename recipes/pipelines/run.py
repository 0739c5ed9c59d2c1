"""Bring a list of items through a stage: what is finished is kept, the rest is done, what cannot be is listed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deepvoice.recipes.common.progress import progress
from deepvoice.recipes.pipelines.executors import Executor
from deepvoice.recipes.pipelines.stage import Item, Outcome, Row, Stage, finished, result_path
from deepvoice.workers import remove_unfinished


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of the items: rows in their order (None for what failed), and messages by position."""

    rows: tuple[Row | None, ...]
    errors: dict[int, str]
    done_before: int


def run_stage(
    stage: Stage,
    items: Sequence[Item],
    out: Path,
    executor: Executor,
    watch: Callable[[Outcome], None] | None = None,
) -> Result:
    """Do all items that are not finished and return everything in the order of the items.

    Two items with the same key are one piece of work. One run at a time works in `out`.

    watch: is told every outcome as it comes
    """
    keys = [stage.key(item) for item in items]
    found: dict[str, Outcome] = {}
    waiting: dict[str, Item] = {}
    for key, item in zip(keys, items, strict=True):
        row = finished(stage, key, out)
        if row is not None:
            found[key] = Outcome(key=key, row=row)
        else:
            waiting[key] = item
            result_path(stage, key, out).with_suffix(".attempts").unlink(missing_ok=True)  # a new run tries anew
    before = len(found)

    if waiting:
        for outcome in progress(executor.run(stage, waiting, out), stage.name, total=len(waiting)):
            found[outcome.key] = outcome
            if watch is not None:
                watch(outcome)
        remove_unfinished(list(out.rglob(".*.part")))  # of workers that died
    missing = [key for key in waiting if key not in found]
    if missing:
        raise RuntimeError(f"{stage.name}: {len(missing)} items came to no end; run the command again to go on")
    return Result(
        rows=tuple(found[key].row for key in keys),
        errors={number: found[key].error for number, key in enumerate(keys) if found[key].row is None},
        done_before=before,
    )
