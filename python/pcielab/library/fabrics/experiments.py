"""Suites of experiments on a fabric: flows, and one swept value."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import wrong_value
from pcielab.library import shipped
from pcielab.library.fabrics.flows import frame_of, names_of
from pcielab.library.fabrics.parts import Discipline, Flow
from pcielab.library.lookup import suite_file
from pcielab.library.profiles.part import Name, Part, Title
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.validation import read_as

if TYPE_CHECKING:
    import pandas as pd

_MOST_TESTS = 100_000
_MOST_FLOWS = 1_000_000
_ALL = "*"
"""In a sweep: every flow of the experiment."""
Microseconds = Annotated[float, Field(ge=0, le=1e6)]


class Experiment(Part):
    """Flows that run together, once per value of the sweep."""

    family: Name
    """Its figure."""
    series: Name
    """Its line in that figure."""
    flows: list[Flow] = Field(min_length=1)
    """The flows."""
    sweep: str | None = None
    """The swept key: `flow.key`, or `*.key` for all flows."""
    values: list[float | int] = Field(default=[])
    """Values of the swept key."""
    discipline: Discipline = "per-destination"
    """Unit that has its own credits at every port."""
    warm_up_us: Microseconds | None = None
    """Time before counting; absent: until every request in flight has returned three times, 50 us to 100 ms."""
    duration_us: Microseconds = 200.0
    """Time to count; without `warm_up_us` the least time: counting ends when the slowest request has returned once
    more."""

    @model_validator(mode="after")
    def _sweep_exists(self) -> Self:
        if self.sweep is None:
            return self
        flow, _, key = self.sweep.rpartition(".")
        if flow not in {_ALL, *(one.name for one in self.flows)} or key not in Flow.model_fields:
            raise wrong_value("sweep", repr(self.sweep), "give the name of a flow or *, a dot, and a key of flows")
        if not self.values:
            raise wrong_value("values", "[]", "give at least one value for the sweep")
        return self

    @property
    def count(self) -> int:
        """Number of simulations."""
        return len(self.values) if self.sweep is not None else 1

    def points(self) -> Iterator["Point"]:
        """The experiment at each value of its sweep."""
        if self.sweep is None:
            yield Point(self, None, self.flows)
            return
        swept, _, key = self.sweep.rpartition(".")
        for value in self.values:
            changed = [
                one.model_copy(update={key: value}) if swept in (_ALL, one.name) else one for one in self.flows
            ]
            yield Point(self, float(value), changed)


@dataclass(frozen=True)
class Point:
    """An experiment at one value of its sweep; the value is None without a sweep."""

    experiment: Experiment
    value: float | None
    flows: list[Flow]

    def frame(self) -> "pd.DataFrame":
        """The flows as the simulator takes them."""
        return frame_of(self.flows, f"{self.experiment.family}, {self.experiment.series}")

    @property
    def flow_names(self) -> list[str]:
        """The names of the flows in `frame`."""
        return list(names_of((flow.name, flow.source, flow.destination) for flow in self.flows))


class FabricSuite(Part):
    """A file under `suites/fabric`."""

    name: Name
    """Short name."""
    title: Title
    """One line for people."""
    fabric: str
    """Its fabric."""
    provenance: Provenance
    """Source of the experiments."""
    experiment: list[Experiment] = Field(min_length=1)
    """The experiments, in run order."""

    @model_validator(mode="after")
    def _is_short_enough(self) -> Self:
        tests = sum(experiment.count for experiment in self.experiment)
        if tests > _MOST_TESTS:
            raise ValueError(f"{tests} tests: give {_MOST_TESTS} at most: fewer values, or several suites")
        flows = sum(experiment.count * len(experiment.flows) for experiment in self.experiment)
        if flows > _MOST_FLOWS:
            raise ValueError(f"{flows} flows, one for each value of its sweep: give {_MOST_FLOWS} at most")
        return self

    @property
    def nodes(self) -> set[str]:
        """The ends of all flows."""
        return {end for one in self.experiment for flow in one.flows for end in (flow.source, flow.destination)}

    def points(self) -> list[Point]:
        """Every simulation of the suite, in run order."""
        return [point for experiment in self.experiment for point in experiment.points()]


def suite_names() -> list[str]:
    """The shipped suites of fabrics."""
    return list(shipped.suite_files("fabric"))


@refuses_wrong_types
def load_fabric_suite(name_or_path: str) -> FabricSuite:
    """The suite of that name (`rpciebench`), or in that file (`*.toml`).

    Raises:
        InputError: The suite is missing or wrong.
    """
    return read_as(FabricSuite, suite_file("fabric", name_or_path))
