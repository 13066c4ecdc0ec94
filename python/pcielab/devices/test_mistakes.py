"""Mistakes in a back end that is written in Python get errors with the device, the method and the remedy."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from pcielab import InputError, RunError, devices, open_store, single_test
from pcielab.devices import registry
from pcielab.devices.test_devices import Here
from pcielab.library.suites.benchmark import Parameters

TICKS = np.full(2048, 90, dtype=np.uint32)
TIMER = devices.Timer(1)


class Card(devices.Device):
    """A device without mistakes."""

    def facts(self) -> devices.DeviceFacts:
        return facts()

    def latency(self, test: Parameters) -> Any:
        yield TICKS, 1e6

    def bandwidth(self, test: Parameters) -> Any:
        yield test.transactions, 1e6


class Mine(devices.Backend):
    kind = "mine"
    origin = "measured"

    def __init__(self, opened: Any) -> None:
        self.opened = opened

    def open(self) -> Any:
        return self.opened


def facts(**changes: Any) -> devices.DeviceFacts:
    return devices.DeviceFacts(**{"name": "card", "timer": TIMER, "deadline_ms": 5000, **changes})


def card(**methods: Any) -> Mine:
    """A back end whose device has some methods replaced."""
    return Mine((type("Wrong", (Card,), methods)(), Here()))


def yielding(found: object) -> Callable[..., Iterator[object]]:
    def method(_self: Card, _test: Parameters) -> Iterator[object]:
        yield found

    return method


def raising(error: Exception) -> Callable[..., Any]:
    def method(*_arguments: object) -> Any:
        raise error

    return method


def message(backend: Mine, output: Path, operation: Any = "lat-rd") -> str:
    """The message of a test that fails."""
    one = single_test(operation, size=64, window="8K", transactions=2048)
    devices.run(devices.bridged(backend), one, output)
    [test] = open_store(output).tests.itertuples()
    assert test.status == "failed", test.message
    return str(test.message)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (TICKS, "yielded a ndarray: yield the ticks of transactions as an array, and the nanoseconds"),
        ((TICKS, 1.0, 2), "yielded a tuple of 3: yield the ticks of transactions as an array"),
        ((TICKS, None), "yielded a time of None: yield the ticks"),
        ((TICKS + 0.7, 1e6), r"ticks of type float64 in 1 dimensions: .* np\.rint\(ticks\)\.astype\(np\.uint32\)"),
        ((TICKS.reshape(2, -1), 1e6), "ticks of type uint32 in 2 dimensions: yield whole numbers in 1 dimension"),
        ((-TICKS.astype(np.int64), 1e6), "ticks from -90 to -90: yield 0 to 4294967295"),
        ((TICKS.astype(np.int64) << 32, 1e6), "yield 0 to 4294967295: a longer tick"),
        (
            (TICKS[:20], 1e6),
            "ended after 20 of 2048 transactions: yield slices until they add up to test.transact",
        ),
    ],
)
def test_wrong_latencies_fail_the_test(found: object, text: str, tmp_path: Path) -> None:
    failed = message(card(latency=yielding(found)), tmp_path / "run.db")
    assert re.match(f"(Type|Value)Error: latency of mine .*{text}", failed), failed


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            (1e6, 2048),
            r"yielded 1000000\.0 transactions: yield a number of transactions as an int, and the nanosec",
        ),
        ((-1, 1e6), "yielded -1 transactions: give 0 or more"),
        (2048, "yielded 2048: yield a number of transactions"),
        ((20, 1e6), "ended after 20 of 2048 transactions"),
    ],
)
def test_wrong_counts_fail_the_test(found: object, text: str, tmp_path: Path) -> None:
    failed = message(card(bandwidth=yielding(found)), tmp_path / "run.db", "bw-rd")
    assert re.match(f"(Type|Value)Error: bandwidth of mine .*{text}", failed), failed


@pytest.mark.parametrize(
    ("methods", "text"),
    [
        ({"latency": lambda _self, _test: None}, "TypeError: latency of mine returned None: yield the ticks"),
        (
            {"latency": lambda _self, _test: [(TICKS, 1e6)]},
            "TypeError: latency of mine returned a list of 1: yield",
        ),
        (
            {"latency": raising(KeyError("register"))},
            r"KeyError: 'register' \(latency of mine, test_mistakes\.py line \d+\)",
        ),
        ({"latency": lambda _self: None}, r"TypeError: .* \(latency of mine, write it as latency\(self, test\)\)"),
        ({"begin": lambda _self: None}, r"TypeError: .* \(begin of mine, write it as begin\(self, start\)\)"),
        # On purpose: the device has its own words.
        ({"latency": raising(RuntimeError("queue 3 is full"))}, "RuntimeError: queue 3 is full$"),
    ],
)
def test_wrong_methods_fail_the_test(methods: dict[str, Any], text: str, tmp_path: Path) -> None:
    failed = message(card(**methods), tmp_path / "run.db")
    assert re.match(text, failed), failed


class Bare:
    """A device that inherits no defaults."""

    facts = Card.facts


@pytest.mark.parametrize(
    ("backend", "text"),
    [
        (Mine(Card()), "open of mine returned a Card: return a device and a host, as a tuple"),
        (Mine(None), "open of mine returned None: return a device and a host"),
        (
            Mine((Bare(), Here())),
            "the device of mine, a Bare, has no method begin: .* inherit from devices.Device",
        ),
        (Mine((Card(), object())), "the host of mine, a object, has no method facts: .*inherit from devices.Host"),
        (card(facts=lambda _self: None), r"facts of mine returned None: return devices\.DeviceFacts\("),
        (card(facts=lambda _self: {}), r"facts of mine returned a dict: return devices\.DeviceFacts\("),
        (card(facts=raising(OSError("no BAR"))), r"OSError: no BAR \(facts of mine, test_mistakes\.py line \d+\)"),
    ],
)
def test_wrong_back_end_is_refused_at_its_opening(backend: Mine, text: str, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=text):
        message(backend, tmp_path / "run.db")
    assert not (tmp_path / "run.db").exists()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"name": 5}, "name is 5 of type int: give a valid string"),
        ({"timer": 1}, "timer is 1 of type int: give an instance of Timer"),
        ({"timer": devices.Timer(0)}, "timer.numerator_ns is 0: give a whole number from 1"),
        ({"timer": devices.Timer(1, 0)}, "timer.denominator is 0: give a whole number from 1"),
        ({"deadline_ms": 1.5}, "deadline_ms is 1.5 of type float: give a valid integer"),
        ({"deadline_ms": 0}, "deadline_ms is 0: give 1 or more, or None"),
        ({"outstanding": np.int64(4)}, r"outstanding is np\.int64\(4\) of type int64: give a valid integer"),
        ({"link": devices.LinkFacts(lanes="x8")}, "link.lanes is 'x8' of type str: give a valid integer"),  # type: ignore[arg-type]
        ({"operations": "dma lat-rd"}, "operations is 'dma lat-rd' of type str: give a valid tuple"),
        (
            {"operations": ("lat-rd",)},
            "operations has 'lat-rd': give path and operation, of command bw-rd, .*dma lat",
        ),
        ({"operations": ("dma lat-write",)}, "operations has 'dma lat-write': give path and operation"),
    ],
)
def test_wrong_facts_are_refused_by_key(changes: dict[str, Any], text: str, tmp_path: Path) -> None:
    wrong = facts(**changes)
    with pytest.raises(RunError, match=f"facts of mine: {text}"):
        message(card(facts=lambda _self: wrong), tmp_path / "run.db")


def test_facts_may_have_lists(tmp_path: Path) -> None:
    known = facts(operations=["dma lat-rd"], latency_includes=["timer"])
    one = single_test("lat-rd", size=64, window="8K", transactions=2048)
    devices.run(devices.bridged(card(facts=lambda _self: known)), one, tmp_path / "run.db")
    assert open_store(tmp_path / "run.db").manifest["device"]["operations"] == ["dma lat-rd"]


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"kind": None}, r'attribute kind: give a str, for example kind = "mycard"'),
        ({"origin": "real"}, "attribute origin is 'real': give measured, simulated, emulated or rtl"),
        ({"options": lambda _self: [1]}, "options of mine returned a list of 1: return a dict with str keys"),
        ({"options": lambda _self: {"a": object()}}, "options of mine: .*give numbers, texts, lists"),
        ({"attachments": lambda _self: {"a": 1}}, "attachments of mine: a is 1: give a str"),
        ({"open": None}, "it has no method open: inherit from devices.Backend"),
    ],
)
def test_wrong_attributes_of_a_back_end_are_refused(attributes: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        devices.bridged(type("Wrong", (Mine,), attributes)(None))


@pytest.mark.parametrize(
    ("methods", "text"),
    [
        (
            {"conditions": lambda _self: [40]},
            r'conditions of mine: left out: .*give devices\.Condition\("temperature',
        ),
        ({"remarks": lambda _self: "slow"}, r"remarks of mine: left out: .*return devices\.Remarks\("),
    ],
)
def test_values_that_a_test_does_without_give_a_warning(
    methods: dict[str, Any], text: str, tmp_path: Path
) -> None:
    one = single_test("lat-rd", size=64, window="8K", transactions=2048)
    with pytest.warns(RuntimeWarning, match=text):
        devices.run(devices.bridged(card(**methods)), one, tmp_path / "run.db")
    assert list(open_store(tmp_path / "run.db").tests["status"]) == ["ok"]


class NoOptions(BaseModel):
    """A device without options."""


def kind(**changes: Any) -> devices.Kind:
    of_mine = {"name": "mine", "title": "Mine", "options": NoOptions, "make": lambda *_: None, "present": list}
    return devices.Kind(**{**of_mine, **changes})


@pytest.mark.parametrize(
    ("loaded", "text"),
    [
        (kind(name="other"), "its Kind has the name 'other': give both the same name"),
        (kind(options=dict), "options of its Kind: give a class that inherits from pydantic.BaseModel"),
        (kind(make="make"), "make of its Kind: give a function of the options and the address"),
        (kind(present=[]), "present of its Kind: give a function that lists devices"),
        (kind(make=lambda *_: Mine(None)), r"make returned Mine: return devices\.bridged\(Mine\(\.\.\.\)\)"),
        (kind(make=raising(KeyError("x"))), r"KeyError: 'x' \(make of mine, test_mistakes\.py line \d+\)"),
        (kind(make=lambda: None), r"TypeError: .* \(make of mine, write it as make\(options, address\)\)"),
    ],
)
def test_wrong_kind_of_a_package_is_refused(loaded: Any, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    register(loaded, monkeypatch)
    with pytest.raises(InputError, match=f"^--device mine: .*{text}"):
        devices.open_kind("mine")


def test_failing_list_of_a_package_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    register(kind(present=raising(ZeroDivisionError("no cards"))), monkeypatch)
    [(name, missing)] = devices.kinds()["mine"].present()
    assert name == "mine"
    assert re.fullmatch(r"ZeroDivisionError: no cards \(present of mine, test_mistakes\.py line \d+\)", missing)


def register(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = type("EntryPoint", (), {"name": "mine", "load": lambda _self: loaded, "dist": None})()
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
