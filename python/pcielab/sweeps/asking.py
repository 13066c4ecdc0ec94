"""Sweeps and bounds as functions, for notebooks and scripts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import refusal
from pcielab.library.profiles import ResolvedSystem, load_system
from pcielab.model.questions import system_bounds
from pcielab.sweeps.axes import axes_of
from pcielab.sweeps.plan import Draws, Method, Plan
from pcielab.sweeps.results import Results, uniform
from pcielab.sweeps.run import Progress, Work, carry_out, no_progress
from pcielab.wording import shown
from pcielab.work.options import Samples


@refuses_wrong_types
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
    """Simulate one test on a system over many parameter values.

        pcielab.sweep("snb", test="bw-wr", llc_ddio_ways=[1, 2, 4], window=["64K", "1M", "16M"]).plot()

    Args:
        system: A system, or its name.
        output: A folder that keeps results, so that nothing is computed twice.
        resume: Continue an existing folder.
        jobs: Processes of this machine; 0 for one per core.
        dask: Address of a Dask scheduler (`tcp://HOST:PORT`), whose workers compute instead.
        samples: All transactions of tests, or as many as the confidence interval needs.
        seed: Seed of addresses and draws.
        method: Method of drawing from ranges: a Latin `hypercube`, or the design for `sobol` indices.
        draws: Number of values drawn from each range; for `sobol`, a power of two.
        progress: Called after every batch of points.
        axes: Words of a test as on the command line (`test`, `size`, `window`, `cache`, ...), and keys of the
            system by any unambiguous end (`llc_ddio_ways`); each a value, a list of values, or a range to draw
            from (`pcielab.between(low, high)`). Sizes also take `"64:4K:x2"`: from 64 to 4 KiB, doubling.
            `system` takes names of systems.

    Raises:
        InputError: A name is unknown, or a point cannot be simulated.
        RunError: The simulation failed.
    """
    plan = _plan(system, axes, Draws(method, draws, seed))
    work = Work(jobs, dask, samples, seed)
    folder = Path(output) if output is not None else None
    return carry_out(plan, folder, work=work, resume=resume, progress=progress)


@refuses_wrong_types
def bounds(system: ResolvedSystem | str, **axes: object) -> Results:
    """Closed-form bounds of one bandwidth test on a system over many parameter values.

        pcielab.bounds("snb", test=["bw-rd", "bw-wr"], size=[64, 256, 1024]).frame

    The columns after those of the axes: origin (`modelled`), status, message, `bandwidth_gbps`, `binds` (the
    binding bound), `next_bound`, and `slack`, the distance to the next bound (1.0: it allows twice as much).

    Args:
        system: A system, or its name.
        axes: As in `sweep`.

    Raises:
        InputError: A name is unknown, or a point is wrong.
    """
    import pandas as pd

    plan = _plan(system, axes, Draws())
    rows = [
        {**setting.values, **_bound(setting.system, setting.suite.tests[0]["parameters"])}
        for setting in plan.settings()
    ]
    return Results(uniform(pd.DataFrame.from_records(rows), plan), plan)


def _plan(system: ResolvedSystem | str, axes: dict[str, Any], draws: Draws) -> Plan:
    found = load_system(system) if isinstance(system, str) else system
    if not isinstance(found, ResolvedSystem):
        raise refusal("wrong-type", f"system is {shown(found)}: give a system, or its name")
    return Plan(found, axes_of(axes), draws)


def _bound(system: ResolvedSystem, test: Mapping[str, Any]) -> dict[str, Any]:
    [found] = system_bounds(system.handle, [test])
    if found is None:
        message = "has no bound: a latency test, or one that the system cannot run"
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
