"""Frames of requests with their phases: one row per request, all times in ns.

Columns, for simulated flows and a program's `Trace` alike: `submitted`; `reached`, when the command reached the
device (NaN for MMIO, which has no command); the three phases; and their `total`.
"""

import numpy as np
import pandas as pd

from pcielab.percentiles import percentile
from pcielab.store.flows import PHASES, TIMES


def requests_of(times: bytes) -> pd.DataFrame:
    """The frame of the compiled half's array of `TIMES` per request, with the total of the phases."""
    frame = pd.DataFrame(np.frombuffer(times).reshape(-1, len(TIMES)), columns=list(TIMES))
    frame["total"] = frame[list(PHASES)].sum(axis=1)
    return frame


def summary_of(requests: pd.DataFrame) -> dict[str, float]:
    """Number of requests, average and percentiles of their total, and the average of each phase.

    Also `reached_ns`: average time from submission until the command reaches the device; NaN without commands.
    """
    total = requests["total"]
    quantiles = {f"p{share}_ns": percentile(total, share / 100) for share in (50, 90, 99)}
    phases = {f"{phase}_ns": float(requests[phase].mean()) for phase in PHASES}
    reached = {"reached_ns": float((requests["reached"] - requests["submitted"]).mean())}
    return {"requests": len(total), "average_ns": float(total.mean()), **quantiles, **phases, **reached}
