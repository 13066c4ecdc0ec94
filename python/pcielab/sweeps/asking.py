"""Sweeps and bounds as functions, for notebooks and scripts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pcielab.library.profiles import ResolvedSystem, load_system
from pcielab.model.questions import system_bounds
from pcielab.sweeps.axes import axes_of
from pcielab.sweeps.plan import Draws, Method, Plan
from pcielab.sweeps.results import Results
from pcielab.sweeps.run import Progress, Work, carry_out, no_progress
from pcielab.work.options import Samples


def sweep(
    system: ResolvedSystem | str,
    *,
    output: Path | str | None = None,
    resume: bool = True,
    jobs: int = 0,
    dask: str | None = None,
    samples: Samples = "adaptive",
    seed: int = 1,
    method: Method = "hypercube",
    draws: int = 64,
    progress: Progress = no_progress,
    **axes: object,
) -> Results:
    """Simulate one test on a system, again and again, with different values.

        pcielab.sweep("snb", test="bw-wr", llc_ddio_ways=[1, 2, 4], window=["64K", "1M", "16M"]).plot()

    Args:
        system: A system, or the name of one.
        output: A folder that keeps results, so that nothing is computed twice.
        resume: Go on with a folder that is there.
        jobs: Processes of this machine; 0 for as many as there are cores.
        dask: Address of a Dask scheduler (`tcp://HOST:PORT`), whose workers are asked instead.
        samples: All transactions that tests ask for, or as many as stable answers need.
        seed: It decides the addresses that are visited, and the draws.
        method: How ranges are drawn from: a Latin `hypercube`, or the design for `sobol` indices.
        draws: How many values are drawn from each range; of `sobol`, a power of two.
        progress: Called after every batch of points.
        axes: Words of a test as the command line has them (`test`, `size`, `window`, `cache`, ...), and keys of
            the system by any end that only one has (`llc_ddio_ways`); each a value, a list of values, or a range
            (`pcielab.between(low, high)`). `system` takes names of systems.

    Raises:
        InputError: A name means nothing, or a point cannot be simulated.
        RunError: Simulating failed.
    """
    plan = _plan(system, axes, Draws(method, draws, seed))
    work = Work(jobs, dask, samples, seed)
    folder = Path(output) if output is not None else None
    return carry_out(plan, folder, work=work, resume=resume, progress=progress)


def bounds(system: ResolvedSystem | str, **axes: object) -> Results:
    """What the model allows one bandwidth test on a system, in closed form, with different values.

        pcielab.bounds("snb", test=["bw-rd", "bw-wr"], size=[64, 256, 1024]).frame

    The columns after those of the axes: origin (`modelled`), status, message, `bandwidth_gbps`, `binds` (the
    bound that binds), `next_bound`, and `slack`, how much more that one would allow (1.0: twice as much).

    Args:
        system: A system, or the name of one.
        axes: As those of `sweep`.

    Raises:
        InputError: A name means nothing, or a point cannot be.
    """
    import pandas as pd

    plan = _plan(system, axes, Draws())
    rows = [
        {**setting.values, **_bound(setting.system, setting.suite.tests[0]["parameters"])}
        for setting in plan.settings()
    ]
    return Results(pd.DataFrame.from_records(rows), plan)


def _plan(system: ResolvedSystem | str, axes: dict[str, Any], draws: Draws) -> Plan:
    return Plan(load_system(system) if isinstance(system, str) else system, axes_of(axes), draws)


def _bound(system: ResolvedSystem, test: Mapping[str, Any]) -> dict[str, Any]:
    [found] = system_bounds(system.to_json(), [test])
    if found is None:
        message = "has no bound: a test of latency, or one that the system cannot carry out"
        return {"origin": "modelled", "status": "not-supported", "message": message, "bandwidth_gbps": None}
    answer = found.answer
    following = answer.ceilings[1] if len(answer.ceilings) > 1 else None
    return {
        "origin": "modelled",
        "status": "ok",
        "message": None,
        "bandwidth_gbps": answer.gbps,
        "binds": answer.bound,
        "next_bound": following and following.bound,
        "slack": following and following.slack,
    }
