"""Run a suite on a simulated machine into a store.

The simulator itself is Rust; this module puts together what it needs: the resolved system, the suite, and the
manifest that says what was run on what.
"""

import json
import weakref
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias

from pcielab import _core
from pcielab.library.profiles import ResolvedSystem, load_system, resolve
from pcielab.library.profiles.system import changed_title
from pcielab.library.suites import MessageSuite, Suite, load_suite
from pcielab.model import MessageProfile
from pcielab.run.running import (
    Progress,
    Samples,
    check_outputs,
    check_seed,
    kept_when_interrupted,
    no_progress,
    run,
    this_computer,
)
from pcielab.store import Store, open_store

Engine: TypeAlias = Literal["fast", "reference"]


def _described(system: ResolvedSystem) -> dict[str, Any]:
    return {"system": json.loads(system.to_json()), "overrides": system.overrides}


def simulate(
    system: ResolvedSystem | str,
    suite: Suite | str,
    output: Path | str | None = None,
    *,
    samples: Samples = "adaptive",
    engine: Engine = "fast",
    seed: int = 1,
    jobs: int = 0,
    resume: bool = False,
    repeat_damaged: bool = False,
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> Store:
    """Run `suite` on `system` into a new store at `output`, and open it.

    Args:
        system: What to simulate, or the name of it; see `pcielab.load_system`.
        suite: Which tests, or the name of a suite; see `pcielab.library.suites.load_suite` and `single_test`.
        output: Path of the store; without it, one that is gone when nobody uses what is returned any more.
        samples: All transactions that the tests ask for, or as many as stable answers need.
        engine: What simulates bandwidth tests. Both give the same numbers; the reference is slower and simpler.
        seed: Names the run: the same version, system, suite and seed give the same numbers.
        jobs: Tests simulated side by side; 0 for as many as there are cores. Does not change any number.
        resume: Go on with the store that is there, if one is.
        repeat_damaged: With `resume`, do tests again whose numbers are damaged.
        overwrite: Replace the store that is there, if one is.
        progress: Called after every test and every tenth of a second; an exception stops the run.

    Raises:
        InputError: The system or suite cannot be run, or the output exists or cannot be written.
        RunError: The run failed, or was stopped (`StoppedError`); what was finished is in the store.
    """
    system = load_system(system) if isinstance(system, str) else system
    suite = load_suite(suite) if isinstance(suite, str) else suite
    folder = None if output is not None else TemporaryDirectory(prefix="pcielab-")
    place = Path(folder.name) / "run.db" if folder is not None else Path(str(output))
    run(
        _core.Backend.simulated(system.to_json(), samples=samples, engine=engine),
        suite,
        place,
        title=f"{system.title}, suite {suite.name}",
        described=_described(system),
        samples=samples,
        seed=seed,
        jobs=jobs,
        resume=resume,
        repeat_damaged=repeat_damaged,
        overwrite=overwrite,
        progress=progress,
    )
    store = open_store(place)
    if folder is not None:
        weakref.finalize(store, folder.cleanup)
    return store


def simulate_messages(
    profile: MessageProfile,
    suite: MessageSuite,
    output: Path | str,
    *,
    sets: Sequence[str] = (),
    seed: int = 1,
    resume: bool = False,
    repeat_damaged: bool = False,
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> None:
    """Run a suite of messages on the system of `profile` into a new store at `output`.

    Args:
        profile: Core and device; see `pcielab.model.load_message_profile`.
        suite: Which tests; see `pcielab.library.suites.load_message_suite`.
        output: Path of the store.
        sets: Changes to the profile's system, as `host.root_complex.read_ns=300`.
        seed: Names the run.
        resume: Go on with the store that is there, if one is.
        repeat_damaged: With `resume`, do tests again whose numbers are damaged.
        overwrite: Replace the store that is there, if one is.
        progress: Called after every test and every tenth of a second; an exception stops the run.

    Raises:
        InputError: The system or suite cannot be run, or the output exists or cannot be written.
        RunError: The run failed, or was stopped (`StoppedError`); what was finished is in the store.
    """
    check_seed(seed)
    check_outputs(resume=resume, repeat_damaged=repeat_damaged, overwrite=overwrite)
    system = resolve(profile.system, sets)
    title = changed_title(profile.system, profile.title, system.overrides)
    manifest = {
        "origin": "simulated",
        "version": _core.__version__,
        "title": f"{title}, suite {suite.name}",
        **_described(system),
        "seed": seed,
        **this_computer(),
        "messages": profile.as_question(),
    }
    with kept_when_interrupted(output):
        _core.run_messages(
            output,
            system.to_json(),
            json.dumps(profile.as_question()),
            suite.to_json(),
            json.dumps(manifest),
            seed=seed,
            resume=resume,
            repeat_damaged=repeat_damaged,
            overwrite=overwrite,
            progress=progress,
        )
