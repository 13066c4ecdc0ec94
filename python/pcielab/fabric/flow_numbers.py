"""The times of a flow's requests, and two verdicts on a flow: whether it fits, and whether it is steady.

Little's law holds for every steady flow: requests in flight are their rate times their latency. Otherwise the
averages include the start or too few requests: the first requests meet empty queues and are faster than later
ones.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

PHASES = ("host", "fabric", "device")
"""Phases of a request: queued at the host, in the fabric, executed at the device."""
TIMES = ("submitted", "reached", *PHASES)
"""Times of each request."""
_FITTING_PERCENT = 2.0
"""Largest share of its rate that a fitting flow may lack: requests in flight at the end are not counted."""
MOST_PERCENT = 2.0
"""Largest deviation of rate times latency from the requests in flight, in percent of them."""


def departures(flows: "pd.DataFrame") -> "pd.Series":
    """Why each flow is not steady, in words; None for a steady flow, and for one without requests.

    Args:
        flows: One row per flow with `size_bytes`, `gbytes_per_s`, `requests`, `average_ns` and `in_flight`;
            without `in_flight` there are no departures.
    """
    import pandas as pd

    needed = flows.reindex(columns=["size_bytes", "gbytes_per_s", "requests", "average_ns", "in_flight"])
    found = [_departure(*row) for row in needed.astype(float).itertuples(index=False, name=None)]
    return pd.Series(found, flows.index, dtype=object)


def _departure(
    size_bytes: float, gbytes_per_s: float, requests: float, average_ns: float, in_flight: float
) -> str | None:
    if not in_flight > 0:
        return None
    if not requests > 0:
        return "no request returned in the counted time: lengthen it"
    if not size_bytes > 0:
        return None
    expected = gbytes_per_s / size_bytes * average_ns
    if expected != expected:  # the rate or the latency is missing
        return None
    if abs(expected / in_flight - 1) * 100 <= MOST_PERCENT:
        return None
    return (
        f"not steady: {in_flight:.4g} in flight, but rate x latency = {expected:.4g} (Little's law): lengthen the "
        "warm-up or the counted time"
    )


def fitting(flows: "pd.DataFrame") -> "pd.Series":
    """Whether each flow gets the standalone bandwidth that it declares, to 2 %; None if it declares none.

    Args:
        flows: One row per flow with `standalone_gbytes_per_s` and `gbytes_per_s`; missing columns are empty.
    """
    columns = ["standalone_gbytes_per_s", "gbytes_per_s"]
    asked, granted = (flows.reindex(columns=columns)[column].astype("float64") for column in columns)
    fits = granted >= asked * (1 - _FITTING_PERCENT / 100)
    return fits.astype(object).where(asked.notna() & granted.notna(), None)
