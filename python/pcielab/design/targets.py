"""Targets: the work that tests each of them, its metric, and how far a value is from the limit.

The score of a value is 1 at the limit and larger where the target is met with something to spare: the value over
the least allowed one, or the largest allowed one over the value.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pcielab.design.spec import DesignFile, TargetTable
from pcielab.errors import refusal
from pcielab.library.suites import single_test
from pcielab.model.link import Ethernet
from pcielab.work.frames import Frames
from pcielab.work.options import Samples

Kind: TypeAlias = Literal["transfers", "frames", "messages"]
PACKETS = 4096
"""Counted packets of a target of frames."""
_MESSAGES = 512
"""Messages of a stream; a latency is that of one message."""
_METRICS = {
    "at_least_gbps": ("bandwidth|Gb/s", 1.0, "Gb/s"),
    "at_least_mpps": ("rate|1/s", 1e-6, "million/s"),
    "at_most_median_ns": ("median|ns", 1.0, "ns"),
    "at_most_p99_9_ns": ("p999|ns", 1.0, "ns"),
    "at_most_dropped_share": ("dropped_share|1", 1.0, "of frames dropped"),
}
"""Of each limit the metric of a record, its factor, and the unit in words."""
_LACKING = {
    ("transfers", "at_most_dropped_share"): "transfers are never dropped: give another limit",
    ("messages", "at_most_dropped_share"): "messages are never dropped: give another limit",
    ("messages", "at_most_p99_9_ns"): "messages have no 99.9th percentile: give at_most_median_ns",
}


@dataclass(frozen=True)
class Target:
    """A target.

    Attributes:
        name: Its name in answers.
        kind: The kind of work that tests it.
        limit: The key of its limit.
        value: The limit.
        words: The words of its test.
    """

    name: str
    kind: Kind
    limit: str
    value: float
    words: Mapping[str, Any]

    @property
    def is_latency(self) -> bool:
        """Whether it limits a latency."""
        return self.limit.endswith("_ns")

    @property
    def is_rate(self) -> bool:
        """Whether it asks for a rate."""
        return self.limit.startswith("at_least")

    @property
    def samples(self) -> Samples:
        """The samples of its test: a tail needs all of them."""
        return "full" if self.limit == "at_most_p99_9_ns" else "adaptive"

    @property
    def has_bound(self) -> bool:
        """Whether the closed form bounds it: rates of transfers."""
        return self.kind == "transfers" and self.is_rate

    def rate_in(self, bound: Mapping[str, Any]) -> float:
        """The rate of a bound in its unit."""
        return float(bound["gbps" if self.limit == "at_least_gbps" else "millions_per_s"])

    @property
    def unit(self) -> str:
        """The unit of its values."""
        return _METRICS[self.limit][2]

    @property
    def in_words(self) -> str:
        """Its limit in words."""
        if self.limit == "at_most_dropped_share":
            return f"at most {100 * self.value:g} % of frames dropped"
        which = {"at_most_median_ns": "median ", "at_most_p99_9_ns": "99.9th percentile "}.get(self.limit, "")
        return f"{which}{'at least' if self.is_rate else 'at most'} {self.value:g} {self.unit}"

    def score(self, value: float | None) -> float:
        """How far a value is from the limit; 0 for a test that the host and the device do not support."""
        if value is None:
            return 0.0
        if self.limit == "at_most_dropped_share":
            return 1 + self.value - value
        if self.is_rate:
            return value / self.value
        return self.value / value if value > 0 else float("inf")

    def value_in(self, numbers: Mapping[str, float]) -> float | None:
        """Its value among the numbers of a record."""
        metric, factor, _ = _METRICS[self.limit]
        return numbers[metric] * factor if metric in numbers else None

    def interval_in(self, numbers: Mapping[str, float]) -> tuple[float, float] | None:
        """The confidence interval of the value, of rates of transfers."""
        low, high = numbers.get("bandwidth_low|Gb/s"), numbers.get("bandwidth_high|Gb/s")
        mean = numbers.get("bandwidth|Gb/s")
        if not self.is_rate or low is None or high is None or not mean:
            return None
        value = self.value_in(numbers) or 0.0
        return value * low / mean, value * high / mean

    def work(self, changes: Mapping[str, Any], nic: Any) -> str:
        """Its test as the simulator takes it, with words of a design in addition."""
        words = {**self.words, **changes}
        if self.kind == "transfers":
            return single_test(str(words.pop("test")), **words).to_json()
        if self.kind == "frames":
            line = Ethernet(line_gbps=float(words["line"]))
            return Frames(nic, [words["frame"]], line, words["direction"], packets=PACKETS).to_json()
        return _message(words)


def _message(words: Mapping[str, Any]) -> str:
    """A suite of one test of messages: a stream for a rate, one at a time for a latency."""
    parameters: dict[str, Any] = {
        "connections": None, "cores": 1, "eviction": None, "generation": None, "lanes": None,
        "messages": _MESSAGES, "pace": "stream", "pressure": None, "sharing": "own-queues", "size_bytes": 64,
        "store_bytes": None, "store_kind": None, "stores_up_to_bytes": None,
    }  # fmt: skip
    unknown = [word for word in words if word not in {*parameters, "way", "size"}]
    if words["pace"] == "alone":
        parameters["messages"] = 1
    if unknown:
        known = ", ".join(["size", *parameters])
        raise refusal("unknown-key", f"target: {unknown[0]}: no word of a test of messages: give one of {known}")
    given = {("size_bytes" if word == "size" else word): value for word, value in words.items()}
    test = {"family": "design", "name": "design", "parameters": dict(sorted({**parameters, **given}.items()))}
    return json.dumps({"name": "design", "title": "design", "tests": [test]})


def targets_of(file: DesignFile) -> tuple[Target, ...]:
    """The targets of a file.

    Raises:
        InputError: One needs a NIC or a message profile that the file does not name, or two have one name.
    """
    targets = tuple(_target(number, table, file) for number, table in enumerate(file.target))
    names = [target.name for target in targets]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise refusal("conflict", f"target: two are called {twice[0]}: give each a name of its own")
    return targets


def _target(number: int, table: TargetTable, file: DesignFile) -> Target:
    limit, value = table.limit
    kind: Kind = "transfers" if table.test is not None else "frames" if table.frame is not None else "messages"
    if (kind, limit) in _LACKING:
        raise refusal("conflict", f"target.{number}.{limit}: {_LACKING[kind, limit]}")
    needed = {"frames": ("nic", file.nic), "messages": ("messages", file.messages)}.get(kind)
    if needed is not None and needed[1] is None:
        raise refusal("missing", f"target.{number}: is of {kind}: name {needed[0]} above the tables")
    size = {} if table.size is None else {"size": table.size}
    if kind == "transfers":
        words = {"test": table.test, **size, **table.set_}
        name = " ".join(str(word) for word in words.values())
    elif kind == "frames":
        words = {"frame": table.frame, "line": table.line, "direction": table.direction, **table.set_}
        name = f"{table.frame} B frames {table.direction}"
    else:
        pace = "stream" if limit.startswith("at_least") else "alone"
        words = {"way": table.way, "pace": pace, **size, **table.set_}
        name = f"{table.size or 64} B messages"
    label = {"at_most_median_ns": " median", "at_most_p99_9_ns": " p99.9", "at_most_dropped_share": " drops"}
    return Target(table.name or name + label.get(limit, ""), kind, limit, value, words)
