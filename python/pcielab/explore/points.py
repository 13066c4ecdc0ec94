"""Simulated points of a question, in an order that shows the shape of curves first.

Points are cached by address, for sliders that move back. Each is a separate test, with the numbers of
`pcielab run --test`.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from typing import Any, Literal

from pcielab import _core
from pcielab.errors import InputError
from pcielab.explore.answers import SIZES, WINDOWS
from pcielab.explore.question import Question
from pcielab.library.profiles import ResolvedSystem
from pcielab.sweeps.point import Point

Panel = Literal["size", "window", "latency"]
_KEPT = 4096
_SHOWN_BINS = 400


@dataclass(frozen=True)
class Wanted:
    """A point of a panel, and its size or window in bytes."""

    panel: Panel
    bytes_: int
    point: Point


class Memory:
    """Cache of simulated points; the least recently used are dropped."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def found(self, wanted: Wanted, stop: _core.Stop) -> dict[str, Any] | None:
        """The values of a point for its panel; None if stopped before it was complete."""
        address = wanted.point.address
        with self._lock:
            known = self._known.get(address)
            if known is not None:
                self._known.move_to_end(address)
        if known is None:
            record = wanted.point.record(stop)
            if record["status"] == "interrupted":
                return None
            known = _drawn(record)
            with self._lock:
                self._known[address] = known
                if len(self._known) > _KEPT:
                    self._known.popitem(last=False)
        swept = "size" if wanted.panel == "latency" else wanted.panel
        return {"panel": wanted.panel, swept: wanted.bytes_, **known}


def wanted(question: Question, system: ResolvedSystem) -> Iterator[Wanted]:
    """The points of a question, coarse to fine: its own first, then the ends of curves, then halves of halves."""
    sizes = [("size", size) for size in coarse_to_fine(SIZES)]
    windows = [("window", window) for window in coarse_to_fine(WINDOWS)]
    own = [("size", question.size), ("latency", question.size), ("window", question.window)]
    described, seen = system.to_json(), set()
    for panel, bytes_ in (*own, *_by_turns(sizes, windows)):
        if (panel, bytes_) in seen:
            continue
        seen.add((panel, bytes_))
        operation = question.latency if panel == "latency" else question.bandwidth
        other = {panel: bytes_} if panel != "latency" else {"details": True}
        try:
            suite = question.suite(operation, **other)
        except InputError:
            continue
        yield Wanted(panel, bytes_, Point(described, suite.to_json(), seed=question.seed))  # type: ignore[arg-type]


def coarse_to_fine(values: Sequence[int]) -> list[int]:
    """Values in the order ends, middle, quarters, ...: every prefix spreads over the whole range."""
    order = [0, len(values) - 1]
    gaps = [(0, len(values) - 1)]
    while gaps:
        low, high = gaps.pop(0)
        middle = (low + high) // 2
        if middle not in (low, high):
            order.append(middle)
            gaps += [(low, middle), (middle, high)]
    return [values[index] for index in dict.fromkeys(order)]


def _by_turns(*lists: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    for row in zip_longest(*lists):
        yield from (one for one in row if one is not None)


def _drawn(record: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a record that pictures show."""
    numbers = {row["metric"]: row["value"] for row in record["scalars"] if not row["subject"]}
    shown = {"status": record["status"], "message": record["message"]}
    for metric, name in (
        ("bandwidth", "gbps"), ("bandwidth_low", "low"), ("bandwidth_high", "high"),
        ("median", "median_ns"), ("p99", "p99_ns"), ("minimum", "minimum_ns"),
    ):  # fmt: skip
        if metric in numbers:
            shown[name] = numbers[metric]
    for distribution in record["distributions"]:
        if distribution["metric"] == "latency":
            shown["cdf"] = _cdf(distribution)
    return shown


def _cdf(distribution: dict[str, Any]) -> list[tuple[float, float]]:
    """Latencies in ns and the share of samples up to each, thinned for a picture."""
    tick = Fraction(distribution["tick"])
    bins = sorted(distribution["bins"])
    total, seen, steps = sum(count for _, count in bins), 0, []
    for value, count in bins:
        seen += count
        steps.append((value * tick.numerator / tick.denominator, seen / total))
    every = -(-len(steps) // _SHOWN_BINS)
    return [step for nth, step in enumerate(steps) if nth % every == 0 or nth == len(steps) - 1]
