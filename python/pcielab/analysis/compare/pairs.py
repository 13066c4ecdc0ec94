"""Pair the tests of two runs, and compute their differences.

Tests pair by family, name, pattern, cache state, offsets, window and size; repeated ones by order of occurrence.
The rest pairs by parameters alone, whatever its family and name. Tests of a NIC pair by frames, line and
direction; those of other tools by direction, ends, engine and queues. Of fabrics, flows pair: by family,
experiment, swept value and name; the rest by ends, primitive, size and outstanding requests.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from pcielab.analysis.compare.resolution import difference_errors_ns
from pcielab.analysis.compare.systems import Difference, differences
from pcielab.errors import InputError
from pcielab.store import Store
from pcielab.store.connections import with_connections
from pcielab.store.flows import flow_table
from pcielab.store.identity import NAMED, SETTING

MESSAGES = [
    *("way", "pace", "generation", "lanes", "cores", "sharing", "eviction", "pressure", "messages"),
    *("store_bytes", "store_kind", "stores_up_to_bytes", "connections", "connection"),
]
"""Parameters of message tests besides the size; they have none of the parameters of transfers."""
FRAMES = ["direction", "frame_bytes", "line_gbps", "vlan", "gap"]
"""Parameters of NIC tests; they have none of the parameters of transfers either."""
TOOLS = [
    *("tool", "direction", "beside", "counted", "engine", "pair", "part"),
    *("queues", "outstanding", "transport", "io_engine", "access"),
]
"""Parameters of what other tools measured, besides size and pattern."""
_UNSAID = {"eviction": "in-order", "pressure": 0.0, "store_bytes": 8, "store_kind": "plain"}
"""Values that older stores and runs on real cores leave out, as simulated runs have them."""

FLOWS_NAMED = ["family", "name", "swept_to", "flow"]
FLOWS_UNNAMED = ["source", "destination", "primitive", "size_bytes", "outstanding", "swept_to"]
"""Columns by which flows on a fabric pair: first the named, then the unnamed."""

METRICS = {"bandwidth": "gbps", "median": "ns", "average": "ns"}
"""Metrics compared, with the unit in their columns' names. Bandwidths differ in percent, latencies in ns."""


@dataclass(frozen=True)
class Comparison:
    """Two runs, paired.

    Attributes:
        a: The first run.
        b: The second run; differences are b minus a.
        rows: One row per pair, in the order of a: parameters, the tests of both, both origins, and for each metric
            `<metric>_a_<unit>`, `<metric>_b_<unit>`, `<metric>_difference_percent` or `_ns`; no metric where times
            are meaningless. `median_standard_error_ns` is that of the difference, where both runs are measured and
            counted the test's latencies.
        missing_in_b: The tests of a that have no partner, with the parameter columns of `rows`.
        alone_b: Number of tests of b without a partner.
    """

    a: Store
    b: Store
    rows: pd.DataFrame
    missing_in_b: pd.DataFrame
    alone_b: int

    @property
    def alone_a(self) -> int:
        """Number of tests of a without a partner."""
        return len(self.missing_in_b)

    @property
    def tells_speed(self) -> bool:
        """Whether the times of both are meaningful: those of an emulator are not."""
        return self.a.tells_speed and self.b.tells_speed

    @property
    def names(self) -> tuple[str, str]:
        """Names of the two runs, with their files where the titles are alike."""
        alike = self.a.described == self.b.described
        first, second = (store.described + (f", {store.path.name}" if alike else "") for store in (self.a, self.b))
        return first, second

    @property
    def system_differences(self) -> list[Difference]:
        """The values in which the two systems differ; empty where one run has no profile."""
        return differences(self.a.manifest.get("system") or {}, self.b.manifest.get("system") or {})

    @property
    def summary(self) -> pd.DataFrame:
        """Size of the differences, per test name and for all: median, mean, p95, maximum, signed median."""
        return pd.DataFrame(self._summaries())

    def _summaries(self) -> Iterable[dict[str, str | int | float]]:
        for metric in METRICS if self.tells_speed else ():
            column = difference_column(metric)
            for name, rows in [("all", self.rows), *self.rows.groupby("name", sort=False)]:
                signed = rows[column].dropna()
                if signed.empty:
                    continue
                size = signed.abs()
                yield {
                    "name": str(name),
                    "metric": metric,
                    "unit": column.rsplit("_", 1)[1],
                    "rows": len(size),
                    "median": float(size.median()),
                    "mean": float(size.mean()),
                    "p95": float(size.quantile(0.95)),
                    "maximum": float(size.max()),
                    "signed_median": float(signed.median()),
                    "origin_a": self.a.origin,
                    "origin_b": self.b.origin,
                }


def difference_column(metric: str) -> str:
    """The column of `Comparison.rows` with the differences of a metric."""
    return f"{metric}_difference_{'percent' if metric == 'bandwidth' else 'ns'}"


def compare(a: Store, b: Store) -> Comparison:
    """Pair the finished tests of two runs.

    Raises:
        InputError: They are of different kinds, or have no test in common.
    """
    b.require_kind(a.kind, f"a comparison with {a.path}")
    of_flows = a.kind == "fabric"
    more = {"messages": MESSAGES, "frames": FRAMES, "tool": TOOLS}.get(a.kind, [])
    left, right = (_finished_flows(store) if of_flows else _finished(store) for store in (a, b))
    named = _paired(left, right, FLOWS_NAMED if of_flows else [*NAMED, *more])
    rest_left = left[~left["id"].isin(named["id_a"])]
    rest_right = right[~right["id"].isin(named["id_b"])]
    unnamed = _paired(rest_left, rest_right, FLOWS_UNNAMED if of_flows else list(dict.fromkeys([*SETTING, *more])))
    pairs = pd.concat([named, unnamed]).sort_values("id_a", ignore_index=True)
    if pairs.empty:
        raise InputError(
            f"{a.path} and {b.path}: have no finished test in common: compare runs of the same suite, or of tests "
            "with the same parameters"
        )
    missing = left[~left["id"].isin(pairs["id_a"])]
    return Comparison(a, b, _differences(pairs, left, right, a, b), _said(missing), len(right) - len(pairs))


def _finished(store: Store) -> pd.DataFrame:
    frame = with_connections(store, store.scalars)
    if "connection" in frame:
        frame = frame.rename(columns={"id": "test"}).assign(id=range(len(frame)))
    missing = [column for column in {*NAMED, *SETTING, *METRICS} if column not in frame]
    frame = frame.assign(**dict.fromkeys(missing))
    frame = frame.assign(outstanding=frame["outstanding"].astype("Float64").fillna(-1.0))
    return frame[frame["status"] == "ok"]


def _finished_flows(store: Store) -> pd.DataFrame:
    """A row for each flow of each finished test, with the metrics and units of other tests."""
    table = flow_table(store)
    found = table[table["status"] == "ok"].rename(
        columns={"id": "test", "experiment": "name", "value": "swept_to"}
    )
    columns = {*NAMED, *FLOWS_NAMED, *FLOWS_UNNAMED, "gbytes_per_s", "p50_ns", "average_ns"}
    found = found.assign(**dict.fromkeys(columns - set(found)))
    metrics = {"bandwidth": 8 * found["gbytes_per_s"], "median": found["p50_ns"], "average": found["average_ns"]}
    return found.assign(id=range(len(found)), **metrics)


def _paired(left: pd.DataFrame, right: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """The ids of tests that agree in `key` and occurrence: id_a, id_b, occurrence."""
    unsaid = {column: value for column, value in _UNSAID.items() if column in key}
    sides = [side.reindex(columns=["id", *key]).fillna(unsaid).astype({"id": int}) for side in (left, right)]
    # A column that is empty in one run has objects, and would not merge with the other's numbers.
    apart = [column for column in key if sides[0][column].dtype != sides[1][column].dtype]
    sides = [side.astype(dict.fromkeys(apart, object)) for side in sides]
    sides = [side.assign(occurrence=side.groupby(key, dropna=False).cumcount()) for side in sides]
    pairs = sides[0].merge(sides[1], on=[*key, "occurrence"], suffixes=("_a", "_b"))
    return pairs[["id_a", "id_b", "occurrence"]]


def _said(tests: pd.DataFrame) -> pd.DataFrame:
    """The parameter columns of tests; of other tools with unknown depths as None."""
    said = tests[_said_of(tests)]
    if "outstanding" not in said:
        return said
    depths = [int(one) if one >= 0 else None for one in said["outstanding"]]
    return said.assign(outstanding=pd.Series(depths, said.index, dtype=object))


def _said_of(tests: pd.DataFrame) -> list[str]:
    known = (*MESSAGES, *FRAMES, *(TOOLS if "tool" in tests else ()), "flow", "swept_to")
    return list(dict.fromkeys([*NAMED, *(column for column in known if column in tests)]))


def _differences(pairs: pd.DataFrame, left: pd.DataFrame, right: pd.DataFrame, a: Store, b: Store) -> pd.DataFrame:
    of_a = left.set_index("id").loc[pairs["id_a"]].reset_index(drop=True)
    of_b = right.set_index("id").loc[pairs["id_b"]].reset_index(drop=True)
    rows = _said(of_a).assign(
        test_a=of_a["test"] if "test" in of_a else pairs["id_a"],
        test_b=of_b["test"] if "test" in of_b else pairs["id_b"],
        occurrence=pairs["occurrence"],
        origin_a=a.origin,
        origin_b=b.origin,
    )
    for metric, unit in METRICS.items() if a.tells_speed and b.tells_speed else ():
        value_a, value_b = of_a[metric].astype(float), of_b[metric].astype(float)
        rows[f"{metric}_a_{unit}"] = value_a
        rows[f"{metric}_b_{unit}"] = value_b
        difference = value_b - value_a
        rows[difference_column(metric)] = 100 * difference / value_a if metric == "bandwidth" else difference
    if (a.kind, a.origin, b.origin) == ("transfers", "measured", "measured"):
        tests = zip(pairs["id_a"], pairs["id_b"], strict=True)
        rows["median_standard_error_ns"] = difference_errors_ns(a, b, tests)
    return rows
