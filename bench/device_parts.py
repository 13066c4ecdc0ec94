"""What of a real device's numbers is ours: the NVMe driver's own time, and loops that store, against memset."""

from collections.abc import Mapping
from dataclasses import dataclass

DRIVER = "nvme/commands of 4 KiB, 32 at a time, 1/s"
STORES = "stores of 4 KiB/"
BASELINE = f"{STORES}memset, s"


@dataclass(frozen=True)
class Part:
    """A part, what it takes, and the figure that it should keep to."""

    part: str
    measured: float
    unit: str
    goal: str
    kept: bool


def device_parts(results: Mapping[str, float]) -> list[Part]:
    """Rows from what criterion has just measured; none where it measured nothing of this."""
    parts = []
    if DRIVER in results:
        time_us = 1e6 / results[DRIVER]
        parts.append(Part("nvme driver, a command", float(f"{time_us:.3g}"), "us", "0.5 or less", time_us <= 0.5))
    if BASELINE in results:
        for name, seconds in sorted(results.items()):
            if name.startswith(STORES) and name != BASELINE:
                share = float(f"{results[BASELINE] / seconds:.3g}")
                exempt = "Direct" in name
                goal = "" if exempt else "0.5 or more of memset"
                stores = name.removeprefix(STORES).removesuffix(", s")
                parts.append(Part(stores, share, "of memset", goal, exempt or share >= 0.5))
    return parts
