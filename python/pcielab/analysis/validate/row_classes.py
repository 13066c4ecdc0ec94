"""Classes of rows in which twins err alike: by metric, test, size, and what is special about the row.

A class says nothing about the machine, so that the errors of the twins of some machines tell those of another.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pcielab.analysis.validate.regimes import BEYOND_THE_TLB, CACHE_EDGE, UNALIGNED, Regimes
from pcielab.library.profiles.parts import System
from pcielab.model.questions import system_capacities

SIZES_UP_TO_BYTES = (16, 64, 128, 256, 512, 1024, 2048)
"""Upper ends of the ranges of sizes: the suite's sizes of windows, and those between them."""
WINDOWS_UP_TO_BYTES = 64 << 20
"""The largest window of the published suite."""
METRICS = ("bandwidth", "median", "average")
"""What a row may have: a bandwidth in Gb/s, a median and an average latency in ns."""

_APART = (BEYOND_THE_TLB, UNALIGNED, CACHE_EDGE)
"""What makes a row special, the strongest first."""
_PLAIN = "aligned, within caches and IO-TLB or far beyond them"


class RowClass(NamedTuple):
    """A class of rows.

    Attributes:
        metric: One of `METRICS`.
        name: The name of the test, for example BW_DMA_RD.
        setting: What is special about the row; "" for a class of all settings.
        size_up_to_bytes: The upper end of its range of sizes; 0 for a class of all sizes.
    """

    metric: str
    name: str
    setting: str
    size_up_to_bytes: int

    def wider(self) -> Iterator["RowClass"]:
        """The classes that hold this one, the narrowest first: of all sizes, then of all settings, too."""
        yield RowClass(self.metric, self.name, self.setting, 0)
        yield RowClass(self.metric, self.name, "", 0)


@dataclass(frozen=True)
class RowClasses:
    """Finds the classes of the rows of one system."""

    regimes: Regimes

    @classmethod
    def of(cls, system: System) -> "RowClasses":
        """The classes on a simulated system."""
        return cls(Regimes(system, system_capacities(system.handle), {}))

    def classify(self, row: Mapping[str, Any], metric: str) -> RowClass | None:
        """The class of a metric of a row; None outside what the published suite covers."""
        size = next((most for most in SIZES_UP_TO_BYTES if row["size_bytes"] <= most), None)
        limited = any(_is_given(row.get(key)) for key in ("outstanding", "stride_units"))
        if size is None or limited or row["window_bytes"] > WINDOWS_UP_TO_BYTES:
            return None
        special = self.regimes.special(row)
        setting = next((one for one in _APART if one in special), _PLAIN)
        return RowClass(metric, str(row["name"]), setting, size)


def _is_given(value: Any) -> bool:
    """Whether a parameter that the published suite leaves at its default has another value."""
    return value is not None and not (isinstance(value, float) and math.isnan(value)) and value != 1
