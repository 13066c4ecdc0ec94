"""The list of longer tests says what is left out and what guards the same code."""

import re
from pathlib import Path

import pytest

from longer_tests import Entry, entries

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("entry", entries().values(), ids=lambda entry: entry.test)
def test_an_entry_names_what_stays(entry: Entry) -> None:
    path, _, function = entry.test.partition("::")
    assert re.search(rf"(?m)^def {function}\(", (ROOT / path).read_text(encoding="utf-8"))
    assert entry.kept_by
    assert not (entry.keep and entry.move), "one of both says what the other is"


def test_cases_are_left_out_by_either_list() -> None:
    keeping = Entry("a.py::test_a", "b", keep=frozenset({"x"}), move=frozenset())
    moving = Entry("a.py::test_a", "b", keep=frozenset(), move=frozenset({"x"}))
    whole = Entry("a.py::test_a", "b", keep=frozenset(), move=frozenset())
    assert [entry.moves("x") for entry in (keeping, moving, whole)] == [False, True, True]
    assert [entry.moves("y") for entry in (keeping, moving, whole)] == [True, False, True]
    assert keeping.unknown({"y"}) == moving.unknown({"y"}) == {"x"}
    assert not whole.unknown({""})


def test_tests_that_others_stand_for_stay() -> None:
    listed = entries()
    for entry in listed.values():
        for function in re.findall(r"\btest_\w+(?=[,;:\[]|$)", entry.kept_by):
            path = entry.test.partition("::")[0]
            other = listed.get(f"{path}::{function}")
            assert other is None or other.keep or other.move, f"{entry.test}: {function} is left out, too"
