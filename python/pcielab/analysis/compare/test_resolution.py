"""Standard errors of measured medians, and differences that they hide."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from pcielab import Store, open_store
from pcielab._core import StoreWriter
from pcielab.analysis.compare import compare
from pcielab.kinds.transfers.compare import is_resolvable, median_standard_error_ns
from shell import succeed


def stored(path: Path, latencies: list[int], origin: str = "measured") -> Store:
    """A store of a latency test, counted in ticks of half a nanosecond, and a bandwidth test."""
    latency = {
        "operation": "lat-rd", "path": "dma", "pattern": "random", "cache": "cold", "size_bytes": 512,
        "window_bytes": 8192, "host_offset_bytes": 0, "device_offset_bytes": 0, "stride_units": 1,
        "outstanding": None, "transactions": 1000, "details": False,
    }  # fmt: skip
    bins = sorted((tick, latencies.count(tick)) for tick in set(latencies))
    median = sorted(latencies)[(len(latencies) - 1) // 2] / 2
    scalars = [{"metric": "median", "unit": "ns", "value": median}]
    distribution = {"metric": "latency", "tick": "1/2", "bins": bins}
    tests: list[tuple[str, dict[str, object], dict[str, object]]] = [
        ("LAT_DMA_RD", latency, {"scalars": scalars, "distributions": [distribution]}),
        (
            "BW_DMA_RD",
            latency | {"operation": "bw-rd"},
            {"scalars": [{"metric": "bandwidth", "unit": "Gb/s", "value": 8.0}]},
        ),
    ]
    with StoreWriter.create(path, json.dumps({"origin": origin})) as writer:
        for number, (name, parameters, numbers) in enumerate(tests):
            record = {"id": number, "family": "f", "name": name, "status": "ok"}
            writer.write_test(json.dumps(record | numbers | {"parameters": json.dumps(parameters)}))
    return open_store(path)


def draws(middle: float, count: int = 400, seed: int = 1) -> list[int]:
    """Latencies in ticks around a middle, with a standard deviation of 20 ticks."""
    drawn = np.random.default_rng(seed).normal(middle, 20, count)
    return [int(tick) for tick in np.rint(drawn)]


def test_standard_error_is_that_of_the_median_of_normal_latencies(tmp_path: Path) -> None:
    errors = [
        median_standard_error_ns(stored(tmp_path / f"{seed}.db", draws(2000, seed=seed)), 0) for seed in range(20)
    ]
    # Of a normal distribution: 1.2533 standard deviations over the root of the count; a tick is 0.5 ns.
    assert np.mean(errors) == pytest.approx(0.5 * 20 * math.sqrt(math.pi / 2) / math.sqrt(400), rel=0.15)


def test_equal_latencies_are_known_to_a_tick_and_none_are_unknown(tmp_path: Path) -> None:
    store = stored(tmp_path / "run.db", [2000] * 100)
    assert median_standard_error_ns(store, 0) == pytest.approx(0.5 / math.sqrt(12))
    assert math.isnan(median_standard_error_ns(store, 1))
    assert is_resolvable(0.0, math.nan)


def test_difference_of_measured_medians_has_a_standard_error(tmp_path: Path) -> None:
    a = stored(tmp_path / "a.db", draws(2000))
    rows = compare(a, stored(tmp_path / "b.db", draws(2010, seed=2))).rows
    each = [median_standard_error_ns(open_store(tmp_path / name), 0) for name in ("a.db", "b.db")]
    assert rows["median_standard_error_ns"][0] == pytest.approx(math.hypot(*each))
    assert math.isnan(rows["median_standard_error_ns"][1])
    simulated = stored(tmp_path / "c.db", draws(2010), origin="simulated")
    assert "median_standard_error_ns" not in compare(a, simulated).rows


def test_table_says_which_difference_is_not_resolvable(tmp_path: Path) -> None:
    stored(tmp_path / "a.db", draws(2000))
    stored(tmp_path / "same.db", draws(2000, seed=2))
    stored(tmp_path / "slower.db", draws(2100, seed=3))
    same, slower = (
        succeed("compare", tmp_path / "a.db", tmp_path / name).stdout for name in ("same.db", "slower.db")
    )
    assert "ns, not resolvable" in same
    assert "standard error" in same
    assert "standard error" in slower
    assert "not resolvable" not in slower
    stored(tmp_path / "simulated.db", draws(2000), origin="simulated")
    assert "standard error" not in succeed("compare", tmp_path / "a.db", tmp_path / "simulated.db").stdout
