"""The numbers of a run of a paper's experiments, by the selections of the published ones."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import pandas as pd

from pcielab.analysis.published.compare import compare, missed
from pcielab.analysis.published.values import (
    FlowSelection,
    MessageSelection,
    Published,
    PublishedValue,
    ReadAs,
    Selection,
    published_values,
)
from pcielab.library.message_profiles import recorded_messages
from pcielab.store import Store
from pcielab.store.flows import flow_table


def compare_with_published(store: Store) -> pd.DataFrame | None:
    """Every published number beside the run's; None if no numbers of its suite are published.

    Returns:
        As `pcielab.analysis.published.compare.compare`.
    """
    known = published_values(str(store.manifest.get("suite")))
    needed = {"series", "value"} if store.kind == "fabric" else {"way", "size_bytes", "generation", "cores"}
    if known is None or not needed <= set(store.tests.columns):
        return None
    return compare(known, _FlowNumbers(store, known) if store.kind == "fabric" else _MessageNumbers(store))


def deviations(store: Store, family: str) -> list[str]:
    """Sentences on the published numbers of a family that a run misses: how many, by how much, and why."""
    known, compared = published_values(str(store.manifest.get("suite"))), compare_with_published(store)
    if known is None or compared is None:
        return []
    return missed(compared[[any(selection.family == family for selection in one.of) for one in known.value]])


_READINGS: dict[ReadAs, Callable[[pd.Series, pd.Series], pd.Series]] = {
    "value": lambda of, _: of,
    "percent": lambda of, _: of * 100,
    "rise": lambda of, over: (of / over - 1) * 100,
    "difference": lambda of, over: of - over,
    "ratio": lambda of, over: of / over,
    "peak": lambda of, over: pd.Series([float(str((of / over).idxmax()))]),
}


class _RunNumbers(ABC):
    """Numbers of a run."""

    @abstractmethod
    def of(self, wanted: Selection) -> pd.Series:
        """The metric over the swept value, in the order of the run; empty if not run."""

    def simulated(self, one: PublishedValue) -> float:
        """The sum of the selected rows, against their base, as the number is read."""
        parts = [self.of(selection) for selection in one.of]
        if not parts or any(part.empty for part in parts):
            return float("nan")
        whole = sum(part.to_numpy() for part in parts)
        of = pd.Series(whole, index=parts[0].index)
        if one.over is None:
            return float(_READINGS[one.read_as](of, of).mean())
        over = self.of(one.over)
        if over.empty:
            return float("nan")
        base = pd.Series(over.to_numpy() if len(over) == len(of) else over.mean(), index=of.index)
        return float(_READINGS[one.read_as](of, base).mean())


class _FlowNumbers(_RunNumbers):
    """The numbers of a run of a fabric, by experiment, value of the sweep, flow and metric."""

    def __init__(self, store: Store, known: Published) -> None:
        self._known = known
        scalars = store.scalar_rows
        flows = scalars[scalars["subject"].str.startswith("flow ")]
        tests = store.tests[["id", "family", "series", "value"]]
        self._rows = tests.merge(flows, left_on="id", right_on="test", suffixes=("_swept", ""))
        self._rows["flow"] = self._rows["subject"].str.removeprefix("flow ")
        self._store = store
        self._asked = flow_table(store)
        self._estimates: dict[int, dict[str, float]] = {}

    def of(self, wanted: Selection) -> pd.Series:
        rows = self._rows
        if not isinstance(wanted, FlowSelection):
            return pd.Series(dtype=float)
        chosen = (rows["family"] == wanted.family) & (rows["flow"] == wanted.flow)
        chosen &= rows["metric"] == wanted.metric
        if wanted.series is not None:
            chosen &= rows["series"] == wanted.series
        if wanted.value is not None:
            values = wanted.value if isinstance(wanted.value, list) else [wanted.value]
            chosen &= rows["value_swept"].isin(values)
        return rows[chosen].set_index("value_swept")["value"]

    def estimated(self, one: PublishedValue) -> float:
        if one.parameter is not None:
            return self._parameter(one.parameter) - (0.0 if one.less is None else self._parameter(one.less))
        if one.estimates_of is not None:
            return self._mean_error(one.estimates_of)
        if one.estimate is None or not isinstance(one.of[0], FlowSelection):
            return float("nan")
        return self._estimate(one.of[0])

    def _parameter(self, path: str) -> float:
        """A parameter of the fabric: nodes are found by name, links by `upper-lower`."""
        from pcielab.library.fabrics.load import recorded

        held: Any = json.loads(recorded(self._store.manifest, str(self._store.path)).to_json())
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
        from pcielab.fabric.estimation import estimate
        from pcielab.library.fabrics.load import check_ends, recorded

        if test not in self._estimates:
            where = str(self._store.path)
            fabric = recorded(self._store.manifest, where)
            flows = self._asked[self._asked["id"] == test].rename(columns={"flow": "name"})
            flows = flows.reindex(columns=["name", "source", "destination", "standalone_gbytes_per_s"])
            shares = estimate(fabric, check_ends(fabric, flows, f"{where}: test {test}")).flows
            self._estimates[test] = dict(zip(shares["flow"], shares["gbytes_per_s"], strict=True))
        return self._estimates[test]


class _MessageNumbers(_RunNumbers):
    """The numbers of a run of messages, by family, way, payload, metric and step."""

    def __init__(self, store: Store) -> None:
        tests = store.tests
        plain = tests["generation"].isna() & (tests["cores"] == 1) & (tests["pressure"] == 0)
        columns = ["id", "family", "way", "size_bytes"]
        self._rows = tests[plain][columns].merge(store.scalar_rows, left_on="id", right_on="test")
        self._store = store

    def of(self, wanted: Selection) -> pd.Series:
        rows = self._rows
        if not isinstance(wanted, MessageSelection):
            return pd.Series(dtype=float)
        chosen = (rows["family"] == wanted.family) & (rows["way"] == wanted.way)
        chosen &= (rows["size_bytes"] == wanted.size_bytes) & (rows["metric"] == wanted.metric)
        chosen &= rows["subject"] == wanted.step
        return rows[chosen].set_index("size_bytes")["value"]

    def estimated(self, one: PublishedValue) -> float:
        wanted = one.modelled
        if wanted is None:
            return float("nan")
        from pcielab import model

        profile = recorded_messages(self._store.manifest, str(self._store.path))
        answer = model.messages(profile, [wanted.size_bytes])[0]
        found = getattr(getattr(answer, wanted.way) if wanted.way else answer, wanted.metric)
        return float(_READINGS[one.read_as](pd.Series([float(found)]), pd.Series([1.0])).iloc[0])
