"""Scores of a simulated run against a measured one: by test, by regime, row by row.

A bandwidth counts by its relative error; a latency by the errors of its median and of its average, in ns; a
distribution by the mean difference of its quantiles from 0.1 % to 99.9 %, in ns. A measured row without a
predicted one counts as missing.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pcielab.analysis.calibrate.measured import REFRESH_FAMILY, RowKey
from pcielab.analysis.compare import Comparison, compare
from pcielab.analysis.validate.regimes import regimes_of
from pcielab.errors import refusal
from pcielab.formats.published import CACHE_STATES, NFP6000_TIMER
from pcielab.library.suites.load import Suite
from pcielab.store import Store
from pcielab.store.identity import SETTING

BANDWIDTH, MEDIAN, AVERAGE, DISTRIBUTION = "bandwidth", "median latency", "average latency", "distribution"
UNITS = {BANDWIDTH: "percent", MEDIAN: "ns", AVERAGE: "ns", DISTRIBUTION: "ns"}
LARGE_WINDOW_BYTES = 512 << 10

_CACHE_WORDS = {state: word for word, state in CACHE_STATES.items()}
_QUANTILES = np.arange(1, 1000) / 1000
_CDF_DIGITS = 8
"""Digits of the published shares."""


@dataclass(frozen=True)
class Score:
    """The errors of a simulated run against a measured one.

    Attributes:
        comparison: The rows of both, without the excluded ones.
        rows: One row per error: family, name, regimes, `metric`, size of the error.
        missing: Number of measured rows without a prediction.
        excluded: Number of measured rows left out.
    """

    comparison: Comparison
    rows: pd.DataFrame
    missing: int
    excluded: int

    @property
    def by_test(self) -> pd.DataFrame:
        """The errors of all rows, of each test, and of bandwidths over large windows."""
        groups: list[tuple[str, pd.DataFrame]] = [("all", self.rows)]
        groups += [(str(name), rows) for name, rows in self.rows.groupby("name", sort=False)]
        groups.append(("windows of 512 KiB and more", self.rows[self.rows["large_window"]]))
        return _summaries(groups)

    @property
    def by_regime(self) -> pd.DataFrame:
        """The errors in each regime; a row may be in several."""
        named = self.rows.explode("regimes").dropna(subset="regimes")
        return _summaries([(str(name), rows) for name, rows in named.groupby("regimes")])

    @property
    def medians_within_a_tick(self) -> float:
        """Share of the median latencies at most one tick of the card's timer off."""
        errors = self.rows.loc[self.rows["metric"] == MEDIAN, "error"]
        return float((errors <= float(NFP6000_TIMER.tick_ns) + 0.01).mean())

    def worst(self, count: int) -> pd.DataFrame:
        """The rows with the largest errors, relative to the mean of their metric."""
        means = self.rows.groupby("metric")["error"].transform("mean")
        return self.rows.assign(weight=self.rows["error"] / means).nlargest(count, "weight")


def require_common(measured: Store, suite: Suite, subject: str) -> None:
    """Refuse a measured run that shares no finished test with a suite, before the suite is simulated.

    Raises:
        InputError: There is none; `subject` names the measured run.
    """
    known = {_setting(test["parameters"]) for test in suite.tests}
    if not any(_setting(row) in known for row in measured.test_rows() if row["status"] == "ok"):
        raise refusal(
            "missing",
            f"{subject}: has no finished test of the suite {suite.name}: give a run of that suite, or of tests "
            "with the same parameters",
        )


def _setting(parameters: Mapping[Any, Any]) -> tuple[object, ...]:
    """The parameters by which tests pair whatever their names."""
    return tuple(value if (value := parameters.get(key)) == value else None for key in SETTING)


def score(measured: Store, predicted: Store, exclude: Collection[RowKey] = ()) -> Score:
    """Score a simulated run.

    Args:
        measured: The measured run.
        predicted: The simulated run.
        exclude: Rows of the twin's calibration, left out; with any, a pack's distribution is left out too.

    Raises:
        InputError: The runs have no test in common, or are not of transfers.
    """
    measured.require_kind("transfers", "a score")
    comparison = compare(measured, predicted)
    rows = comparison.rows
    aligned = (rows["host_offset_bytes"] == 0) & (rows["device_offset_bytes"] == 0)
    skipped = pd.Series([key in exclude for key in _keys(rows)], index=rows.index, dtype=bool) & aligned
    distributions = list(_distribution_errors(comparison, bool(exclude)))
    kept = [row for row, leave_out in zip(comparison.pairs, skipped, strict=True) if not leave_out]
    comparison = replace(comparison, pairs=kept)
    errors = pd.DataFrame([*_row_errors(comparison, predicted), *distributions])
    return Score(comparison, errors, comparison.alone_a, int(skipped.sum()))


def _keys(rows: pd.DataFrame) -> list[RowKey]:
    columns = ["family", "name", "cache", "window_bytes", "size_bytes"]
    return [
        (str(family), str(name), _CACHE_WORDS[cache], int(window), int(size))
        for family, name, cache, window, size in rows[columns].itertuples(index=False)
    ]


def _row_errors(comparison: Comparison, predicted: Store) -> Iterator[dict[str, Any]]:
    columns = {
        BANDWIDTH: "bandwidth_difference_percent",
        MEDIAN: "median_difference_ns",
        AVERAGE: "average_difference_ns",
    }
    regimes = regimes_of(predicted)
    for row in comparison.rows.to_dict("records"):
        for metric, column in columns.items():
            difference = row[column]
            if difference == difference:
                yield {
                    **_described(row),
                    "regimes": regimes.of(row),
                    "metric": metric,
                    "difference": float(difference),
                    "error": abs(float(difference)),
                    "large_window": metric == BANDWIDTH
                    and "win_sweep" in row["family"]
                    and row["window_bytes"] >= LARGE_WINDOW_BYTES,
                }


def _described(row: Any) -> dict[str, Any]:
    keys = ("family", "name", "cache", "size_bytes", "window_bytes", "host_offset_bytes", "device_offset_bytes")
    return {key: row[key] for key in keys}


def _distribution_errors(comparison: Comparison, of_pack: bool) -> Iterator[dict[str, Any]]:
    """The mean difference of the quantiles, for each test of which both runs have a distribution."""
    tests = comparison.a.tests
    pairs = comparison.rows[comparison.rows["test_a"].isin(tests.loc[tests["details"].astype(bool), "id"])]
    for row in pairs.to_dict("records"):
        calibrated = (row["family"], row["name"], row["size_bytes"], row["window_bytes"], row["cache"])
        if of_pack and calibrated == (REFRESH_FAMILY, "LAT_DMA_RD", 64, 8192, "cold"):
            continue
        first, second = _quantiles(comparison.a, row["test_a"]), _quantiles(comparison.b, row["test_b"])
        if first is None or second is None:
            continue
        yield {
            **_described(row),
            "regimes": (),
            "metric": DISTRIBUTION,
            "difference": float(np.mean(second - first)),
            "error": float(np.mean(np.abs(second - first))),
            "large_window": False,
        }


def _quantiles(store: Store, test: int) -> np.ndarray[Any, Any] | None:
    found = store.distribution(int(test))
    if found.empty:
        return None
    shares = np.round(found["cdf"].to_numpy(), _CDF_DIGITS)
    bins = np.minimum(np.searchsorted(shares, _QUANTILES, side="left"), len(found) - 1)
    values: np.ndarray[Any, Any] = found["latency_ns"].to_numpy()[bins]
    return values


def _summaries(groups: list[tuple[str, pd.DataFrame]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "group": name,
                "metric": metric,
                "unit": UNITS[metric],
                "rows": len(errors),
                "median": float(errors.median()),
                "mean": float(errors.mean()),
                "p95": float(errors.quantile(0.95)),
                "maximum": float(errors.max()),
            }
            for name, rows in groups
            for metric in UNITS
            if len(errors := rows.loc[rows["metric"] == metric, "error"])
        ]
    )
