"""Runs, traces, fabrics and pictures all give percentiles by nearest rank."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pytest

from pcielab import InputError, _core, fabric, open_store
from pcielab.fabric.simulation import summary_of
from pcielab.fabric.stored import scalars_of
from pcielab.fabric.trace import Trace
from pcielab.kinds.transfers.distribution import _statistics
from pcielab.percentiles import percentile, percentile_of_counts
from pcielab.store import Store
from shell import succeed

TIMES = [40.0, 10.0, 30.0, 20.0]
"""An even count, for which interpolating definitions give other values."""
EXPECTED = {0.5: 20.0, 0.75: 30.0, 0.9: 40.0, 0.99: 40.0, 0.999: 40.0, 1.0: 40.0}


def frame() -> pd.DataFrame:
    rows = pd.DataFrame({"total": TIMES, "host": TIMES, "fabric": TIMES, "device": TIMES})
    return rows.assign(submitted=0.0, reached=float("nan"))


def of_values() -> Mapping[float, float]:
    return {share: percentile(TIMES, share) for share in EXPECTED}


def of_counts() -> Mapping[float, float]:
    return {share: percentile_of_counts([10, 20, 30, 40], [1, 1, 1, 1], share) for share in EXPECTED}


def of_flows() -> Mapping[float, float]:
    found = summary_of(frame())
    return {0.5: found["p50_ns"], 0.9: found["p90_ns"], 0.99: found["p99_ns"]}


def of_phases() -> Mapping[float, float]:
    scalars = scalars_of(pd.DataFrame(), pd.DataFrame(), {"F1": frame()})
    return {0.99: next(row["value"] for row in scalars if row["metric"] == "p99")}


def of_a_program() -> Mapping[float, float]:
    rows = Trace(frame(), fabric.load("fabrex-u55c"), "per-destination").summary().set_index("phase").loc["total"]
    return {0.5: rows["p50_ns"], 0.9: rows["p90_ns"], 0.99: rows["p99_ns"], 0.999: rows["p999_ns"]}


def of_a_picture() -> Mapping[float, float]:
    found = _statistics(pd.DataFrame({"latency_ns": sorted(TIMES), "count": 1}))
    return {0.5: found["median_ns"], 0.99: found["p99_ns"], 0.999: found["p999_ns"], 1.0: found["slowest_ns"]}


@pytest.mark.parametrize("source", [of_values, of_counts, of_flows, of_phases, of_a_program, of_a_picture])
def test_every_source_gives_the_same_value(source: Callable[[], Mapping[float, float]]) -> None:
    found = source()
    assert found == {share: EXPECTED[share] for share in found}


def test_a_runs_percentiles_are_those_of_its_distribution(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    asked = ("--test", "lat-rd", "--size", "64", "--window", "8K", "--details")
    succeed("run", *asked, "--profile", "e3", "-o", path)
    store = open_store(path)
    kept = store.scalars.iloc[0]
    assert {metric: kept[metric] for metric in ("median", "p95", "p99", "p999")} == pytest.approx(
        dict(zip(("median", "p95", "p99", "p999"), found_in(store), strict=True)), rel=1e-12
    )


def found_in(store: Store) -> list[float]:
    bins = store.distribution(0)
    return [percentile_of_counts(bins["latency_ns"], bins["count"], share) for share in (0.5, 0.95, 0.99, 0.999)]


def test_empty_data_have_no_percentile_and_a_share_is_from_0_to_1() -> None:
    assert pd.isna(percentile([], 0.5))
    assert pd.isna(percentile_of_counts([], [], 0.5))
    assert _core.nearest_rank(0.0, 4) == 1
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError, match="from 0 to 1"):
            percentile(TIMES, share)
