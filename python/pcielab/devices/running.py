"""`pcielab.run`: run any kind of work on any kind of device, into a store.

Each kind of device declares the work and the options that it takes; everything else is refused before anything is
written.
"""

import json
import weakref
from collections.abc import Collection, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.devices.kind import (
    OF_DEVICES,
    OF_TRANSFERS,
    Asked,
    Carrier,
    Kind,
    Option,
    Takes,
    by_options,
    messages_by_options,
)
from pcielab.devices.registry import kind_of, kinds
from pcielab.errors import refusal
from pcielab.library.catalog import load_work
from pcielab.library.profiles.part import Part
from pcielab.store import Store
from pcielab.wording import shown
from pcielab.work.options import ASKED_BY, RunOptions, Work, WorkKind
from pcielab.work.running import (
    Progress,
    available_cores,
    kept_when_interrupted,
    no_progress,
    this_computer,
)


@refuses_wrong_types
def run(
    work: Work | str,
    device: str | _core.Backend = "sim",
    output: Path | str | None = None,
    *,
    profile: Any = None,
    sets: Sequence[str] = (),
    options: RunOptions | None = None,
    progress: Progress = no_progress,
) -> Store:
    """Run work on a device, and open its store.

        run = pcielab.run("quick", profile="snb")
        run.frame[["name", "size_bytes", "bandwidth_gbps"]]

    Args:
        work: A suite (`load_suite`, `load_message_suite`, `single_test`) or its name, `Frames`, or `fabric.Flows`.
        device: As `--device` takes it, or a back end (`devices.bridged`, `devices.open_kind`).
        output: Path of the store; without it, a temporary one that goes with the last reference to the result.
        profile: A system (`load_system`) or its name; for messages, a profile of them; for a real device, its
            options as nested tables or a file.
        sets: Changes to the profile, as `host.iommu.walk_ns=300`.
        options: How to run; `RunOptions()` unless given.
        progress: Called after every test and every tenth of a second; an exception stops the run.

    Raises:
        InputError: The device does not take the work or an option, a value is wrong, or the output exists or
            cannot be written.
        RunError: The run failed, or was stopped (`StoppedError`); the store has the finished tests.
    """
    options = options or RunOptions()
    carrier = open_work(work, device, options, profile=profile, sets=sets)
    return carry_out(carrier, options, output, progress)


@refuses_wrong_types
def simulate(
    system: Any,
    suite: Work | str,
    output: Path | str | None = None,
    *,
    progress: Progress = no_progress,
    **how: Any,
) -> Store:
    """Run a suite on a simulated system or its name; arguments and errors as in `run`.

        pcielab.simulate("snb", pcielab.single_test("lat-rd", size=64)).frame["median_ns"]

    Args:
        system: The system, or its name or path.
        suite: The suite, or its name.
        output: Path of the store; without it, a temporary one.
        progress: Called after every test.
        how: Keywords of `RunOptions`.
    """
    return run(suite, output=output, profile=system, options=RunOptions(**how), progress=progress)


def carry_out(
    carrier: Carrier,
    options: RunOptions,
    output: Path | str | None = None,
    progress: Progress = no_progress,
    only: Collection[int] | None = None,
) -> Store:
    """Run a carrier of `open_work`; arguments and errors as in `run`.

    `only` are the positions of the tests to carry out, each with the history of all before it; None: all.
    """
    backend = carrier.backend
    manifest = {
        "origin": backend.origin,
        "version": _core.__version__,
        "title": carrier.title,
        **carrier.described,
        "seed": options.seed,
        **this_computer(),
    }
    how = options.to_json(options.jobs or min(available_cores(), backend.jobs_most), only)
    folder = TemporaryDirectory(prefix="pcielab-") if output is None else None
    path = Path(folder.name) / "run.db" if folder is not None else Path(str(output))
    with kept_when_interrupted(output):
        _core.run(path, backend, carrier.tests, how, json.dumps(manifest), progress)
    store = Store(path, _core.read_store(path))
    if folder is not None:
        weakref.finalize(store, folder.cleanup)
    return store


def open_work(
    work: Work | str,
    device: str | _core.Backend,
    options: RunOptions,
    *,
    profile: Any = None,
    sets: Sequence[str] = (),
) -> Carrier:
    """Prepare work on a device, ready to be run; arguments and errors as in `run`."""
    work = load_work(work) if isinstance(work, str) else work
    if not hasattr(work, "kind"):
        raise refusal(
            "wrong-type", f"work is {shown(work)}: give a suite, a test, frames or a fabric suite, or a name"
        )
    if isinstance(device, str):
        kind, address = kind_of(device)
    else:
        kind, device, address = _kind_of_backend(device), device.kind, None
    asked = Asked(device, kind, address, profile, sets, options)
    carrier = _taken(asked, work.kind).carrier(asked, work)
    most = carrier.backend.jobs_most
    if not 0 <= options.jobs <= most:
        many = f"1 to {most}" if most > 1 else f"1: {carrier.backend.kind} does one test at a time"
        raise refusal("out-of-range", f"--jobs {options.jobs}: give {many}, or 0 for one per core")
    return carrier


def _kind_of_backend(backend: _core.Backend) -> Kind:
    """Make a kind of an existing back end; refuse anything else."""
    if not isinstance(backend, _core.Backend):
        raise refusal("wrong-type", f"device is {shown(backend)}: give the name of a device, or a back end")
    work: WorkKind = backend.takes
    is_real = work == "messages" and backend.origin != "simulated"
    options = OF_TRANSFERS - OF_DEVICES if work == "transfers" else frozenset()
    takes = Takes(messages_by_options if is_real else by_options, options)
    return Kind(backend.kind, "", Part, lambda _options, _address: backend, lambda: [], {work: takes})


def _taken(asked: Asked, work: WorkKind) -> Takes:
    """How a device takes a kind of work; refuses work and options that it does not take."""
    kind = asked.kind
    if work not in kind.takes:
        own = ", or ".join(ASKED_BY[one] for one in kind.takes)
        others = _either([other.as_written for other in kinds().values() if work in other.takes])
        raise refusal(
            "unsupported",
            f"--device {asked.device}: takes {' and '.join(kind.takes)}, not {work}: give it {own}; "
            f"or give --device {others}",
        )
    takes = kind.takes[work]
    for option, value in asked.given.items():
        if option not in takes.options:
            raise refusal("conflict", f"--{option} {value}: {_where_taken(option)}")
    return takes


def _where_taken(option: Option) -> str:
    """Name the work and the devices that take an option."""
    taken = [(one, work) for one in kinds().values() for work, how in one.takes.items() if option in how.options]
    works, devices = dict.fromkeys(work for _, work in taken), dict.fromkeys(one.as_written for one, _ in taken)
    return f"is for {_either(works)} on --device {_either(devices)}: leave it out"


def _either(names: Any) -> str:
    """Join names with commas, and `or` before the last."""
    *most, last = [*names] or [""]
    return f"{', '.join(most)} or {last}" if most else last
