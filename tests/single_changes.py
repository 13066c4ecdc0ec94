"""Every single change of a question, enumerated from the schema, and the best of them.

It knows nothing of the changes that `why` tries. Each numeric key of system and NIC is halved, doubled and set to
its next legal value. All are simulated briefly, the best of them for longer, the best of those at full length.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pcielab import Frames, _core
from pcielab.errors import InputError
from pcielab.library.profiles.parts import System

Change: TypeAlias = Mapping[str, Any]
"""New values by dotted key; keys of a NIC begin with `nic.`."""

NIC = "nic."
_SEED = 1
_WIDEST_LANES = 16
"""Lanes of the widest slot."""


@dataclass(frozen=True)
class Length:
    """How long a simulation is.

    Attributes:
        transactions: Counted transactions of a test, at most.
        bytes: Bytes of a test, at most, where that is still a thousand transactions.
        packets: Counted packets of a NIC.
        rings: Rings of packets before the counted ones, at most; None: all that fill its queues.
    """

    transactions: int
    bytes: int
    packets: int
    rings: int | None


SHORT = Length(4096, 8 << 20, 500, 1)
MIDDLE = Length(32_768, 32 << 20, 4_000, 4)
FULL = Length(524_288, 128 << 20, 20_000, None)
"""As long as the simulations of `why` whose values it shows."""
_TRANSACTIONS_LEAST = 1024
LOOKED_AT_AGAIN = {MIDDLE: 12, FULL: 4}
"""The best changes of the length before that are simulated at each length."""


@dataclass(frozen=True)
class Question:
    """A test on a system, or frames through a NIC on it.

    Attributes:
        system: The system.
        test: The parameters of the test; None of a NIC.
        frames: The frames; None of a test.
    """

    system: System
    test: Mapping[str, Any] | None
    frames: Frames | None

    def rates(self, changes: Sequence[Change], length: Length) -> list[float | None]:
        """The rate with each change, Gb/s; None where the change is impossible."""
        if self.frames is not None:
            return [_nic_rate(self.system, self.frames, one, length) for one in changes]
        assert self.test is not None
        systems = self.system.each_with([dict(one) for one in changes])
        possible = [system.handle for system in systems if system is not None]
        found = iter(_test_rates(possible, self.test, length))
        return [next(found) if system is not None else None for system in systems]

    def value(self, key: str) -> Any:
        """The value of a key; None where it has none."""
        try:
            if key.startswith(NIC):
                assert self.frames is not None
                return self.frames.nic.handle.get(key.removeprefix(NIC))
            return self.system.handle.get(key)
        except InputError:
            return None


def _test_rates(systems: Sequence[_core.System], test: Mapping[str, Any], length: Length) -> list[float | None]:
    listed = [{"family": "limits", "name": "limits", "parameters": dict(test)}]
    suite = _core.Suite.of_json("transfers", json.dumps({"name": "limits", "title": "limits", "tests": listed}))
    predictor = _core.Predictor(suite, [0], seed=_SEED, jobs=1)
    enough = max(length.bytes // test["size_bytes"], _TRANSACTIONS_LEAST)
    effort = {"latency_samples": 1, "bandwidth_transactions": min(length.transactions, enough)}
    wanted = [[0]] * len(systems)
    found = predictor.predict(systems, wanted, effort=json.dumps(effort), progress=lambda _done, _total: None)
    return [one[0].get("bandwidth_gbps") for one in json.loads(found)]


def _nic_rate(system: System, frames: Frames, change: Change, length: Length) -> float | None:
    own = {key.removeprefix(NIC): value for key, value in change.items() if key.startswith(NIC)}
    try:
        changed = system.with_({key: value for key, value in change.items() if not key.startswith(NIC)})
        scalars = nic_scalars(changed, frames.with_nic(own), length)
    except InputError:
        return None
    return None if scalars is None else next(one["value"] for one in scalars if one["metric"] == "bandwidth")


def nic_scalars(system: System, frames: Frames, length: Length) -> list[dict[str, Any]] | None:
    """The results of frames through a NIC on a system; None where they cannot run.

    Raises:
        InputError: The NIC is impossible.
    """
    [traffic] = json.loads(frames.to_json())
    traffic["packets"] = length.packets
    if length.rings is not None:
        queues = frames.nic.queues
        ring = queues.ring_descriptors * queues.pairs
        traffic["warm_up_packets"] = min(traffic["warm_up_packets"], length.rings * ring)
    asked = {
        "system": json.loads(system.handle.json()),
        "nic": frames.as_question(),
        "test": traffic,
        "seed": _SEED,
    }
    record = json.loads(_core.ask_page("frames", json.dumps(asked)))
    return record["scalars"] if record["status"] == "ok" else None


def every_change(question: Question) -> list[Change]:
    """Every numeric key of the schemas halved, doubled and at its next legal value."""
    schema = json.loads(_core.System.schema())
    of_system = _changes(schema, question.system.handle.values(), "")
    found = [one for one in of_system if one != {"link.lanes": 2 * _WIDEST_LANES}]
    if question.frames is not None:
        types = json.loads(_core.schemas("nic"))
        schema = {**types["Nic"], "$defs": types}
        values = question.frames.nic.handle.for_frames(None).values()
        # What is known of its values is none of them.
        found += _changes(schema, {**values, "assumed": {}}, NIC)
    return found


def _changes(schema: Any, values: Any, prefix: str) -> Iterator[Change]:
    for key, value, described in _leaves(schema, schema, values, ""):
        yield from ({f"{prefix}{key}": one} for one in _others(value, described))


def _leaves(whole: Any, schema: Any, value: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Numbers of a description with the schemas of their keys."""
    if "$ref" in schema:
        schema = {
            **whole["$defs"][schema["$ref"].rpartition("/")[2]],
            **{k: schema[k] for k in schema if k != "$ref"},
        }
    for option in schema.get("anyOf", []):
        if "$ref" in option or option.get("type") in ("object", "integer", "number"):
            schema = {**schema, **option}
            schema.pop("anyOf", None)
            if "$ref" in schema:
                yield from _leaves(whole, schema, value, path)
                return
            break
    if isinstance(value, dict):
        for key, inner in value.items():
            below = f"{path}.{key}" if path else key
            yield from _leaves(whole, schema.get("properties", {}).get(key, {}), inner, below)
    elif isinstance(value, list):
        for nth, inner in enumerate(value):
            yield from _leaves(whole, schema.get("items", {}), inner, f"{path}.{nth}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value, schema


def _others(value: float, schema: Any) -> Iterator[float]:
    choices = [one for one in schema.get("enum", []) if isinstance(one, int)]
    if choices:
        at = choices.index(int(value))
        yield from (choices[nth] for nth in (at - 1, at + 1) if 0 <= nth < len(choices))
        return
    whole = isinstance(value, int) and schema.get("type") != "number"
    for one in (value / 2, value * 2):
        one = int(one) if whole else one
        low, high = schema.get("minimum", -1e30), schema.get("maximum", 1e30)
        if low <= one <= high and one != value:
            yield one


def best_change(question: Question, *, at_once: bool = False) -> tuple[str, float]:
    """The best change in words, and its gain in percent at full length.

    Args:
        question: The question.
        at_once: Whether every change is simulated at full length.
    """
    kept = every_change(question)
    for length in (FULL,) if at_once else (SHORT, MIDDLE, FULL):
        [before, *after] = question.rates([{}, *kept], length)
        assert before is not None
        gains = [(100 * (rate / before - 1), nth) for nth, rate in enumerate(after) if rate is not None]
        gains.sort(key=lambda pair: -pair[0])
        best, gain = kept[gains[0][1]], gains[0][0]
        following = {SHORT: MIDDLE, MIDDLE: FULL}.get(length)
        if following is not None:
            kept = [kept[nth] for _, nth in gains[: LOOKED_AT_AGAIN[following]]]
    [(key, value)] = best.items()
    return f"{key} = {value}", gain
