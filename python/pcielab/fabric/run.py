"""Experiments on a fabric into a store: one test for each simulation, with flows, edges and phases as subjects."""

import datetime
import json
import platform
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pcielab import __version__
from pcielab._core import StoreWriter
from pcielab.errors import InputError, StoppedError
from pcielab.fabric.experiments import Experiment, Point
from pcielab.fabric.flows import flows_of
from pcielab.fabric.load import Fabric
from pcielab.fabric.simulate import PHASES, Discipline, Simulated, check_flows, check_options, simulate


def run(
    fabric: Fabric,
    points: Sequence[Point],
    output: Path,
    *,
    suite: str,
    seed: int = 1,
    overwrite: bool = False,
    progress: Callable[[int, int, str, str], None] = lambda *_state: None,
) -> None:
    """Simulate every point into a new store, which is there once all are done.

    Ctrl-C keeps what is done as an incomplete store, unless that would replace another.

    Raises:
        InputError: A flow cannot exist, or the output exists or cannot be written.
        RunError: Writing failed.
        StoppedError: It was interrupted.
    """
    _check(fabric, points, seed)
    manifest = {
        "origin": "simulated",
        "version": __version__,
        "title": f"{fabric.title}, suite {suite}",
        "suite": suite,
        "tests": len(points),
        "system": {"name": fabric.name, "fabric": json.loads(fabric.to_json())},
        "overrides": {},
        "seed": seed,
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.node()}, {platform.machine()}, {platform.system()} {platform.release()}",
    }
    replaced = output.exists()
    done = 0
    with StoreWriter.create(output, json.dumps(manifest), overwrite=overwrite) as store:
        try:
            for point in points:
                store.write_test(json.dumps(_record(done, point, _simulated(fabric, point, seed))))
                done += 1
                progress(done, len(points), point.experiment.family, point.experiment.series)
        except KeyboardInterrupt:
            if replaced or not done:
                kept = "what was there is kept" if replaced else "nothing is kept"
                raise StoppedError(
                    f"{output}: interrupted after {done} of {len(points)} simulations: {kept}"
                ) from None
    if done < len(points):
        raise StoppedError(f"{output}: interrupted: {done} of {len(points)} simulations are kept")


def _simulated(fabric: Fabric, point: Point, seed: int) -> Simulated:
    experiment = point.experiment
    try:
        return simulate(
            fabric,
            point.frame(),
            discipline=experiment.discipline,
            warm_up_us=experiment.warm_up_us,
            duration_us=experiment.duration_us,
            seed=seed,
        )
    except InputError as error:
        raise InputError(f"{experiment.family}, {experiment.series}: {error}") from None


def _check(fabric: Fabric, points: Sequence[Point], seed: int) -> None:
    """Refuse what cannot be simulated before anything is written."""
    for point in points:
        experiment = point.experiment
        try:
            check_options(experiment.duration_us, experiment.warm_up_us, seed)
            check_flows(fabric, point.frame())
        except InputError as error:
            raise InputError(f"{experiment.family}, {experiment.series}: {error}") from None


def flow_set(flows: pd.DataFrame, name: str, discipline: Discipline, duration_us: float) -> list[Point]:
    """A set of flows (see `Fabric.flows`) as the only point of an experiment."""
    check_options(duration_us, 0.0, 0)
    listed = flows_of(flows, name)
    experiment = Experiment(
        family="flows", series=name, flows=listed, discipline=discipline, duration_us=duration_us
    )
    return list(experiment.points())


def _record(number: int, point: Point, found: Simulated) -> dict[str, Any]:
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
        "id": number,
        "family": experiment.family,
        "name": experiment.series,
        "parameters": json.dumps(parameters, sort_keys=True, separators=(",", ":")),
        "status": "ok",
        "scalars": [*_scalars(found)],
        "distributions": [*_distributions(found)],
    }


def _scalars(found: Simulated) -> Iterator[dict[str, Any]]:
    units = {"gbytes_per_s": ("bandwidth", "GB/s"), "requests": ("requests", "1")}
    for row in found.flows.to_dict("records"):
        for key, value in row.items():
            if key != "flow" and not pd.isna(value):
                metric, unit = units.get(str(key), (str(key).removesuffix("_ns"), "ns"))
                yield {"subject": f"flow {row['flow']}", "metric": metric, "unit": unit, "value": float(value)}
    for row in found.edges.to_dict("records"):
        load = float(row["load_gbytes_per_s"])
        yield {"subject": f"edge {row['edge']}", "metric": "load", "unit": "GB/s", "value": load}
    for flow, requests in found.phases.items():
        for phase in PHASES if len(requests) else ():
            values = requests[phase]
            subject = f"phase {phase} of {flow}"
            for metric, value in (("average", values.mean()), ("p99", values.quantile(0.99))):
                yield {"subject": subject, "metric": metric, "unit": "ns", "value": float(value)}


def _distributions(found: Simulated) -> Iterator[dict[str, Any]]:
    """Histograms of whole requests and of each phase, in nanoseconds."""
    for flow, requests in found.phases.items():
        for phase in ("total", *PHASES) if len(requests) else ():
            bins, counts = np.unique(requests[phase].round().astype("int64"), return_counts=True)
            pairs = [[int(place), int(count)] for place, count in zip(bins, counts, strict=True)]
            yield {"metric": f"{phase} of {flow}", "tick": "1", "bins": pairs}
