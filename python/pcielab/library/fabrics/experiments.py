"""Suites of experiments on a fabric: flows, and one swept value."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.library import shipped
from pcielab.library.fabrics.flows import columns_of, frame_in
from pcielab.library.fabrics.parts import Discipline, Flow
from pcielab.library.input_files import read_toml_text
from pcielab.library.lookup import suite_file

if TYPE_CHECKING:
    import pandas as pd

_ALL = "*"
"""In a sweep: every flow of the experiment."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Flows that run together, once per value of the sweep; the keys are those of suites of fabrics."""

    family: str
    series: str
    flows: list[Flow]
    sweep: str | None = None
    values: Sequence[float] = ()
    discipline: Discipline = "per-destination"
    warm_up_us: float | None = None
    duration_us: float = 200.0

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
            changes: dict[str, Any] = {key: value}
            changed = [replace(one, **changes) if swept in (_ALL, one.name) else one for one in self.flows]
            yield Point(self, float(value), changed)


@dataclass(frozen=True)
class Point:
    """An experiment at one value of its sweep; the value is None without a sweep."""

    experiment: Experiment
    value: float | None
    flows: list[Flow]

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        return columns_of(self.flows, f"{self.experiment.family}, {self.experiment.series}")

    def frame(self) -> "pd.DataFrame":
        """The flows as the simulator takes them."""
        return frame_in(self._columns)

    @property
    def flow_names(self) -> list[str]:
        """The names of the flows in `frame`."""
        return self._columns["name"]


@dataclass(frozen=True)
class FabricSuite:
    """A file under `suites/fabric`."""

    handle: _core.Suite
    """The suite of the compiled half."""

    @property
    def name(self) -> str:
        """Short name."""
        return self.handle.name

    @property
    def title(self) -> str:
        """One line for people."""
        return self.handle.title

    @property
    def fabric(self) -> str:
        """Its fabric."""
        return str(self.handle.fabric)

    @cached_property
    def experiment(self) -> list[Experiment]:
        """The experiments, in run order."""
        return [
            Experiment(**{**one, "flows": [Flow(**flow) for flow in one["flows"]]}) for one in self.handle.tests()
        ]

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
    path = suite_file("fabric", name_or_path)
    return FabricSuite(_core.Suite.read("fabric", read_toml_text(path), str(path)))
