"""Carry out sweeps: take known points from the folder, compute the others, and make one table."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pcielab.errors import refusal
from pcielab.outputs import write_file
from pcielab.store.table import column_of
from pcielab.sweeps import journal
from pcielab.sweeps.cluster import cluster_results
from pcielab.sweeps.plan import Plan, Setting
from pcielab.sweeps.point import Point, plain
from pcielab.sweeps.processes import Batch, Processes
from pcielab.sweeps.results import Results, uniform
from pcielab.work.options import Samples, check_seed
from pcielab.work.running import available_cores, kept_when_interrupted

if TYPE_CHECKING:
    import pandas as pd

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the number of points done, the number of all, and the current step."""
Numbers: TypeAlias = dict[str, Any]

TABLE = "results.parquet"
_BATCH_MOST = 32
_BATCHES_OF_A_JOB = 8


@dataclass(frozen=True)
class Work:
    """Options of carrying out a sweep.

    Attributes:
        jobs: Processes of this machine; 0 for one per core.
        dask: Address of a Dask scheduler to use instead.
        samples: All transactions of tests, or as many as the confidence interval needs.
        seed: Seed of the addresses.
    """

    jobs: int = 0
    dask: str | None = None
    samples: Samples = "adaptive"
    seed: int = 1


def no_progress(_done: int, _total: int, _step: str) -> None:
    """Report nothing."""


def open_folder(folder: Path, *, resume: bool) -> None:
    """Make the folder of a sweep, or continue one."""
    known = folder / journal.NAME
    if known.exists():
        if not resume:
            raise refusal("exists", f"{folder}: exists: give --resume to continue it, or another folder")
    elif folder.is_dir() and any(folder.iterdir()):
        raise refusal("exists", f"{folder}: exists and is not the folder of a sweep: give another one")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refusal("not-allowed", f"{folder}: cannot create it: {error.strerror}") from None


def carry_out(
    plan: Plan,
    folder: Path | None = None,
    *,
    work: Work | None = None,
    resume: bool = False,
    progress: Progress = no_progress,
) -> Results:
    """Carry out a sweep.

    Args:
        plan: The points.
        folder: The folder of results: `points.jsonl`, and at the end the table `results.parquet`; None: keep none.
        work: The options.
        resume: Continue an existing folder, without computing its points again.
        progress: Called after every batch.

    Raises:
        InputError: A point cannot be simulated, or the folder is refused.
        RunError: Workers or scheduler failed, or the sweep was stopped; finished points are in the folder.
    """
    work = work or Work()
    check_seed(work.seed)
    if work.jobs < 0:
        raise refusal("out-of-range", f"--jobs {work.jobs}: give the number of processes, or 0 for one per core")
    settings = list(plan.settings())
    points = [_point(setting, work) for setting in settings]
    with ExitStack() as stack:
        book: journal.Journal | None = None
        if folder is not None:
            open_folder(folder, resume=resume)
            book = stack.enter_context(journal.Journal(folder))
        known = dict(book.known) if book else {}
        missing = list({point.address: point for point in points if point.address not in known}.values())
        reused = sum(point.address in known for point in points)
        done = len(points) - len(missing)
        with kept_when_interrupted(folder):
            for found in _computed(missing, work):
                known.update(found)
                if book:
                    book.add(found)
                done += len(found)
                progress(done, len(points), "points")
        frame = _frame(plan, settings, [known[point.address] for point in points])
        if folder is not None:
            write_file(folder / TABLE, frame.to_parquet(index=False), overwrite=True)
    return Results(frame, plan, len(missing), reused, book.damaged if book else 0)


def _point(setting: Setting, work: Work) -> Point:
    return Point(setting.system.to_json(), setting.suite.to_json(), work.samples, work.seed)


def _computed(points: Sequence[Point], work: Work) -> Iterator[list[tuple[str, str]]]:
    """Addresses and results of points, batch by batch, in completion order."""
    if not points:
        return
    jobs = work.jobs or available_cores()
    size = max(1, min(_BATCH_MOST, len(points) // (jobs * _BATCHES_OF_A_JOB)))
    batches = [points[first : first + size] for first in range(0, len(points), size)]
    asked: Iterator[Batch] = ((number, plain(batch)) for number, batch in enumerate(batches))
    with ExitStack() as stack:
        if work.dask is not None:
            found = cluster_results(work.dask, asked)
        else:
            found = stack.enter_context(Processes(min(jobs, len(batches)))).results(asked)
        for number, results in found:
            yield [(point.address, result) for point, result in zip(batches[number], results, strict=True)]


def _frame(plan: Plan, settings: Sequence[Setting], results: Sequence[str]) -> "pd.DataFrame":
    import pandas as pd

    columns = [axis.column for axis in plan.axes]
    rows = [_row(setting.values, json.loads(result)) for setting, result in zip(settings, results, strict=True)]
    frame = pd.DataFrame.from_records(rows, columns=[*columns, *_metrics(rows, columns)])
    return uniform(frame, plan).astype({"status": "string", "message": "string", "origin": "string"})


def _row(values: Mapping[str, Any], result: Numbers) -> Numbers:
    numbers = {column_of(*named.split("|", 1)): value for named, value in result["numbers"].items()}
    head = {"origin": "simulated", "status": result["status"], "message": result["message"]}
    return {**values, **head, **numbers}


def _metrics(rows: Sequence[Numbers], columns: Sequence[str]) -> list[str]:
    """The columns after those of the axes: those of every row first, then metrics in alphabetical order."""
    head = ["origin", "status", "message"]
    metrics = {column for row in rows for column in row} - set(columns) - set(head)
    return [*head, *sorted(metrics)]
