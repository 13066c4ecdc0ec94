"""Flows on a fabric as work: one test per simulation, with flows, edges and phases as subjects."""

import ctypes
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, get_args

import pandas as pd

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import found_in, out_of_range, refusal
from pcielab.fabric.simulation import check_flows, check_options, simulate
from pcielab.fabric.stored import pieces_of
from pcielab.library.fabrics.experiments import Experiment, Point
from pcielab.library.fabrics.flows import flows_of
from pcielab.library.fabrics.load import Fabric
from pcielab.library.fabrics.parts import Discipline, Flow, Primitive

WITH_REQUESTS = tuple(one for one in get_args(Primitive) if one != "stream")
"""Primitives whose flows consist of requests."""
_FLOWS_MOST = 100_000
"""Most flows of a set that is kept: a run of these takes 500 MB."""
_MANY_FLOWS = 10_000
"""Flows whose simulation frees tens of megabytes."""


@dataclass(frozen=True)
class Flows:
    """Simulations of flows on a fabric.

    Attributes:
        fabric: The fabric.
        points: The simulations, in order; see `flow_set` and `FabricSuite.points`.
        name: Name of the suite of experiments, or of the set of flows.
        trace: Whether to keep the times of every request.

    Raises:
        InputError: A trace of flows that are all streams.
    """

    kind: ClassVar[Literal["flows"]] = "flows"

    fabric: Fabric
    points: Sequence[Point]
    name: str
    trace: bool = False

    def __post_init__(self) -> None:
        """Refuse a trace of streams alone, which have no requests."""
        if self.trace and all(flow.primitive == "stream" for point in self.points for flow in point.flows):
            raise refusal(
                "conflict",
                f"--trace: all flows of {self.name} are streams, which have no requests: give the flows a "
                f"primitive ({', '.join(WITH_REQUESTS)}), or leave out --trace",
            )

    def to_json(self) -> str:
        """The tests as the compiled half takes them."""
        return json.dumps({"suite": self.name, "tests": [_test(point) for point in self.points]})

    def backend(self, seed: int) -> _core.Backend:
        """The backend that simulates them; `seed` seeds random arrivals.

        Raises:
            InputError: A flow cannot exist; the message names it.
        """
        for point in self.points:
            experiment = point.experiment
            with found_in(f"{experiment.family}, {experiment.series}"):
                check_options(experiment.duration_us, experiment.warm_up_us, seed)
                check_flows(self.fabric, point.frame())

        def carry_out(position: int, stop: _core.Stop) -> Iterator[str]:
            return self._numbers(self.points[position], seed, stop)

        return _core.Backend.experiments(json.dumps(_facts(self.fabric)), carry_out)

    def _numbers(self, point: Point, seed: int, stop: _core.Stop) -> Iterator[str]:
        found = simulate(
            self.fabric,
            point.frame(),
            discipline=point.experiment.discipline,
            warm_up_us=point.experiment.warm_up_us,
            duration_us=point.experiment.duration_us,
            seed=seed,
            stop=stop,
        )
        spans = {"warm_up": found.warm_up_us, "counted": found.counted_us}
        yield from pieces_of(found.flows, found.edges, found.requests.finished, traced=self.trace, **spans)
        if len(found.flows) > _MANY_FLOWS:
            _give_memory_back()


def manifest_of(fabric: Fabric, suite: str, tests: int) -> dict[str, Any]:
    """The manifest of simulations on a fabric, without their seed."""
    return {
        "origin": "simulated",
        "version": _core.__version__,
        "title": f"{fabric.title}, {suite}",
        "suite": suite,
        "tests": tests,
        "system": {"name": fabric.name, "fabric": json.loads(fabric.to_json())},
        "overrides": fabric.overrides,
    }


def _facts(fabric: Fabric) -> dict[str, Any]:
    """The devices and hosts of the fabric, under the keys of every other run."""
    found = {}
    for key in ("device", "host"):
        kinds = Counter(kind for node in fabric.nodes if (kind := getattr(node, key)) is not None)
        found[key] = {"name": ", ".join(f"{count} x {kind}" for kind, count in kinds.items())}
    return found


@refuses_wrong_types
def flow_set(
    flows: pd.DataFrame, name: str, discipline: Discipline, duration_us: float, warm_up_us: float | None = None
) -> list[Point]:
    """A set of flows (see `Fabric.flows`) as the only point of an experiment.

    Raises:
        InputError: There are more than a store can be read with, or a time is out of range.
    """
    if len(flows) > _FLOWS_MOST:
        raise out_of_range("flows", len(flows), f"{_FLOWS_MOST} at most to keep, or simulate them without a store")
    check_options(duration_us, warm_up_us, 0)
    experiment = Experiment(
        family="flows",
        series=name,
        flows=flows_of(flows, name),
        discipline=discipline,
        warm_up_us=warm_up_us,
        duration_us=duration_us,
    )
    return list(experiment.points())


def _test(point: Point) -> dict[str, Any]:
    experiment = point.experiment
    parameters = {
        "series": experiment.series,
        "sweep": experiment.sweep,
        "value": point.value,
        "discipline": experiment.discipline,
        "warm_up_us": experiment.warm_up_us,
        "duration_us": experiment.duration_us,
        "flows": f"[{','.join(map(_text, point.flows))}]",
    }
    test = {"family": experiment.family, "name": experiment.series}
    return {**test, "parameters": dict(sorted(parameters.items()))}


def _give_memory_back() -> None:
    """Return what was freed to the system: glibc keeps it for this thread, and another one writes the store."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _text(flow: Flow) -> str:
    """A flow as JSON, one at a time: the dicts of many flows fill memory."""
    return json.dumps(asdict(flow), sort_keys=True, separators=(",", ":"))
