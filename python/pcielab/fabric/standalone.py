"""What flows get running alone, found by simulating each; and estimates held against a simulation of them all.

Estimators know links. What small requests, few outstanding, or a device's engine get is not theirs to know: it has
to be declared as `standalone_gbytes_per_s`, or simulated here, flow by flow.
"""

import numpy as np
import pandas as pd

from pcielab.fabric.estimate import estimate
from pcielab.fabric.simulate import check_flows, check_options, simulate
from pcielab.library.fabrics.load import Fabric
from pcielab.library.fabrics.parts import Discipline
from pcielab.work.running import Progress, no_progress

_TELLS_APART = ["source", "destination", "primitive", "size_bytes", "outstanding", "arrivals", "socket", "memory"]
"""What decides what a flow gets alone; those that agree in it are simulated once."""


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
    """The flows (see `Fabric.flows`) with what each gets in a simulation without the others as its standalone.

    A standalone that was declared stays its pace: the flow gets no more than that, and may get less.

    Args:
        fabric: The fabric.
        flows: The flows.
        discipline: What has credits of its own at every port.
        warm_up_us: What is not counted at the beginning; None: as `simulate` has it.
        duration_us: What is counted after that; a flow of which less than one request is done in it gets nothing.
        seed: Seed of random arrivals.
        progress: Called after every simulation.

    Raises:
        InputError: A flow cannot exist.
    """
    check_options(duration_us, warm_up_us, seed)
    check_flows(fabric, flows)
    kinds = flows.groupby([*_TELLS_APART, "standalone_gbytes_per_s"], dropna=False, sort=False).ngroup()
    _, first = np.unique(kinds, return_index=True)
    rates = np.empty(len(first))
    for done, place in enumerate(first):
        alone = flows.iloc[[place]]
        found = simulate(
            fabric, alone, discipline=discipline, warm_up_us=warm_up_us, duration_us=duration_us, seed=seed
        )
        rates[done] = found.flows["gbytes_per_s"].iloc[0]
        progress(done + 1, len(first), "alone", str(alone["name"].iloc[0]))
    return flows.assign(standalone_gbytes_per_s=rates[kinds.to_numpy()])


def check_by_simulation(estimated: pd.DataFrame, simulated: pd.DataFrame) -> pd.DataFrame:
    """The rows of an estimate beside what the same flows get in a simulation of them all.

    Args:
        estimated: `Estimate.flows`.
        simulated: `Simulated.flows` of the same flows.

    Returns:
        `estimated` with simulated_gbytes_per_s, error_percent: how far the estimate is from the simulation, NaN
        where that is 0; and, where a flow is not steady in the simulation, note: what says so.
    """
    by_flow = simulated.set_index("flow").reindex(estimated["flow"])
    found = by_flow["gbytes_per_s"].to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(found > 0, (estimated["gbytes_per_s"] / found - 1) * 100, np.nan)
    compared = estimated.assign(simulated_gbytes_per_s=found, error_percent=error)
    return compared.assign(note=by_flow["note"].to_numpy()) if by_flow["note"].notna().any() else compared


def excessive(fabric: Fabric, flows: pd.DataFrame) -> pd.DataFrame:
    """The flows whose declared standalone is more than their way carries, whatever else runs.

    The columns are flow, standalone_gbytes_per_s, path_gbytes_per_s (what the narrowest edge of the way carries).
    """
    declared = flows["standalone_gbytes_per_s"].to_numpy()
    path = estimate(fabric, flows.assign(standalone_gbytes_per_s=np.nan)).flows["standalone_gbytes_per_s"]
    found = pd.DataFrame(
        {"flow": flows["name"].to_numpy(), "standalone_gbytes_per_s": declared, "path_gbytes_per_s": path}
    )
    return found[found["standalone_gbytes_per_s"] > found["path_gbytes_per_s"]]
