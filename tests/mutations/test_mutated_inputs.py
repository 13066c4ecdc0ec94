"""Every kind of input, changed in thousands of ways, is accepted or refused with an InputError.

A failure is printed with its number; `tests/mutations/fuzz.py --kind KIND --first NUMBER --again` repeats it.
`make fuzz` tries more, and `make hostile` counts the cases.
"""

import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import fabric_sources
import pytest
import tools
from kinds import KINDS, prepare
from workers import MEMORY_MOST, attempt, failures

CASES = int(os.environ.get("PCIELAB_INPUTS", "2000"))
FEWER = {
    "stores": CASES // 4,
    **dict.fromkeys(tools.KINDS, CASES // 5),
    **dict.fromkeys(fabric_sources.KINDS, CASES // 2),
    "sealed-stores": int(os.environ.get("PCIELAB_SEALED_STORES", "250")),
}
"""Kinds whose cases take ten times as long: a changed store is drawn, compared and exported, or an import written.
`make hostile-stores` and `make tool-mutations` try more."""
_IN_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder for the inputs, in memory if possible, because each is read only once."""
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None) as name:
        prepare(Path(name))
        yield Path(name)


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_input_is_accepted_or_refused(
    kind: str, folder: Path, record_property: Callable[[str, object], None]
) -> None:
    numbers = range(FEWER.get(kind, CASES))
    found = list(failures(kind, KINDS[kind], numbers, folder, side_by_side=2))
    record_property("tried", len(numbers))
    record_property("faults", len(found))
    assert not found, "\n".join(f"{kind} {one.number}: {one.problem}" for one in found)


def test_harmful_cases_are_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.SECONDS_MOST", 1.0)

    def allocate() -> None:
        _ = bytearray(2 * MEMORY_MOST)

    def work() -> None:
        until = time.process_time() + 1.1
        while time.process_time() < until:
            pass

    # Each process starts with the first harm, and the last one ends the process.
    harms = itertools.cycle([lambda: None, lambda: {}["absent"], work, allocate, lambda: os._exit(3)])
    found = list(failures("harm", lambda _draw, _folder: next(harms)(), range(10), tmp_path, side_by_side=2))
    problems = "\n".join(one.problem for one in found)
    assert all(word in problems for word in ("500 MB", "took 1", "with it: 3", "KeyError")), problems
    assert [one.number for one in found] == [1, 2, 3, 4, 6, 7, 8, 9]


def test_a_case_is_reproducible(folder: Path) -> None:
    def written(number: int) -> list[bytes]:
        attempt("profiles", KINDS["profiles"], number, folder)
        return [path.read_bytes() for path in sorted(folder.glob("mine.toml"))]

    assert written(7) == written(7) != written(8)
