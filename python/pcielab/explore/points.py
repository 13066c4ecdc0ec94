"""What the simulator says to a question, point by point: those that show the shape of a curve first.

Points are remembered by their address, so that a slider that goes back finds them. Each is a test by itself, with
the numbers of `pcielab run --test`.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
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
    """A point of a panel, and where it stands."""

    panel: Panel
    place: int
    point: Point


class Memory:
    """Points that were simulated; the least recently used are forgotten."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def found(self, wanted: Wanted, stop: _core.Stop) -> dict[str, Any] | None:
        """What a panel draws of a point; None where it was stopped before it was known."""
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
        return {
            "panel": wanted.panel,
            wanted.panel if wanted.panel != "latency" else "size": wanted.place,
            **known,
        }


def wanted(question: Question, system: ResolvedSystem) -> Iterator[Wanted]:
    """The points of a question, coarse to fine: its own first, then the ends of curves, then halves of halves."""
    sizes = [("size", size) for size in coarse_to_fine(SIZES)]
    windows = [("window", window) for window in coarse_to_fine(WINDOWS)]
    own = [("size", question.size), ("latency", question.size), ("window", question.window)]
    described, seen = system.to_json(), set()
    for panel, place in (*own, *_by_turns(sizes, windows)):
        if (panel, place) in seen:
            continue
        seen.add((panel, place))
        operation = question.latency if panel == "latency" else question.bandwidth
        other = {panel: place} if panel != "latency" else {"details": True}
        try:
            suite = question.suite(operation, **other)
        except InputError:
            continue
        yield Wanted(panel, place, Point(described, suite.to_json(), seed=question.seed))  # type: ignore[arg-type]


def coarse_to_fine(values: Sequence[int]) -> list[int]:
    """Values in an order in which any beginning shows as much of the whole as it can: ends, middle, quarters."""
    order = [0, len(values) - 1]
    gaps = [(0, len(values) - 1)]
    while gaps:
        low, high = gaps.pop(0)
        middle = (low + high) // 2
        if middle not in (low, high):
            order.append(middle)
            gaps += [(low, middle), (middle, high)]
    return [values[place] for place in dict.fromkeys(order)]


def _by_turns(*lists: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    for place in range(max(map(len, lists))):
        for one in lists:
            if place < len(one):
                yield one[place]


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
    """Latencies in ns and the share of samples up to each, thinned to what a picture can show."""
    tick = Fraction(distribution["tick"])
    bins = sorted(distribution["bins"])
    total, seen, steps = sum(count for _, count in bins), 0, []
    for value, count in bins:
        seen += count
        steps.append((value * tick.numerator / tick.denominator, seen / total))
    every = -(-len(steps) // _SHOWN_BINS)
    return [step for place, step in enumerate(steps) if place % every == 0 or place == len(steps) - 1]
