"""Python's functions refuse arguments of wrong types and sizes with documented errors only."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import pcielab

WRONG: tuple[Any, ...] = (
    *(None, 1, -1, 10**400, 1.5, float("nan"), float("inf"), 1e308, True, b"x", "", "\0"),
    *([], [1], {}, {"a": 1}, object(), (1,), set(), len),
)
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
