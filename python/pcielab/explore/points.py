"""Simulated points of a question, in an order that shows the shape of curves first.

Points are cached by address, for sliders that move back. Each is a separate test, with the numbers of
`pcielab run --test`.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pcielab import _core
from pcielab.explore.compiled import ask_page
from pcielab.explore.question import Question
from pcielab.library.profiles import ResolvedSystem
from pcielab.sweeps.point import Point

Panel = Literal["size", "window", "latency"]
_KEPT = 4096


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
            known = ask_page("drawn", record)
            with self._lock:
                self._known[address] = known
                if len(self._known) > _KEPT:
                    self._known.popitem(last=False)
        swept = "size" if wanted.panel == "latency" else wanted.panel
        return {"panel": wanted.panel, swept: wanted.bytes_, **known}


def wanted(question: Question, system: ResolvedSystem) -> Iterator[Wanted]:
    """The points of a question, coarse to fine: its own first, then the ends of curves, then halves of halves."""
    described = system.to_json()
    for one in ask_page("plan", question.of_tests()):
        suite = json.dumps(one["suite"], sort_keys=True, separators=(",", ":"))
        yield Wanted(one["panel"], one["bytes"], Point(described, suite, seed=question.seed))
