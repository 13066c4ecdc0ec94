"""Axes: bytes in powers of two (64, 1K, 4M), latency in ns, bandwidth in Gb/s."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import altair as alt
import numpy as np
import pandas as pd

# 512, 1K, 1.5M: as on the command line.
_BYTES_LABEL = (
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~g') + 'M'"
    " : datum.value >= 1024 ? format(datum.value / 1024, '~g') + 'K' : format(datum.value, '~g')"
)

_WIDE = 8.0


def bytes_axis(field: str, title: str, values: Iterable[float], *, step: int = 1) -> alt.X:
    """A log-2 axis over sizes or windows, with a tick at every `step`-th power of two in the range of `values`."""
    present = list(values)
    low, high = min(present), max(present)
    first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
    ticks = [2**power for power in range(first, last + 1, step)]
    return alt.X(
        f"{field}:Q",
        title=title,
        scale=alt.Scale(type="log", base=2, domain=[low, max(high, low * 2)], nice=False),
        axis=alt.Axis(values=ticks, labelExpr=_BYTES_LABEL, labelFlush=False),
    )


def bytes_ticks(values: Iterable[float]) -> alt.Axis:
    """Ticks of sizes on any scale: 64, 256, 1K, spaced for a narrow page."""
    present = list(values)
    first, last = math.floor(math.log(min(present), 4)), math.ceil(math.log(max(present), 4))
    return alt.Axis(
        values=[4**power for power in range(first, last + 1)], labelExpr=_BYTES_LABEL, labelFlush=False
    )


def window_axis(values: Iterable[float]) -> alt.X:
    """The window of a sweep; ticks at every fourth power keep 4K to 64M apart."""
    return bytes_axis("window_bytes", "window (bytes)", values, step=2)


POSITION = "position"
"""Column with the positions of sizes on a `SizeAxis`."""
_MOST_TICKS = 12
_LEAST_APART = 0.25
"""Smallest distance of neighbouring sizes, in octaves: bandwidths jump between 63, 64 and 65 B."""


@dataclass(frozen=True)
class SizeAxis:
    """A logarithmic axis over transfer sizes, stretched where neighbours would touch.

    Attributes:
        sizes: Tested sizes, rising.
        positions: Their positions on the axis.
    """

    sizes: tuple[float, ...]
    positions: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> "SizeAxis":
        """The axis for tested sizes."""
        sizes = sorted({float(value) for value in values})
        gaps = np.maximum(np.diff(np.log2(sizes)), _LEAST_APART)
        return cls(tuple(sizes), (0.0, *np.cumsum(gaps).tolist()))

    def positioned(self, rows: pd.DataFrame, field: str = "size_bytes") -> pd.DataFrame:
        """The rows with the positions of their sizes; untested sizes are interpolated."""
        return rows.assign(**{POSITION: self.at(rows[field])})

    def at(self, values: Iterable[float]) -> list[float]:
        """The positions of sizes."""
        logarithms = np.log2(np.asarray(list(values), dtype=float))
        return [float(position) for position in np.interp(logarithms, np.log2(self.sizes), self.positions)]

    @property
    def encoding(self) -> alt.X:
        """The axis, with a tick at every power of two, or at every second or third of many."""
        first, last = math.ceil(math.log2(self.sizes[0])), math.floor(math.log2(self.sizes[-1]))
        powers = range(first, last + 1, math.ceil((last - first + 1) / _MOST_TICKS) or 1)
        ticks = [2**power for power in powers]
        values = [round(position, 6) for position in self.at(ticks)]
        labels = [size_text(tick) for tick in ticks]
        return alt.X(
            f"{POSITION}:Q",
            title="transfer size (bytes)",
            scale=alt.Scale(domain=[0, max(self.positions[-1], 1.0)], nice=False),
            axis=alt.Axis(values=values, labelExpr=f"{labels}[indexof({values}, datum.value)]", labelFlush=False),
        )


def bandwidth_axis(field: str = "bandwidth", *, from_zero: bool = True) -> alt.Y:
    """Payload bandwidth in Gb/s."""
    return alt.Y(f"{field}:Q", title="bandwidth (Gb/s)", scale=alt.Scale(zero=from_zero))


def latency_axis(field: str = "median", title: str = "median latency (ns)") -> alt.Y:
    """Latency in ns; not from 0, since differences are a few percent of the round trip."""
    return alt.Y(f"{field}:Q", title=title, scale=alt.Scale(zero=False))


def distribution_axis(values: Iterable[float]) -> alt.X:
    """Latencies of a distribution: logarithmic where it spans many times its minimum, linear otherwise."""
    scale, axis = _of_latencies(values)
    return alt.X("latency_ns:Q", title="latency (ns)", scale=scale, axis=axis)


def latency_axis_of(values: Iterable[float]) -> alt.Y:
    """Single latencies, with the scale of their distribution."""
    scale, axis = _of_latencies(values)
    return alt.Y("latency_ns:Q", title="latency (ns)", scale=scale, axis=axis)


def _of_latencies(values: Iterable[float]) -> tuple[alt.Scale, alt.Axis]:
    present = list(values)
    low, high = min(present), max(present)
    if high <= _WIDE * low:
        return alt.Scale(zero=False), alt.Axis()
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10**power for power in powers for step in (1, 2, 5) if low <= step * 10**power <= high]
    return alt.Scale(type="log", nice=False), alt.Axis(values=ticks, format="~s")


def percent_axis(field: str, title: str) -> alt.Y:
    """A change in percent, signed."""
    return alt.Y(f"{field}:Q", title=title, axis=alt.Axis(format="+.2~f"))


def size_text(size: float) -> str:
    """A size as the axes write it: 64, 4K, 1.5M."""
    for factor, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= factor:
            return f"{size / factor:g}{letter}"
    return f"{size:g}"
