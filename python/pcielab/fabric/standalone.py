"""Simulate each flow alone, and compare estimates with a simulation of all flows together.

Estimators only model links. The rate of a flow limited by small requests, few outstanding ones, or a device's
engine has to be declared as `standalone_gbytes_per_s`, or simulated here, flow by flow.
"""

import numpy as np
import pandas as pd

from pcielab.argument_types import refuses_wrong_types
from pcielab.fabric.estimation import estimate
from pcielab.fabric.simulation import check_flows, check_options, simulate
from pcielab.library.fabrics.load import Fabric
from pcielab.library.fabrics.parts import Discipline
from pcielab.work.running import Progress, no_progress

_KEYS = ["source", "destination", "primitive", "size_bytes", "outstanding", "arrivals", "socket", "memory"]
"""Columns that determine a flow's rate alone; flows with equal ones are simulated once."""


@refuses_wrong_types
def simulated_standalones(
    fabric: Fabric,
    flows: pd.DataFrame,
    *,
    discipline: Discipline = "per-destination",
    warm_up_us: float | None = None,
    duration_us: float = 200.0,
    seed: int = 1,
    progress: Progress = no_progress,
) -> pd.DataFrame:
    """The flows (see `Fabric.flows`), each with its simulated rate alone as its standalone rate.

    A declared standalone rate remains an upper limit.

    Args:
        fabric: The fabric.
        flows: The flows.
        discipline: Unit that has its own credits at every port.
        warm_up_us: Time before counting begins; None: as in `simulate`.
        duration_us: Time to count; a flow that finishes no request in it gets 0.
        seed: Seed of random arrivals.
        progress: Called after every simulation.

    Raises:
        InputError: A flow cannot exist.
    """
    check_options(duration_us, warm_up_us, seed)
    check_flows(fabric, flows)
    kinds = flows.groupby([*_KEYS, "standalone_gbytes_per_s"], dropna=False, sort=False).ngroup()
    _, first = np.unique(kinds, return_index=True)
    rates = np.empty(len(first))
    for done, row in enumerate(first):
        alone = flows.iloc[[row]]
        found = simulate(
            fabric, alone, discipline=discipline, warm_up_us=warm_up_us, duration_us=duration_us, seed=seed
        )
        rates[done] = found.flows["gbytes_per_s"].iloc[0]
        progress(done + 1, len(first), "alone", str(alone["name"].iloc[0]))
    return flows.assign(standalone_gbytes_per_s=rates[kinds.to_numpy()])


@refuses_wrong_types
def check_by_simulation(estimated: pd.DataFrame, simulated: pd.DataFrame) -> pd.DataFrame:
    """An estimate beside a simulation of the same flows.

    Args:
        estimated: `Estimate.flows`.
        simulated: `Simulated.flows` of the same flows.

    Returns:
        `estimated` with simulated_gbytes_per_s, error_percent (error of the estimate, NaN if the simulated rate is
        0), and, if a flow is not steady in the simulation, note (why).
    """
    by_flow = simulated.set_index("flow").reindex(estimated["flow"])
    found = by_flow["gbytes_per_s"].to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(found > 0, (estimated["gbytes_per_s"] / found - 1) * 100, np.nan)
    compared = estimated.assign(simulated_gbytes_per_s=found, error_percent=error)
    return compared.assign(note=by_flow["note"].to_numpy()) if by_flow["note"].notna().any() else compared


@refuses_wrong_types
def excessive(fabric: Fabric, flows: pd.DataFrame) -> pd.DataFrame:
    """The flows with a declared standalone rate above the capacity of their path.

    The columns are flow, standalone_gbytes_per_s, path_gbytes_per_s (capacity of the path's narrowest edge).
    """
    declared = flows["standalone_gbytes_per_s"].to_numpy()
    path = estimate(fabric, flows.assign(standalone_gbytes_per_s=np.nan)).flows["standalone_gbytes_per_s"]
    found = pd.DataFrame(
        {"flow": flows["name"].to_numpy(), "standalone_gbytes_per_s": declared, "path_gbytes_per_s": path}
    )
    return found[found["standalone_gbytes_per_s"] > found["path_gbytes_per_s"]]
