"""The numbers of a run of flows, by the selections of the published ones."""

from typing import Any

import pandas as pd

from pcielab.fabric.estimation import estimate
from pcielab.kinds.flows.rows import flow_table
from pcielab.kinds.published.compare import RunNumbers
from pcielab.kinds.published.values import FlowSelection, Published, PublishedValue, Selection
from pcielab.library.fabrics.load import check_ends, recorded
from pcielab.store import Store


class FlowNumbers(RunNumbers):
    """The numbers of a run of flows, by experiment, value of the sweep, flow and metric."""

    def __init__(self, store: Store, known: Published) -> None:
        self._known = known
        scalars = store.scalar_rows
        flows = scalars[scalars["subject"].str.startswith("flow ")]
        tests = store.tests[["id", "family", "series", "value"]]
        rows = tests.merge(flows, left_on="id", right_on="test", suffixes=("_swept", ""))
        rows["flow"] = rows["subject"].str.removeprefix("flow ")
        # Once, since hundreds of numbers are selected.
        self._groups = dict(iter(rows.groupby(["family", "flow", "metric"], sort=False)))
        self._store = store
        self._asked = flow_table(store)
        self._estimates: dict[int, dict[str, float]] = {}

    def of(self, wanted: Selection) -> pd.Series:
        """The metric over the swept value, in the order of the run; empty if not run."""
        if not isinstance(wanted, FlowSelection):
            return pd.Series(dtype=float)
        rows = self._groups.get((wanted.family, wanted.flow, wanted.metric))
        if rows is None:
            return pd.Series(dtype=float)
        if wanted.series is not None:
            rows = rows[rows["series"] == wanted.series]
        if wanted.value is not None:
            values = wanted.value if isinstance(wanted.value, list) else [wanted.value]
            rows = rows[rows["value_swept"].isin(values)]
        return rows.set_index("value_swept")["value"]

    def estimated(self, one: PublishedValue) -> float:
        """The number of the estimator or the closed form; NaN if it has none."""
        if one.parameter is not None:
            return self._parameter(one.parameter) - (0.0 if one.less is None else self._parameter(one.less))
        if one.estimates_of is not None:
            return self._mean_error(one.estimates_of)
        if one.estimate is None or not isinstance(one.of[0], FlowSelection):
            return float("nan")
        return self._estimate(one.of[0])

    def _parameter(self, path: str) -> float:
        """A parameter of the fabric: nodes are found by name, links by `upper-lower`."""
        held: Any = recorded(self._store.manifest, str(self._store.path)).handle.values()
        held["nodes"] = {node["name"]: node for node in held["nodes"]}
        held["links"] = {f"{link['upper']}-{link['lower']}": link for link in held["links"]}
        for key in path.split("."):
            held = held[key]
        return float(held)

    def _mean_error(self, series: str) -> float:
        """Mean absolute error of our estimates of a series, relative to the paper's measurements, in percent."""
        rows = [one for one in self._known.value if one.estimate is not None]
        errors = [
            abs(self._estimate(selection) / one.published - 1)
            for one in rows
            for selection in one.of
            if isinstance(selection, FlowSelection) and selection.series == series
        ]
        return 100 * sum(errors) / len(errors) if errors else float("nan")

    def _estimate(self, wanted: FlowSelection) -> float:
        """The estimator's bandwidth of a flow of an experiment, GB/s; NaN if it was not run."""
        asked = self._asked
        tests = asked["id"][(asked["family"] == wanted.family) & (asked["experiment"] == wanted.series)]
        if tests.empty:
            return float("nan")
        return self._estimated(int(tests.iloc[0])).get(wanted.flow, float("nan"))

    def _estimated(self, test: int) -> dict[str, float]:
        """The estimator's bandwidth of a test's flows, on the fabric of the manifest, GB/s."""
        if test not in self._estimates:
            where = str(self._store.path)
            fabric = recorded(self._store.manifest, where)
            flows = self._asked[self._asked["id"] == test].rename(columns={"flow": "name"})
            flows = flows.reindex(columns=["name", "source", "destination", "standalone_gbytes_per_s"])
            shares = estimate(fabric, check_ends(fabric, flows, f"{where}: test {test}")).flows
            self._estimates[test] = dict(zip(shares["flow"], shares["gbytes_per_s"], strict=True))
        return self._estimates[test]
