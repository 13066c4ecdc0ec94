"""A suite on any back end into a store."""

import datetime
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pcielab import _core
from pcielab.errors import InputError, StoppedError
from pcielab.library.suites import Suite

Samples: TypeAlias = Literal["full", "adaptive"]
Progress: TypeAlias = Callable[[int, int, str, str], None]
"""Called with the tests done, the tests in all, and family and name of the last one done."""


def no_progress(_done: int, _total: int, _family: str, _name: str) -> None:
    """Tells nobody."""


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def this_computer() -> dict[str, Any]:
    """When and on which computer a run was started: what may differ between equal runs."""
    return {
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.node()}, {platform.machine()}, {platform.system()} {platform.release()}",
    }


def check_seed(seed: int) -> None:
    """Refuse what is no seed."""
    if seed < 0 or seed >= 1 << 63:
        raise InputError(f"--seed {seed}: give a whole number from 0 to 2^63 - 1")


def check_outputs(*, resume: bool, repeat_damaged: bool, overwrite: bool) -> None:
    """Refuse to continue a run and to start it anew at once, and to repair one that does not continue."""
    if resume and overwrite:
        raise InputError("--resume and --overwrite: give one of them: a run continues, or starts anew")
    if repeat_damaged and not resume:
        raise InputError("--repeat-damaged: only a run that continues is repaired: give --resume as well")


@contextmanager
def kept_when_interrupted(output: Path | str | None) -> Iterator[None]:
    """Tells of Ctrl-C that what is finished is kept in `output`; of None, that nothing is.

    Raises:
        StoppedError: The work was interrupted.
    """
    try:
        yield
    except KeyboardInterrupt:
        kept = f"{output}: interrupted: what is finished is kept, and --resume goes on with the rest"
        raise StoppedError(kept if output is not None else "interrupted") from None


def run(
    backend: _core.Backend,
    suite: Suite,
    output: Path | str,
    *,
    title: str | None = None,
    described: Mapping[str, Any] | None = None,
    samples: Samples = "adaptive",
    seed: int = 1,
    jobs: int = 0,
    resume: bool = False,
    repeat_damaged: bool = False,
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> None:
    """Run `suite` on `backend` into a new store at `output`.

    Args:
        backend: See `open_kind` and `bridged`.
        suite: Which tests; see `pcielab.library.suites.load_suite` and `single_test`.
        output: Path of the store.
        title: One line for people.
        described: What else the manifest is to say of what is run, such as the `system` that is simulated.
        samples: All transactions that the tests ask for, or as many as stable answers need.
        seed: Names the run: it decides which addresses are visited.
        jobs: Tests side by side; 0 for as many as there are cores and the back end allows.
        resume: Go on with the store that is there, if one is.
        repeat_damaged: With `resume`, do tests again whose numbers are damaged.
        overwrite: Replace the store that is there, if one is.
        progress: Called after every test and every tenth of a second; an exception stops the run.

    Raises:
        InputError: It cannot be run, or the output exists or cannot be written.
        RunError: The run failed, or was stopped (`StoppedError`); what was finished is in the store.
    """
    check_seed(seed)
    check_outputs(resume=resume, repeat_damaged=repeat_damaged, overwrite=overwrite)
    if not 0 <= jobs <= backend.jobs_most:
        many = (
            f"1 to {backend.jobs_most}" if backend.jobs_most > 1 else f"1: {backend.kind} does one test at a time"
        )
        raise InputError(f"--jobs {jobs}: give {many}, or 0 for as many as there can be")
    manifest = {
        "origin": backend.origin,
        "version": _core.__version__,
        "title": title or f"{backend.kind}, suite {suite.name}",
        **(described or {}),
        "seed": seed,
        **this_computer(),
    }
    with kept_when_interrupted(output):
        _core.run_suite(
            output,
            backend,
            suite.to_json(),
            json.dumps(manifest),
            seed=seed,
            samples=samples,
            jobs=jobs or min(available_cores(), backend.jobs_most),
            resume=resume,
            repeat_damaged=repeat_damaged,
            overwrite=overwrite,
            progress=progress,
        )
