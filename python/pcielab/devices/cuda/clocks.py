"""The two clocks of a GPU: a processor's clock, which counts latencies, and the global timer.

A processor's clock varies with load and temperature. Every launch of a latency test measures the length of its
cycle with the global timer; that length is the tick of the test.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pcielab.devices.cuda.opened import OpenCard, Report
from pcielab.devices.facts import Timer

CLOCK_CHANGE = 0.005
"""A clock that varies by more than this within a test gets a remark."""
_EVENT_SHARE, _EVENT_NS = 0.01, 100e3
"""Events around a launch may differ from its warps' clocks by this share plus the time to start it."""
_READINGS = 4096
_WORTH_NS = 5e6
"""Shorter launches say little about a clock."""


@dataclass(frozen=True)
class Steps:
    """Smallest steps of the clocks: of the global timer, and between two readings of a processor's clock."""

    timer_ns: int
    reading_cycles: int


def measure_steps(card: OpenCard) -> Steps:
    """Measure the steps by repeated readings of both clocks.

    Raises:
        RuntimeError: One of them stands still or goes backwards.
    """
    readings = card.memory("clock readings", 16 * _READINGS)
    card.start("clocks", 1, 1, _READINGS, readings, card.stop_flag)
    card.wait_for_stream("reading the clocks")
    pairs = card.download(readings, 4 * _READINGS).view(np.uint64).reshape(-1, 2).astype(np.int64)
    steps = [np.diff(clock) for clock in pairs.T]
    moved = [step[step > 0] for step in steps]
    if not all(len(step) for step in moved) or any((step < 0).any() for step in steps):
        raise RuntimeError("the GPU's clocks do not go forward: nothing can be timed with them")
    return Steps(*(int(step.min()) for step in moved))


class Clock:
    """The length of a cycle over one test."""

    def __init__(self, nominal: Timer) -> None:
        self._nominal = nominal
        self._cycles = self._ns = 0
        self._lengths: list[float] = []

    def took(self, report: Report) -> None:
        """Add the clock readings of a launch of one warp."""
        cycles, ns = report.last_cycle - report.first_cycle, report.last_ns - report.first_ns
        if cycles <= 0 or ns <= 0:
            return
        self._cycles += cycles
        self._ns += ns
        if ns >= _WORTH_NS:
            self._lengths.append(ns / cycles)

    @property
    def timer(self) -> Timer | None:
        """The tick of the test; None if it was too short."""
        if self._ns < _WORTH_NS:
            return None
        length = Fraction(self._ns, self._cycles).limit_denominator(10**6)
        return Timer(length.numerator, length.denominator)

    @property
    def clock_mhz(self) -> float | None:
        """The processor's clock, over the test."""
        return 1e3 * self._cycles / self._ns if self._ns else None

    @property
    def remark(self) -> str | None:
        """A remark if the clock varied within the test."""
        if len(self._lengths) < 2:
            return None
        shortest, longest = min(self._lengths), max(self._lengths)
        if longest / shortest <= 1 + CLOCK_CHANGE:
            return None
        return f"the processor's clock varied between {1e3 / longest:.0f} and {1e3 / shortest:.0f} MHz"


def check_events(report: Report) -> None:
    """Check the clocks of the warps against the events around their launch.

    Raises:
        RuntimeError: They disagree.
    """
    excess_ns = abs(report.event_ns - report.elapsed_ns)
    if report.elapsed_ns >= _WORTH_NS and excess_ns > _EVENT_SHARE * report.elapsed_ns + _EVENT_NS:
        raise RuntimeError(
            f"clocks disagree: {report.elapsed_ns:.0f} ns from the first start to the last end of its warps, "
            f"{report.event_ns:.0f} ns between the events around the launch"
        )
