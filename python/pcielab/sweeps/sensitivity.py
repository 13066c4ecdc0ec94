"""Sobol indices of the ranges of a sweep, by SALib.

Saltelli et al., "Variance based sensitivity analysis of model output", Computer Physics Communications 181 (2010).
"""

from typing import TYPE_CHECKING

from pcielab.errors import refusal
from pcielab.extras import needed
from pcielab.sweeps.plan import Plan, problem

if TYPE_CHECKING:
    import pandas as pd

_RESAMPLES = 200


def indices(frame: "pd.DataFrame", plan: Plan, metric: str) -> "pd.DataFrame":
    """Sobol indices of each range: first_order, first_order_conf, total, total_conf; see `Results.sensitivity`.

    Raises:
        InputError: The sweep was not drawn by `sobol`, lacks the metric, or a point has no number.
    """
    import pandas as pd

    if not plan.ranges or plan.draws.method != "sobol":
        raise refusal(
            "missing", "sensitivity: needs ranges drawn by sobol: give between(low, high), and method sobol"
        )
    if metric not in frame:
        raise refusal("not-found", f"sensitivity: there is no column {metric}: give one of the results' metrics")
    ranges = {axis.column for axis in plan.ranges}
    lists = [axis.column for axis in plan.varying if axis.column not in ranges]
    groups = frame.groupby(lists, sort=False) if lists else [((), frame)]
    parts = []
    for at, rows in groups:
        values = rows[metric].to_numpy(dtype=float)
        missing = int((values != values).sum())
        if missing:
            raise refusal("missing", f"sensitivity: {missing} points have no {metric}: narrow the ranges")
        parts.append(pd.DataFrame([dict(zip(lists, at, strict=True))]).join(_indices(plan, values), how="cross"))
    return pd.concat(parts, ignore_index=True)[
        [*lists, "knob", "first_order", "first_order_conf", "total", "total_conf"]
    ]


def _indices(plan: Plan, values: object) -> "pd.DataFrame":
    import numpy as np
    import pandas as pd

    described = problem(plan)
    if np.ptp(np.asarray(values)) == 0:
        # SALib would divide by the variance, which is zero.
        zeros = dict.fromkeys(("first_order", "first_order_conf", "total", "total_conf"), 0.0)
        return pd.DataFrame([{"knob": name, **zeros} for name in described["names"]])
    analysis = needed("SALib.analyze.sobol", "sweep")
    found = analysis.analyze(
        described, values, calc_second_order=False, num_resamples=_RESAMPLES, seed=plan.draws.seed
    )
    return pd.DataFrame(
        {
            "knob": described["names"],
            "first_order": found["S1"],
            "first_order_conf": found["S1_conf"],
            "total": found["ST"],
            "total_conf": found["ST_conf"],
        }
    )
