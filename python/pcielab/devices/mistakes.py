"""Mistakes in back ends that are written in Python: each error names the device, the method and the remedy.

pydantic checks what such a back end returns against the annotations of `devices/protocols.py`.
"""

import json
import operator
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from inspect import isfunction, signature
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from pcielab import _core
from pcielab.devices.facts import Condition, DeviceFacts, HostFacts, Remarks, Timer
from pcielab.devices.protocols import Device, Host
from pcielab.errors import InputError, refusal
from pcielab.library.suites.benchmark import BENCHMARKS

_ORIGINS = ("measured", "simulated", "emulated", "rtl")
_OPERATIONS = tuple(sorted(f"{path} {operation}" for operation, path in BENCHMARKS.values()))
_METHODS: dict[type, tuple[str, ...]] = {
    protocol: tuple(name for name, member in vars(protocol).items() if isfunction(member) and name[0] != "_")
    for protocol in (Device, Host)
}
"""The methods of a device and of a host, in this order."""
_OF_KINDS = {"open": "self", "make": "options, address"}
"""Parameters of methods of a back end and its kind."""
_TICKS_MOST = (1 << 32) - 1
_LATENCY_SLICE = "yield the ticks of transactions as an array, and the nanoseconds that all of them took"
_BANDWIDTH_SLICE = "yield a number of transactions as an int, and the nanoseconds that they took"
_OWN_WORDS = (_core.NotSupportedError, _core.DeviceLostError, _core.UnavailableError, InputError, RuntimeError)
"""Exceptions that a device raises on purpose: their texts are for the user as they are."""


@contextmanager
def located(method: str, kind: str) -> Iterator[None]:
    """Add the method, the device and the line to an unexpected exception of a method.

    Built-in exceptions but `RuntimeError` are unexpected. The class keeps its name, which the store shows.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, _OWN_WORDS) or type(error).__module__ != "builtins":
            raise
        where = ", ".join([f"{method} of {kind}", *_line(error, method)])
        name = type(error).__name__
        raise type(name, (Exception,), {})(f"{error} ({where})") from error


def _line(error: Exception, method: str) -> list[str]:
    """The line of the device's file that raised an error, or how the method is to be written."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_ours(frame.filename)]
    if frames:
        last = [frame for frame in frames if frame.filename == frames[0].filename][-1]
        return [f"{last.filename.rpartition('/')[2]} line {last.lineno}"]
    written = next((getattr(one, method) for one in _METHODS if method in _METHODS[one]), None)
    parameters = _OF_KINDS.get(method) or (written and ", ".join(signature(written).parameters))
    if not isinstance(error, TypeError) or parameters is None:
        return []
    return [f"write it as {method}({parameters})"]


def _is_ours(file: str) -> bool:
    return file == __file__ or file.endswith(("devices/bridge.py", "devices/registry.py", "/contextlib.py"))


def check_backend(backend: Any) -> None:
    """Check the attributes of an unopened back end.

    Raises:
        InputError: One is missing or wrong.
    """
    owner = type(backend).__name__
    for name, example in (("kind", '"mycard"'), ("origin", '"measured"')):
        if not isinstance(getattr(backend, name, None), str):
            raise refusal(
                "wrong-type", f"back end {owner}: attribute {name}: give a str, for example {name} = {example}"
            )
    if backend.origin not in _ORIGINS:
        raise refusal(
            "wrong-value", f"back end {owner}: attribute origin is {backend.origin!r}: give {_either(_ORIGINS)}"
        )
    for name in ("open", "options", "attachments"):
        if not callable(getattr(backend, name, None)):
            raise refusal("missing", f"back end {owner}: it has no method {name}: inherit from devices.Backend")


def options_as_json(options: Any, kind: str) -> str:
    """Write the options of a back end as JSON.

    Raises:
        InputError: They are not a mapping of names to values of JSON.
    """
    named = _named(options, "options", kind)
    try:
        return json.dumps(named, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise refusal(
            "wrong-type", f"options of {kind}: {error}: give numbers, texts, lists and mappings of them"
        ) from None


def check_attachments(attachments: Any, kind: str) -> Mapping[str, str]:
    """Check the attachments of a back end: texts by name.

    Raises:
        InputError: They are not.
    """
    for name, text in _named(attachments, "attachments", kind).items():
        if not isinstance(text, str):
            raise refusal("wrong-type", f"attachments of {kind}: {name} is {_shown(text)}: give a str")
    return dict(attachments)


def _named(found: Any, method: str, kind: str) -> dict[str, Any]:
    if not isinstance(found, Mapping) or not all(isinstance(key, str) for key in found):
        raise refusal("wrong-type", f"{method} of {kind} returned {_shown(found)}: return a dict with str keys")
    return dict(found)


def check_opened(opened: Any, kind: str) -> tuple[Device, Host]:
    """Check that `open` returned a device and a host with all methods.

    Raises:
        TypeError: It did not.
    """
    if not isinstance(opened, tuple) or len(opened) != 2:
        raise TypeError(f"open of {kind} returned {_shown(opened)}: return a device and a host, as a tuple")
    for protocol, found in zip(_METHODS, opened, strict=True):
        side = protocol.__name__
        for name in _METHODS[protocol]:
            if not callable(getattr(found, name, None)):
                raise TypeError(
                    f"the {side.lower()} of {kind}, {_shown(found)}, has no method {name}: write it, or inherit "
                    f"from devices.{side}"
                )
    return opened


def check_facts(found: Any, wanted: type[DeviceFacts | HostFacts], kind: str) -> dict[str, Any]:
    """Check the facts of a device or a host; as a dictionary.

    Raises:
        TypeError: They are not facts, or a value has a wrong type.
        ValueError: A value is out of range.
    """
    if not isinstance(found, wanted):
        raise TypeError(f"facts of {kind} returned {_shown(found)}: return devices.{wanted.__name__}(...)")
    facts: dict[str, Any] = asdict(found)
    for key, value in facts.items():
        if isinstance(value, list):
            facts[key] = tuple(value)
    _check_fields(found, "", facts, kind)
    deadline_ms = facts.get("deadline_ms")
    if deadline_ms is not None and deadline_ms < 1:
        raise ValueError(f"facts of {kind}: deadline_ms is {deadline_ms}: give 1 or more, or None")
    for operation in facts.get("operations", ()):
        if operation not in _OPERATIONS:
            known = ", ".join(_OPERATIONS)
            raise ValueError(f"facts of {kind}: operations has {operation!r}: give path and operation, of {known}")
    return facts


def _check_fields(facts: Any, prefix: str, values: Mapping[str, Any], kind: str) -> None:
    """Check the types of all values, and of those within them, whose keys begin with `prefix`."""
    for name, wanted in get_type_hints(type(facts)).items():
        own, value, key = getattr(facts, name), values[name], f"{prefix}{name}"
        has_keys = is_dataclass(own)
        try:
            TypeAdapter(wanted).validate_python(own if has_keys else value, strict=True)
        except ValidationError as error:
            message = error.errors(include_url=False)[0]["msg"].replace("Input should be", "give")
            raise TypeError(
                f"facts of {kind}: {key} is {value!r} of type {type(own).__name__}: {message}"
            ) from None
        if has_keys:
            _check_fields(own, f"{key}.", value, kind)
    if isinstance(facts, Timer):
        check_timer(facts, "facts", kind)


def check_timer(timer: Timer, method: str, kind: str) -> None:
    """Check that a tick has a length.

    Raises:
        ValueError: It has none.
    """
    for name, value in asdict(timer).items():
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{method} of {kind}: timer.{name} is {value!r}: give a whole number from 1")


@contextmanager
def left_out(method: str, kind: str) -> Iterator[None]:
    """Warn of an exception of a method whose values a test does without."""
    try:
        yield
    except Exception as error:
        warnings.warn(
            f"{method} of {kind}: left out: {type(error).__name__}: {error}", RuntimeWarning, stacklevel=3
        )


def check_condition(found: Any) -> Condition:
    """Check a condition: a name, a unit and a number.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(found, Condition) or not isinstance(found.value, float | int | None):
        raise TypeError(f'{found!r}: give devices.Condition("temperature", "C", 61.0)')
    return found


def check_remarks(found: Any, kind: str) -> Remarks:
    """Check the remarks of a device.

    Raises:
        TypeError: They are no remarks.
        ValueError: The tick has no length.
    """
    if not isinstance(found, Remarks):
        raise TypeError(f"{_shown(found)} was returned: return devices.Remarks(...)")
    if found.timer is not None:
        check_timer(found.timer, "remarks", kind)
    return found


def check_slices(found: Any, method: str, kind: str) -> Iterator[Any]:
    """Check that a test returned an iterator.

    Raises:
        TypeError: It did not.
    """
    if not isinstance(found, Iterator):
        wanted = _LATENCY_SLICE if method == "latency" else _BANDWIDTH_SLICE
        raise TypeError(f"{method} of {kind} returned {_shown(found)}: {wanted}")
    return found


def check_latencies(found: Any, kind: str) -> tuple[NDArray[np.uint32], float]:
    """Check a slice of latencies: ticks that fit into 32 bits, and their time.

    Raises:
        TypeError: It is no such pair.
        ValueError: A tick is out of range.
    """
    ticks, elapsed_ns = _pair(found, "latency", kind, _LATENCY_SLICE)
    array = np.asarray(ticks)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(
            f"latency of {kind} yielded ticks of type {array.dtype} in {array.ndim} dimensions: yield whole "
            "numbers in 1 dimension, for example np.rint(ticks).astype(np.uint32)"
        )
    if len(array) and not 0 <= array.min() <= array.max() <= _TICKS_MOST:
        raise ValueError(
            f"latency of {kind} yielded ticks from {array.min()} to {array.max()}: yield 0 to {_TICKS_MOST}: a "
            "longer tick (timer of the facts) makes numbers smaller"
        )
    return np.ascontiguousarray(array, dtype=np.uint32), elapsed_ns


def check_transactions(found: Any, kind: str) -> tuple[int, float]:
    """Check a slice of a bandwidth test: a number of transactions, and their time.

    Raises:
        TypeError: It is no such pair.
        ValueError: The number is out of range.
    """
    transactions, elapsed_ns = _pair(found, "bandwidth", kind, _BANDWIDTH_SLICE)
    try:
        count = operator.index(transactions)
    except TypeError:
        raise TypeError(
            f"bandwidth of {kind} yielded {_shown(transactions)} transactions: {_BANDWIDTH_SLICE}"
        ) from None
    if count < 0:
        raise ValueError(f"bandwidth of {kind} yielded {count} transactions: give 0 or more")
    return count, elapsed_ns


def check_complete(done: int, wanted: int, method: str, kind: str) -> None:
    """Check that a generator which ended by itself yielded all transactions.

    Raises:
        ValueError: It yielded fewer.
    """
    if done < wanted:
        raise ValueError(
            f"{method} of {kind} ended after {done} of {wanted} transactions: yield slices until they add up to "
            "test.transactions"
        )


def _pair(found: Any, method: str, kind: str, wanted: str) -> tuple[Any, float]:
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise TypeError(f"{method} of {kind} yielded {_shown(found)}: {wanted}")
    try:
        return found[0], float(found[1])
    except (TypeError, ValueError):
        raise TypeError(f"{method} of {kind} yielded a time of {_shown(found[1])}: {wanted}") from None


def _shown(found: Any) -> str:
    """A value in an error: its type, and what else is short."""
    if isinstance(found, tuple | list):
        return f"a {type(found).__name__} of {len(found)}"
    return repr(found) if isinstance(found, str | int | float | None) else f"a {type(found).__name__}"


def _either(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
