"""The words of the published pcie-bench files: columns, names of tests, patterns and cache states, families.

Source: the published data and the behaviour of the program that wrote them. `importers.pcie_bench` and
`exporters.pcie_bench` share this module.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pcielab.errors import refusal

KEY_COLUMNS = ("Test", "PAT", "Cache", "HO", "DO", "WinSZ", "SZ")

LATENCY_COLUMNS = {
    "TAvg": "average_total",
    "Avg": "average",
    "Med": "median",
    "Min": "minimum",
    "Max": "maximum",
    "95%": "p95",
    "99.9%": "p999",
}
"""Metrics of the columns in cycles; each column also exists in ns, as `Med(ns)`."""

LATENCY_HEAD = (
    *KEY_COLUMNS,
    *LATENCY_COLUMNS,
    *(f"{column}(ns)" for column in LATENCY_COLUMNS),
    "#outliers",
    "#samples",
)
BANDWIDTH_HEAD = (*KEY_COLUMNS, "Time(cyc)", "Time", "Bytes", "Trans", "BW (GB/s)", "Trans/s")
"""`BW (GB/s)` holds Gb/s in every published file: 8 Bytes / Time."""

CDF_HEAD = ("cycles", "ns", "cdf")

PATTERNS = {"Seq": "sequential", "Rand": "random", "Fix": "fixed", "Stri": "strided"}
"""The published files use the first two; the others are ours, of the same width."""

CACHE_STATES = {"Cold": "cold", "DThrash": "device-thrash", "DWarm": "device-warm", "HWarm": "host-warm"}

FAMILIES = (
    "lat_cmd_sizes",
    *(f"lat_cmd_sweep_{test}_rnd_{size}" for test in ("rd", "wrrd") for size in ("08", "64")),
    "lat_cmd_off_rd",
    "lat_cmd_off_wrrd",
    "lat_dma_sizes",
    "lat_dma_sizes_byte_inc",
    "lat_dma_sweep_rd_rnd_64",
    "lat_dma_sweep_wrrd_rnd_64",
    "lat_dma_off_rd",
    "lat_dma_off_wrrd",
    "lat_cmd_details",
    "lat_dma_details",
    "bw_dma_sz_sweep",
    *(f"bw_dma_win_sweep_{test}_rnd_{size}" for test in ("rd", "wr") for size in (64, 128, 256, 512)),
    "bw_dma_off_rd_cold",
    "bw_dma_off_wr_cold",
    "bw_dma_off_rd",
    "bw_dma_off_wr",
)
"""The families, in the order of a full run."""

ORIGIN_FILE = "ORIGIN.txt"
"""The file with the origin of an exported folder's numbers, and its timer."""

_TICK = re.compile(r"\d{1,10}(/\d{1,10})?", re.ASCII)


@dataclass(frozen=True)
class Timer:
    """The timer of a device: one tick lasts `tick_ns` and counts `cycles` cycles of its clock."""

    tick_ns: Fraction
    cycles: int

    @property
    def cycle_ns(self) -> Fraction:
        """The length of one cycle."""
        return self.tick_ns / self.cycles

    def cycles_of(self, time_ns: float) -> float:
        """A time in cycles, rounded if it is whole up to floating-point error."""
        cycles = time_ns * self.cycle_ns.denominator / self.cycle_ns.numerator
        whole = round(cycles)
        return float(whole) if abs(cycles - whole) <= 1e-12 * abs(cycles) else cycles

    @classmethod
    def of_texts(cls, tick_ns: str, cycles: str) -> "Timer":
        """The timer of a file's texts: a tick in ns (`40/3`), and the cycles in it.

        Raises:
            ValueError: One is not a number, is 0, or is above 2^32.
        """
        if not (_TICK.fullmatch(tick_ns) and _TICK.fullmatch(cycles)):
            raise ValueError(f"{tick_ns!r} and {cycles!r}: give the length of a tick and its cycles")
        return cls._within_limits(Fraction(tick_ns), int(cycles))

    @classmethod
    def _within_limits(cls, tick_ns: Fraction, cycles: int) -> "Timer":
        if not all(1 <= part < 1 << 32 for part in (tick_ns.numerator, tick_ns.denominator, cycles)):
            raise ValueError("a tick is a fraction of whole numbers from 1 to 2^32 - 1, and so are its cycles")
        return cls(tick_ns, cycles)

    def manifest(self) -> dict[str, int]:
        """Its entry in a manifest, under `device`."""
        tick_ns = self.tick_ns
        return {"numerator_ns": tick_ns.numerator, "denominator": tick_ns.denominator, "cycles": self.cycles}

    @classmethod
    def of_manifest(cls, manifest: dict[str, Any], where: str) -> "Timer":
        """The timer in the manifest of a store; `where` is the store's path for errors.

        Raises:
            InputError: The manifest has none.
        """
        try:
            timer = manifest["device"]["timer"]
            return cls._within_limits(Fraction(timer["numerator_ns"], timer["denominator"]), int(timer["cycles"]))
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise refusal(
                "missing",
                f"{where}: the manifest has no usable `device.timer` for times in cycles: it needs numerator_ns, "
                "denominator and cycles",
            ) from error


NFP6000_TIMER = Timer(tick_ns=Fraction(40, 3), cycles=16)
"""16 cycles of 1.2 GHz. (The paper's text says 19.2 ns; its data say 13.333.)"""
