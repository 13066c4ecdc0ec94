"""The model of sweep files: values of all points, lists of values, ranges to draw from.

Python alone reads the file, by pydantic, and makes the points of a sweep. The compiled half carries each of them
out.
"""

from pathlib import Path
from typing import Any

from pydantic import Field

from pcielab.errors import found_in, refusal
from pcielab.library.input_files import given_path
from pcielab.library.lookup import is_path
from pcielab.library.profiles import resolve
from pcielab.library.profiles.part import Name, Part, Title
from pcielab.library.validation import read_as
from pcielab.sweeps.axes import Between, Scale, axes_of
from pcielab.sweeps.plan import Draws, Method, Plan


class Range(Part):
    """A range that values are drawn from."""

    low: float
    """The smallest value."""
    high: float
    """The largest value."""
    scale: Scale = "linear"
    """`linear`: all values are equally likely; `log`: all ratios are."""


class DrawTable(Part):
    """Values drawn from ranges."""

    method: Method = "hypercube"
    """A Latin hypercube, or Saltelli's design for Sobol indices."""
    count: int = Field(default=64, ge=1, le=1_000_000)
    """Number of draws; for `sobol`, a power of two, multiplied by the number of ranges + 2."""
    seed: int = Field(default=1, ge=0)
    """Seed of the draws."""
    between: dict[str, Range] = Field(min_length=1)
    """A range for each key of a system, or word of a test: `{ low = 200, high = 600 }`."""


class SweepFile(Part):
    """A sweep."""

    name: Name
    """Short name."""
    title: Title
    """One line for people."""
    system: str = "hsw2620"
    """The system: a shipped one, or a path relative to this file."""
    set_: dict[str, Any] = Field(default={}, alias="set")
    """Changes to the system of all points, by dotted key."""
    test: dict[str, Any] = Field(default={})
    """Words of the test of all points, as on the command line: `size = 64`."""
    grid: dict[str, list[Any]] = Field(default={})
    """Lists of values, combined with each other, by dotted key of the system or word of the test."""
    draw: DrawTable | None = None
    """Values drawn from ranges, for each combination of the lists."""


def load_sweep(path: str | Path) -> Plan:
    """The plan of a sweep from its file.

    Raises:
        InputError: It cannot be read, or is wrong; the message names file, key and value.
    """
    spec = given_path(str(path))
    file = read_as(SweepFile, spec)
    reference = file.system
    if is_path(reference):
        reference = str(given_path(reference, spec.parent))
    draw = file.draw
    ranges = {name: Between(one.low, one.high, one.scale) for name, one in (draw.between if draw else {}).items()}
    with found_in(spec):
        axes = axes_of(_once(file.test, file.grid, ranges))
    draws = Draws(draw.method, draw.count, draw.seed) if draw else Draws()
    return Plan(resolve(reference, file.set_), axes, draws)


def _once(*tables: dict[str, Any]) -> dict[str, object]:
    """Merge tables; refuse a name that is in two of them."""
    together: dict[str, object] = {}
    for table in tables:
        twice = together.keys() & table.keys()
        if twice:
            raise refusal(
                "conflict", f"{min(twice)}: is in two tables: give it in one of test, grid and draw.between"
            )
        together.update(table)
    return together
