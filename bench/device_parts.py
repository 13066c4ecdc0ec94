"""Our own share of a real device's numbers: the drivers' time, and store loops relative to memset."""

from collections.abc import Mapping
from dataclasses import dataclass

DRIVERS = {
    "nvme/commands of 4 KiB, 32 at a time, 1/s": ("nvme driver, a command", 0.5),
    "e1000e/frames of 1500 B, 32 at a time, 1/s": ("e1000e driver, a frame", 0.67),
}
"""For each name of criterion: our name, and the goal, us. The drive must bind, not its driver; a frame must take
less than the shortest one on a 1 Gb/s line."""
STORES = "stores of 4 KiB/"
BASELINE = f"{STORES}memset, s"


@dataclass(frozen=True)
class Part:
    """A part, its measured value, and the goal for it."""

    part: str
    measured: float
    unit: str
    goal: str
    kept: bool


def device_parts(results: Mapping[str, float]) -> list[Part]:
    """Rows from criterion's results; empty if it measured none of these parts."""
    parts = []
    for name, (part, most_us) in DRIVERS.items():
        if name in results:
            time_us = 1e6 / results[name]
            goal = f"{most_us} or less"
            parts.append(Part(part, float(f"{time_us:.3g}"), "us", goal, time_us <= most_us))
    if BASELINE in results:
        for name, seconds in sorted(results.items()):
            if name.startswith(STORES) and name != BASELINE:
                share = float(f"{results[BASELINE] / seconds:.3g}")
                exempt = "Direct" in name
                goal = "" if exempt else "0.5 or more of memset"
                stores = name.removeprefix(STORES).removesuffix(", s")
                parts.append(Part(stores, share, "of memset", goal, exempt or share >= 0.5))
    return parts
