"""Experiments on a fabric into a store: one test for each simulation, with flows, edges and phases as subjects."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pcielab import _core
from pcielab.errors import found_in
from pcielab.fabric.simulate import check_flows, check_options, simulate
from pcielab.fabric.stored import distributions_of, scalars_of, series_of
from pcielab.library.fabrics.experiments import Experiment, Point
from pcielab.library.fabrics.flows import flows_of
from pcielab.library.fabrics.load import Fabric
from pcielab.library.fabrics.parts import Discipline
from pcielab.run.running import Progress, check_outputs, kept_when_interrupted, no_progress, this_computer


def run(
    fabric: Fabric,
    points: Sequence[Point],
    output: Path,
    *,
    suite: str,
    seed: int = 1,
    trace: bool = False,
    resume: bool = False,
    repeat_damaged: bool = False,
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> None:
    """Simulate every point into a store.

    Args:
        fabric: The fabric.
        points: What to simulate on it, in this order.
        output: Path of the store.
        suite: Name of the experiments.
        seed: Names the draws of random arrivals.
        trace: Keep the times of every request, too.
        resume: Go on with the store that is there, if one is.
        repeat_damaged: With `resume`, do tests again whose numbers are damaged.
        overwrite: Replace the store that is there, if one is.
        progress: Called after every simulation and every tenth of a second; an exception stops the run.

    Raises:
        InputError: A flow cannot exist, or the output exists or cannot be written.
        RunError: The run failed, or was stopped (`StoppedError`); what was finished is in the store.
    """
    check_outputs(resume=resume, repeat_damaged=repeat_damaged, overwrite=overwrite)
    _check(fabric, points, seed)
    manifest = manifest_of(fabric, suite, len(points)) | {"seed": seed, **this_computer()}

    def carry_out(position: int, stop: _core.Stop) -> str:
        experiment = points[position].experiment
        found = simulate(
            fabric,
            points[position].frame(),
            discipline=experiment.discipline,
            warm_up_us=experiment.warm_up_us,
            duration_us=experiment.duration_us,
            seed=seed,
            stop=stop,
        )
        spans = {"warm_up": found.warm_up_us, "counted": found.counted_us}
        numbers = {
            "scalars": scalars_of(found.flows, found.edges, found.requests, **spans),
            "distributions": distributions_of(found.requests),
            "series": series_of(found.requests) if trace else [],
        }
        return json.dumps(numbers)

    with kept_when_interrupted(output):
        _core.run_experiments(
            output,
            suite,
            json.dumps([_test(point) for point in points]),
            json.dumps(_facts(fabric)),
            json.dumps(manifest),
            carry_out,
            resume=resume,
            repeat_damaged=repeat_damaged,
            overwrite=overwrite,
            progress=progress,
        )


def manifest_of(fabric: Fabric, suite: str, tests: int) -> dict[str, Any]:
    """What a store says of simulations on a fabric, all but their seed."""
    return {
        "origin": "simulated",
        "version": _core.__version__,
        "title": f"{fabric.title}, {suite}",
        "suite": suite,
        "tests": tests,
        "system": {"name": fabric.name, "fabric": json.loads(fabric.to_json())},
        "overrides": {},
    }


def _facts(fabric: Fabric) -> dict[str, Any]:
    """What the simulations are carried out on, with the keys of every other run: the cards and the servers."""
    nodes = fabric.file.node
    cards = Counter(node.device for node in nodes if node.device is not None)
    servers = Counter(node.host for node in nodes if node.host is not None)
    named = [", ".join(f"{count} x {kind}" for kind, count in kinds.items()) for kinds in (cards, servers)]
    return {"device": {"name": named[0]}, "host": {"name": named[1]}}


def _check(fabric: Fabric, points: Sequence[Point], seed: int) -> None:
    """Refuse what cannot be simulated before anything is written."""
    for point in points:
        experiment = point.experiment
        with found_in(f"{experiment.family}, {experiment.series}"):
            check_options(experiment.duration_us, experiment.warm_up_us, seed)
            check_flows(fabric, point.frame())


def flow_set(
    flows: pd.DataFrame,
    name: str,
    discipline: Discipline,
    duration_us: float,
    warm_up_us: float | None = None,
) -> list[Point]:
    """A set of flows (see `Fabric.flows`) as the only point of an experiment."""
    check_options(duration_us, warm_up_us, 0)
    listed = flows_of(flows, name)
    experiment = Experiment(
        family="flows",
        series=name,
        flows=listed,
        discipline=discipline,
        warm_up_us=warm_up_us,
        duration_us=duration_us,
    )
    return list(experiment.points())


def _test(point: Point) -> dict[str, Any]:
    """A point as the store knows it."""
    experiment = point.experiment
    parameters = {
        "series": experiment.series,
        "sweep": experiment.sweep,
        "value": point.value,
        "discipline": experiment.discipline,
        "warm_up_us": experiment.warm_up_us,
        "duration_us": experiment.duration_us,
        "flows": json.dumps([flow.model_dump() for flow in point.flows], sort_keys=True, separators=(",", ":")),
    }
    return {
        "family": experiment.family,
        "name": experiment.series,
        "parameters": dict(sorted(parameters.items())),
    }
