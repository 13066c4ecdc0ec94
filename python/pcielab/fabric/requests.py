"""Requests and where their time went, as frames: one row each, all times in ns.

What the simulator hands out of flows and what a program's `Trace` has share these columns: `submitted`; `reached`,
when the command came to the device (NaN for MMIO, which has none); the three phases; and their `total`.
"""

import numpy as np
import pandas as pd

from pcielab.percentiles import percentile
from pcielab.store.flows import PHASES, TIMES


def requests_of(times: bytes) -> pd.DataFrame:
    """The frame of what the compiled half hands out: `TIMES` of each request, and the total of its phases."""
    frame = pd.DataFrame(np.frombuffer(times).reshape(-1, len(TIMES)), columns=list(TIMES))
    frame["total"] = frame[list(PHASES)].sum(axis=1)
    return frame


def summary_of(requests: pd.DataFrame) -> dict[str, float]:
    """What requests come to: how many, average and percentiles of their total, and the average of each phase.

    Also `reached_ns`: how long after its submission a command reaches the device; NaN where there is none.
    """
    total = requests["total"]
    quantiles = {f"p{share}_ns": percentile(total, share / 100) for share in (50, 90, 99)}
    phases = {f"{phase}_ns": float(requests[phase].mean()) for phase in PHASES}
    reached = {"reached_ns": float((requests["reached"] - requests["submitted"]).mean())}
    return {"requests": len(total), "average_ns": float(total.mean()), **quantiles, **phases, **reached}
