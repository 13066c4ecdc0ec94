"""Which tests `make test` leaves to `make test-longer`: `longer_tests.toml` lists them by function and case.

It is a pytest plugin, loaded by `conftest.py` of the repository. Tests that take minutes are not in the list:
the mark `slow` stands at them, and `make test-slow` runs them.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

_LIST = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Entry:
    """A test function of the list."""

    test: str
    """File and function, as in pytest's node IDs."""
    kept_by: str
    """Tests of `make test` that execute the same code."""
    keep: frozenset[str]
    move: frozenset[str]

    def moves(self, case: str) -> bool:
        """Whether `make test` leaves out a case, given as pytest writes it; empty: a test without parameters."""
        return case in self.move if self.move else case not in self.keep

    def unknown(self, cases: set[str]) -> set[str]:
        """Cases that it names and the function, which has these, lacks."""
        return set(self.keep | self.move) - cases


def entries() -> dict[str, Entry]:
    """The list by test function."""
    tables = tomllib.loads(_LIST.read_text(encoding="utf-8"))["tests"]
    read = [
        Entry(
            table["test"],
            table["kept_by"],
            frozenset(table.get("keep", ())),
            frozenset(table.get("move", ())),
        )
        for table in tables
    ]
    return {entry.test: entry for entry in read}


def function_and_case(item: pytest.Item) -> tuple[str, str]:
    """File and function of a test, relative to the repository, and its parameters as pytest writes them."""
    function, _, case = item.nodeid.partition("[")
    return function, case.removesuffix("]")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of the list, before those with the mark are left out.

    Raises:
        pytest.UsageError: The list names a function or case that a file, collected whole, does not have.
    """
    listed = entries()
    cases: dict[str, set[str]] = {}
    for item in items:
        function, case = function_and_case(item)
        cases.setdefault(function, set()).add(case)
        if function in listed and listed[function].moves(case):
            item.add_marker(pytest.mark.longer)
    if not any("::" in argument for argument in config.args):
        for line in _wrong(listed, cases):
            raise pytest.UsageError(f"{_LIST.name}: {line}")


def _wrong(listed: dict[str, Entry], cases: dict[str, set[str]]) -> Iterator[str]:
    files = {function.partition("::")[0] for function in cases}
    for function, entry in listed.items():
        if function.partition("::")[0] not in files:
            continue
        if function not in cases:
            yield f"no test {function}: name one that exists, or remove the entry"
        elif unknown := entry.unknown(cases[function]):
            yield f"{function} has no case {min(unknown)!r}: name one of {sorted(cases[function])}"
