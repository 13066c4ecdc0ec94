"""Python's functions refuse arguments of wrong types and sizes with documented errors only.

Words of the functions that most programs call have all wrong values here; every public function has some of
`wrong_types.py`. `make wrong-types` tries thousands.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import pcielab
from pcielab.argument_types import refuses_wrong_types
from wrong_types import WRONG, calls, functions

SAMPLE = 200
"""Calls of public functions where no number is asked for."""
DOCUMENTED = (pcielab.InputError, pcielab.RunError, TypeError)
TEST = pcielab.single_test("bw-rd", transactions=10)


def _by_keyword(function: Callable[..., object], *given: object, **valid: object) -> Callable[[str], Any]:
    return lambda name: lambda wrong: function(*given, **(valid | {name: wrong}))


def _calls() -> dict[str, Callable[[Any], object]]:
    """Functions of one argument, which passes it to a function of the package."""
    loaders = ("load_system", "load_suite", "load_host", "load_message_suite", "open_store", "resolve", "explain")
    calls: dict[str, Callable[[Any], object]] = {name: getattr(pcielab, name) for name in loaders}
    calls |= {
        "resolve sets": partial(pcielab.resolve, "snb"),
        "single_test": pcielab.single_test,
        "compare a": lambda wrong: pcielab.compare(wrong, "absent.db"),
        "compare b": lambda wrong: pcielab.compare("absent.db", wrong),
        "normal value": partial(pcielab.normal, "bw-rd"),
        "normal asked": lambda wrong: pcielab.normal(wrong, "3 Gb/s"),
        "validate system": lambda wrong: pcielab.validate(wrong, "absent.db"),
        "validate measured": partial(pcielab.validate, "snb"),
        "calibrate measured": lambda wrong: pcielab.calibrate(wrong, "mine"),
        "calibrate name": partial(pcielab.calibrate, "absent.db"),
        "why": pcielab.why,
        "run": pcielab.run,
        "run device": partial(pcielab.run, TEST),
        "simulate system": lambda wrong: pcielab.simulate(wrong, TEST),
        "sweep size": lambda wrong: pcielab.sweep("snb", test="bw-rd", transactions=10, size=wrong),
        "bounds": pcielab.bounds,
    }
    words = ("size", "window", "cache", "pattern", "transactions", "outstanding", "stride", "path", "details")
    for name in words:
        calls[f"single_test {name}"] = _by_keyword(pcielab.single_test, "bw-rd")(name)
    for name in ("profile", "sets", "link", "measured", "tests", "flows", "other"):
        calls[f"why {name}"] = _by_keyword(pcielab.why, TEST)(name)
    for name in ("low", "high", "scale"):
        calls[f"between {name}"] = _by_keyword(pcielab.between, low=1.0, high=2.0, scale="log")(name)
    for name in ("profile", "sets", "samples", "jobs", "seed"):
        calls[f"run {name}"] = _by_keyword(pcielab.run, TEST)(name)
    calls["RunOptions seed"] = _by_keyword(pcielab.RunOptions)("seed")
    return calls


@pytest.mark.parametrize("name", _calls())
def test_wrong_arguments_raise_documented_errors_only(name: str) -> None:
    call = _calls()[name]
    messages = []
    for wrong in WRONG:
        try:
            call(wrong)
        except DOCUMENTED as error:
            messages.append(str(error))
    assert messages
    assert all(messages)


def test_every_public_function_refuses_wrong_types_with_documented_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    count = int(os.environ.get("PCIELAB_WRONG_TYPES", SAMPLE))
    faults, refused = [], 0
    for one in calls(count, tmp_path):
        try:
            one.carry_out()
        except DOCUMENTED:
            refused += 1
        except Exception as error:
            faults.append(f"{one}: {type(error).__name__}: {error}")
    record_property("tried", count)
    record_property("faults", len(faults))
    assert refused > count / 2
    assert not faults, "\n".join(faults)


def test_many_functions_are_called() -> None:
    assert len(functions()) > 60
    assert {name.partition(".")[0] for name in functions()} >= {"devices", "doctor", "fabric", "model", "store"}


def test_only_a_failed_call_with_a_wrong_type_raises_a_type_error() -> None:
    @refuses_wrong_types
    def halved(numbers: "list[int]", by: "float | None" = None) -> float:
        if by == 0:
            raise KeyError("kept")
        return sum(numbers) / (by or numbers[0] * 2)  # type: ignore[operator]

    assert halved([4, 2]) == 0.75
    assert halved((4, 2)) == 0.75  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"halved: numbers is \{\}: give list\[int\]"):
        halved({})  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="kept"):
        halved([1], 0)
    with pytest.raises(ZeroDivisionError):
        halved([0])
