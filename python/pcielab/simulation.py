"""Run a suite on a simulated machine into a store.

The simulator itself is Rust; this module puts together what it needs: the resolved system, the suite, and the
manifest that says what was run on what.
"""

import datetime
import json
import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pcielab import __version__, _core
from pcielab.errors import InputError, StoppedError
from pcielab.machine import changed_title
from pcielab.model import MessageProfile
from pcielab.profiles import ResolvedSystem, resolve
from pcielab.suites import MessageSuite, Suite

Samples: TypeAlias = Literal["full", "adaptive"]
Engine: TypeAlias = Literal["fast", "reference"]
Progress: TypeAlias = Callable[[int, int, str, str], None]
"""Called with the tests done, the tests in all, and family and name of the last one done."""


MOST_JOBS = 1024
"""More would only stand in each other's way: every job goes through the state of the whole suite."""


def _no_progress(_done: int, _total: int, _family: str, _name: str) -> None:
    pass


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _manifest(system: ResolvedSystem, suite: Suite | MessageSuite, seed: int) -> dict[str, Any]:
    return {
        "origin": "simulated",
        "version": __version__,
        "title": f"{system.title}, suite {suite.name}",
        "system": json.loads(system.to_json()),
        "overrides": system.overrides,
        "seed": seed,
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.node()}, {platform.machine()}, {platform.system()} {platform.release()}",
    }


def simulate(
    system: ResolvedSystem,
    suite: Suite,
    output: Path | str,
    *,
    samples: Samples = "adaptive",
    engine: Engine = "fast",
    seed: int = 1,
    jobs: int = 0,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress = _no_progress,
) -> None:
    """Run `suite` on `system` into a new store at `output`.

    Args:
        system: What to simulate; see `pcielab.profiles.resolve`.
        suite: Which tests; see `pcielab.suites.load_suite` and `single_test`.
        output: Path of the store.
        samples: All transactions that the tests ask for, or as many as stable answers need.
        engine: What simulates bandwidth tests. Both give the same numbers; the reference is slower and simpler.
        seed: Names the run: the same version, system, suite and seed give the same numbers.
        jobs: Tests simulated side by side; 0 for as many as there are cores. Does not change any number.
        resume: Go on with the store that is there, if one is.
        overwrite: Replace the store that is there, if one is.
        progress: Called after every test and every tenth of a second; an exception stops the run.

    Raises:
        InputError: The system or suite cannot be run, or the output exists or cannot be written.
        RunError: The run failed, or was stopped (`StoppedError`); what was finished is in the store.
    """
    if seed < 0 or seed >= 1 << 63:
        raise InputError(f"--seed {seed}: give a whole number from 0 to 2^63 - 1")
    if not 0 <= jobs <= MOST_JOBS:
        raise InputError(f"--jobs {jobs}: give 1 to {MOST_JOBS}, or 0 for as many as there are cores")
    if resume and overwrite:
        raise InputError("--resume and --overwrite: give one of them: a store is gone on with or replaced")
    try:
        _core.run_simulated(
            output,
            system.to_json(),
            suite.to_json(),
            json.dumps(_manifest(system, suite, seed)),
            seed=seed,
            samples=samples,
            engine=engine,
            jobs=jobs or min(available_cores(), MOST_JOBS),
            resume=resume,
            overwrite=overwrite,
            progress=progress,
        )
    except KeyboardInterrupt:
        raise StoppedError(
            f"{output}: interrupted: what is finished is kept, and --resume goes on with the rest"
        ) from None


def simulate_messages(
    profile: MessageProfile,
    suite: MessageSuite,
    output: Path | str,
    *,
    sets: Sequence[str] = (),
    seed: int = 1,
    overwrite: bool = False,
    progress: Progress = _no_progress,
) -> None:
    """Run a suite of messages on the system of `profile` into a new store at `output`.

    Args:
        profile: Core and device; see `pcielab.model.load_message_profile`.
        suite: Which tests; see `pcielab.suites.load_message_suite`.
        output: Path of the store.
        sets: Changes to the profile's system, as `host.root_complex.read_ns=300`.
        seed: Names the run.
        overwrite: Replace the store that is there, if one is.
        progress: Called after every test; an exception stops the run.

    Raises:
        InputError: The system or suite cannot be run, or the output exists or cannot be written.
        RunError: The run failed, or was stopped (`StoppedError`); what was finished is in the store.
    """
    if seed < 0 or seed >= 1 << 63:
        raise InputError(f"--seed {seed}: give a whole number from 0 to 2^63 - 1")
    system = resolve(profile.system, sets)
    manifest = _manifest(system, suite, seed)
    title = changed_title(profile.system, profile.title, system.overrides)
    manifest["title"] = f"{title}, suite {suite.name}"
    manifest["messages"] = profile.as_question()
    try:
        _core.run_simulated_messages(
            output,
            system.to_json(),
            json.dumps(profile.as_question()),
            suite.to_json(),
            json.dumps(manifest),
            seed=seed,
            overwrite=overwrite,
            progress=progress,
        )
    except KeyboardInterrupt:
        raise StoppedError(f"{output}: interrupted: what is finished is kept") from None
