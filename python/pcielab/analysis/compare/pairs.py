"""Pair the rows of two runs, and compute their differences.

The kind of the runs says by what their rows pair (`compare` of its folder in `pcielab.kinds`). First rows with the
same names pair, repeated ones by order of occurrence; the rest pairs by parameters alone.
"""

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from pcielab.analysis.compare.systems import Difference, differences, nic_differences
from pcielab.errors import refusal
from pcielab.kinds.rooms import Row, room_of
from pcielab.notebook import Pictured
from pcielab.store import Store
from pcielab.store.identity import NAMED

if TYPE_CHECKING:
    import pandas as pd

METRICS = {"bandwidth": "gbps", "median": "ns", "average": "ns"}
"""Metrics compared, with the unit in their columns' names. Bandwidths differ in percent, latencies in ns."""


@dataclass(frozen=True, repr=False)
class Comparison(Pictured):
    """Two runs, paired.

    Attributes:
        a: The first run.
        b: The second run; differences are b minus a.
        pairs: The rows of `rows` as plain data.
        lone_a: The rows of `missing_in_b` as plain data.
        alone_b: Number of tests of b without a partner.
    """

    a: Store
    b: Store
    pairs: Sequence[Row]
    lone_a: Sequence[Row]
    alone_b: int

    def __repr__(self) -> str:
        first, second = self.names
        return f"<Comparison of {len(self.pairs)} pairs, A: {first}, B: {second}>"

    def _repr_html_(self) -> str:
        first, second = map(escape, self.names)
        sizes = self.summary.drop(columns=["origin_a", "origin_b"], errors="ignore")
        table = "" if sizes.empty else sizes.to_html(index=False, escape=True, float_format="{:.4g}".format)
        return f"<div><strong>A: {first}<br>B: {second}</strong><p>{len(self.pairs)} pairs</p>{table}</div>"

    @cached_property
    def rows(self) -> "pd.DataFrame":
        """One row per pair, in the order of a, for reading only: copy it before changing it.

        The columns are the parameters, the tests of both, both origins, and for each metric `<metric>_a_<unit>`,
        `<metric>_b_<unit>`, `<metric>_difference_percent` or `_ns`; no metric where times are meaningless.
        `median_standard_error_ns` is that of the difference, where both runs are measured and counted the test's
        latencies.
        """
        return _frame(self.pairs)

    @cached_property
    def missing_in_b(self) -> "pd.DataFrame":
        """The tests of a that have no partner, with the parameter columns of `rows`."""
        return _frame(self.lone_a) if self.lone_a else self.rows.head(0).loc[:, :"test_a"].drop(columns="test_a")

    @property
    def alone_a(self) -> int:
        """Number of tests of a without a partner."""
        return len(self.lone_a)

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
    def all_differences(self) -> list[Difference]:
        """The values in which the NICs of the two runs differ, then `system_differences`."""
        nics = nic_differences(self.a.manifest.get("nic") or {}, self.b.manifest.get("nic") or {})
        return [*nics, *self.system_differences]

    @property
    def summary(self) -> "pd.DataFrame":
        """Size of the differences, per test name and for all: median, mean, p95, maximum, signed median."""
        return _frame(list(self.summaries()))

    def summaries(self) -> Iterator[dict[str, str | int | float]]:
        """The rows of `summary` as plain data."""
        for metric in METRICS if self.tells_speed else ():
            column = difference_column(metric)
            by_name: dict[str, list[Row]] = {}
            for row in self.pairs:
                by_name.setdefault(str(row["name"]), []).append(row)
            for name, rows in [("all", self.pairs), *by_name.items()]:
                signed = [row[column] for row in rows if not math.isnan(row[column])]
                if signed:
                    yield {
                        "name": name,
                        "metric": metric,
                        "unit": column.rsplit("_", 1)[1],
                        **_sizes(signed),
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
    of = room_of(a).compare
    left, right = (of.rows(store) for store in (a, b))
    pairs: list[_Pair] = []
    for key in of.keys:
        done_a, done_b = {of_a["id"] for of_a, _, _ in pairs}, {of_b["id"] for _, of_b, _ in pairs}
        rest = [row for row in left if row["id"] not in done_a], [row for row in right if row["id"] not in done_b]
        pairs += _paired(*rest, key, of.unsaid)
    if not pairs:
        raise refusal(
            "missing",
            f"{a.path} and {b.path}: have no finished test in common: compare runs of the same suite, or of tests "
            "with the same parameters",
        )
    pairs.sort(key=lambda pair: int(pair[0]["id"]))
    paired = {of_a["id"] for of_a, _, _ in pairs}
    there = {key for row in left for key in row}
    said = list(dict.fromkeys([*NAMED, *(column for column in of.shown if column in there)]))
    lone = [_said(row, said) for row in left if row["id"] not in paired]
    return Comparison(a, b, _differences(pairs, said, a, b), lone, len(right) - len(pairs))


_Pair: TypeAlias = tuple[Row, Row, int]
"""A test of each run, and its occurrence among tests with the same key."""


def _paired(left: Sequence[Row], right: Sequence[Row], key: Sequence[str], unsaid: Row) -> list[_Pair]:
    """The tests that agree in `key` and occurrence."""
    partners = dict(_occurring(right, key, unsaid))
    found = _occurring(left, key, unsaid)
    return [(row, partners[identity], identity[1]) for identity, row in found if identity in partners]


def _occurring(rows: Sequence[Row], key: Sequence[str], unsaid: Row) -> Iterator[tuple[tuple[Hashable, int], Row]]:
    """Each row with the values of its key and its occurrence."""
    counts: Counter[Hashable] = Counter()
    for row in rows:
        values = tuple(_comparable(row.get(column), unsaid.get(column)) for column in key)
        yield (values, counts[values]), row
        counts[values] += 1


def _comparable(value: Any, unsaid: Hashable) -> Hashable:
    if value is None or value != value:
        return unsaid
    return value if isinstance(value, Hashable) else str(value)


def _said(test: Row, columns: Sequence[str]) -> dict[str, Any]:
    return {column: test.get(column) for column in columns}


def _differences(pairs: Sequence[_Pair], said: Sequence[str], a: Store, b: Store) -> list[dict[str, Any]]:
    timed = a.tells_speed and b.tells_speed
    rows = [
        {
            **_said(of_a, said),
            "test_a": of_a.get("test", of_a["id"]),
            "test_b": of_b.get("test", of_b["id"]),
            "occurrence": occurrence,
            "origin_a": a.origin,
            "origin_b": b.origin,
            **(_metrics(of_a, of_b) if timed else {}),
        }
        for of_a, of_b, occurrence in pairs
    ]
    errors_ns = room_of(a).compare.errors_ns
    if errors_ns is not None and (a.origin, b.origin) == ("measured", "measured"):
        errors = errors_ns(a, b, ((row["test_a"], row["test_b"]) for row in rows))
        for row, error in zip(rows, errors, strict=True):
            row["median_standard_error_ns"] = error
    return rows


def _metrics(of_a: Row, of_b: Row) -> dict[str, float]:
    """Both values of each metric and their difference."""
    found = {}
    for metric, unit in METRICS.items():
        value_a, value_b = _number(of_a.get(metric)), _number(of_b.get(metric))
        found[f"{metric}_a_{unit}"] = value_a
        found[f"{metric}_b_{unit}"] = value_b
        difference = value_b - value_a
        found[difference_column(metric)] = _percent(difference, value_a) if metric == "bandwidth" else difference
    return found


def _percent(difference: float, of: float) -> float:
    """A difference in percent; NaN of 0, of which nothing is a share."""
    return 100 * difference / of if of else math.nan


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _sizes(signed: Sequence[float]) -> dict[str, int | float]:
    size = sorted(map(abs, signed))
    return {
        "rows": len(size),
        "median": statistics.median(size),
        "mean": statistics.fmean(size),
        "p95": statistics.quantiles(size, n=20, method="inclusive")[-1] if len(size) > 1 else size[0],
        "maximum": size[-1],
        "signed_median": statistics.median(signed),
    }


def _frame(rows: Sequence[Row]) -> "pd.DataFrame":
    """Rows as a frame; unknown depths of other tools are None beside whole numbers."""
    import pandas as pd

    frame = pd.DataFrame.from_records(rows)
    if "outstanding" in frame:
        depths = [row["outstanding"] for row in rows]
        frame["outstanding"] = pd.Series(depths, frame.index, dtype=object)
    return frame
