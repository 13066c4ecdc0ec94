"""Every kind of input, changed at random, is accepted or refused with an InputError.

Each kind has a fixed sample, tried in this process. `make fuzz` and `make hostile` try thousands in worker
processes; a failure is printed with its number, which `tests/mutations/fuzz.py --kind KIND --first NUMBER --again`
repeats. Faults that were found once are in `known_faults.py`.
"""

import itertools
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import fabric_sources
import pytest
import resealed
import tools
from kinds import KINDS, Case, prepare
from known_faults import FAULTS, Fault
from workers import MEMORY_MOST, attempt, failures, failures_here, limited

from pcielab import InputError

SAMPLE, SAMPLES = 40, {"messages": 200}
"""Inputs of each kind where no number is asked for, and of kinds with more of them."""
_ASKED, _SEALED = os.environ.get("PCIELAB_INPUTS"), os.environ.get("PCIELAB_SEALED_STORES")
_SHARES = {"stores": 4, **dict.fromkeys(tools.KINDS, 5), **dict.fromkeys(fabric_sources.KINDS, 2)}
"""Kinds whose cases take ten times as long: a changed store is drawn, compared and exported, or an import written.
Of the number that is asked for, one in this many is tried."""
_NEVER_REFUSED = ("doctor-trees",)
"""Kinds of which every input is accepted: the doctor leaves out what it cannot read."""
_IN_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder for the inputs, in memory if possible, because each is read only once."""
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None) as name:
        prepare(Path(name))
        yield Path(name)


def asked(kind: str) -> int | None:
    """The number of inputs of a kind that the environment asks for."""
    if kind.startswith("sealed-"):
        return int(_SEALED) if _SEALED else None
    return int(_ASKED) // _SHARES.get(kind, 1) if _ASKED else None


def recorded(case: Case, outcomes: list[bool]) -> Case:
    """A case that notes whether its inputs are accepted."""

    def try_it(draw: random.Random, own: Path) -> None:
        try:
            case(draw, own)
        except InputError:
            outcomes.append(False)
            raise
        outcomes.append(True)

    return try_it


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_input_is_accepted_or_refused(
    kind: str, folder: Path, record_property: Callable[[str, object], None]
) -> None:
    numbers = range(asked(kind) or SAMPLES.get(kind, SAMPLE))
    if asked(kind) is None:
        outcomes: list[bool] = []
        found = [*failures_here(kind, recorded(KINDS[kind], outcomes), numbers, folder)]
        assert {*outcomes} == ({True} if kind in _NEVER_REFUSED else {True, False}), "the sample is one-sided"
    else:
        if kind in resealed.KINDS:
            resealed.load_pages(folder)
        found = [*failures(kind, KINDS[kind], numbers, folder, side_by_side=2)]
    record_property("tried", len(numbers))
    record_property("faults", len(found))
    assert not found, "\n".join(f"{kind} {one.number}: {one.problem}" for one in found)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kind}: {fault.name}")
def test_a_known_fault_stays_mended(fault: Fault, folder: Path) -> None:
    own = folder / f"{fault.kind}: {fault.name}"
    own.mkdir()
    messages: list[str] = []

    def case(_draw: random.Random, own: Path) -> None:
        try:
            fault.try_it(own)
        except InputError as refused:
            messages.append(str(refused))
            raise

    with limited():
        problem = attempt(fault.kind, case, 0, own)
    assert problem is None, f"{problem}; once it {fault.went_wrong}"
    if fault.refused is None:
        assert messages == []
    else:
        assert fault.refused in "".join(messages), f"once it {fault.went_wrong}"


def test_known_faults_have_names_and_kinds() -> None:
    named = [(fault.kind, fault.name) for fault in FAULTS]
    assert len(set(named)) == len(named)
    assert {kind for kind, _ in named} <= {*KINDS}


def test_harmful_cases_are_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.SECONDS_MOST", 0.3)

    def allocate() -> None:
        _ = bytearray(2 * MEMORY_MOST)

    def work() -> None:
        until = time.process_time() + 0.4
        while time.process_time() < until:
            pass

    # Each process starts with the first harm, and the last one ends the process.
    harms = itertools.cycle([lambda: None, lambda: {}["absent"], work, allocate, lambda: os._exit(3)])
    found = list(failures("harm", lambda _draw, _folder: next(harms)(), range(10), tmp_path, side_by_side=2))
    problems = "\n".join(one.problem for one in found)
    assert all(word in problems for word in ("500 MB", "took 0", "with it: 3", "KeyError")), problems
    assert [one.number for one in found] == [1, 2, 3, 4, 6, 7, 8, 9]


def test_a_case_is_reproducible(folder: Path) -> None:
    def written(number: int) -> list[bytes]:
        attempt("profiles", KINDS["profiles"], number, folder)
        return [path.read_bytes() for path in sorted(folder.glob("mine.toml"))]

    assert written(7) == written(7) != written(8)
