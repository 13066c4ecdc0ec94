"""Sizes of devices for latencies that vary, held to queues that are simulated with other draws.

`make sizing-cases` draws 200 cases: the reads of a system in some state of its caches and over some window, a
frame size, a line, and a percentile of 99 or 99.9. A size holds if the share of DMAs that wait in a queue of this
size, with other draws of the same latencies, is at most what the percentile allows. The smallest size that holds
is found by trying each downwards. E3 is left out: one read at a time lets it sleep for milliseconds, and a line
does not.
"""

import random
import sys
from functools import cache

import numpy as np

from pcielab.design.in_flight import Latencies, Numbers, simulated, sized, waiting_share

CASES = 200
DRAWS = 200_000
SYSTEMS = ("hsw2620", "snb", "snb-iommu", "ib-000", "ib-000-nosp", "ib-011", "ib-011-nosp", "netfpga-hsw")
SIZES = (64, 128, 256, 512, 1024)
LINES = (10.0, 40.0, 100.0)
WINDOWS = (8192, 1 << 20, 1 << 24)
CACHES = ("cold", "host-warm", "device-warm")
HELD, ABOVE = 0.99, 0.1
"""The share of cases whose size holds, and the most by which a size exceeds the smallest one."""


@cache
def latencies(system: str, size: int, state: str, window: int) -> Latencies:
    """The simulated latencies of a case; several cases may have the same."""
    return simulated(system, size, state, window)


def drawn(of: Latencies, seed: int) -> Numbers:
    """Other draws of the same latencies."""
    shares = np.random.default_rng(1000 + seed).random(DRAWS)
    at = np.minimum(np.searchsorted(np.cumsum(of.shares), shares), len(of.ns) - 1)
    found: Numbers = of.ns[at]
    return found


def main(cases: int) -> int:
    """Try the cases; return 1 if too few sizes hold or one is too large."""
    choose = random.Random(1)
    held, largest = 0, 0.0
    for case in range(cases):
        system, size, line = choose.choice(SYSTEMS), choose.choice(SIZES), choose.choice(LINES)
        of = latencies(system, size, choose.choice(CACHES), choose.choice(WINDOWS))
        percentile = choose.choice((99.0, 99.9))
        interval = 8 * (size + 20) / line
        row = sized(of, size, "packets", interval, percentile)
        draws, allowed = drawn(of, case), 1 - percentile / 100
        holds = waiting_share(draws, interval, row.dmas_in_flight) <= allowed
        smallest = row.dmas_in_flight
        while smallest > 1 and waiting_share(draws, interval, smallest - 1) <= allowed:
            smallest -= 1
        above = row.dmas_in_flight / smallest - 1
        held += holds
        # Whole slots: one more is no error of a small size.
        if row.dmas_in_flight > smallest + 1:
            largest = max(largest, above)
        if not holds or (above > ABOVE and row.dmas_in_flight > smallest + 1):
            asked = f"{system}, {size} B, {line:g} Gb/s, {percentile:g} %"
            print(
                f"{case}: {asked}: {row.dmas_in_flight} in flight, the smallest that holds is {smallest}",
                flush=True,
            )
    print(f"{held} of {cases} sizes hold; the largest is {100 * largest:.1f} % above the smallest that holds")
    return int(held < HELD * cases or largest > ABOVE)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else CASES))
