"""Lines of a memory expander as work: a test for each load.

The expander is a TOML file as `pcielab model cxl` takes; `--profile` names it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pcielab.errors import out_of_range

_LEAST_LINES, _MOST_LINES, _READS = 20_000, 200_000, 10_000
"""Counted lines of a test: as many as have these reads, if that is within the limits."""
USUAL_LOADS = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True, kw_only=True)
class MemoryLines:
    """Lines that cores read and write behind CXL.mem.

    Attributes:
        read_share: Share of the lines that are read, 0 to 1.
        loads: Lines that cores send, as shares of the closed form's peak: a test each. At 0 one line at a time;
            from 1 on as many as the fill buffers hold.
        cores: Cores.
        fill_buffers: Lines that a core keeps in flight.
        lines: Counted lines of a test, after those that fill queues; None: 20,000, and up to ten times as many
            where few are read.

    Raises:
        InputError: A number is out of range.
    """

    kind: ClassVar[Literal["lines"]] = "lines"

    read_share: float = 1.0
    loads: Sequence[float] = USUAL_LOADS
    cores: int = 16
    fill_buffers: int = 16
    lines: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.read_share <= 1:
            raise out_of_range("--reads", self.read_share, "a share of 0 to 1")
        for load in self.loads:
            if not 0 <= load <= 10:
                raise out_of_range("--loads", load, "shares of the peak from 0 to 10")
        if not self.loads:
            raise out_of_range("--loads", "", "one load or more")
        for option, value, most in (("--cores", self.cores, 4096), ("--fill-buffers", self.fill_buffers, 4096)):
            if not 1 <= value <= most:
                raise out_of_range(option, value, f"1 to {most}")
        if self.lines is not None and not 100 <= self.lines <= 10_000_000:
            raise out_of_range("--lines", self.lines, "100 to 10000000")

    @property
    def name(self) -> str:
        """Short name."""
        return "mem-rd"

    @property
    def counted_lines(self) -> int:
        """Counted lines of a test."""
        if self.lines is not None:
            return self.lines
        of_reads = _READS / self.read_share if self.read_share else 0.0
        return round(min(max(of_reads, _LEAST_LINES), _MOST_LINES))

    def to_json(self) -> str:
        """The tests as the compiled half takes them."""
        cores = {"cores": self.cores, "fill_buffers": self.fill_buffers}
        return json.dumps(
            [
                {"read_share": self.read_share, "load": float(load), "cores": cores, "lines": self.counted_lines}
                for load in self.loads
            ]
        )
