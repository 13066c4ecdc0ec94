"""What the cache states add to the latencies of a measured run."""

import json
from pathlib import Path

import pytest

from pcielab import Store, open_store
from pcielab._core import StoreWriter
from pcielab.kinds.transfers.effects import effects_of
from shell import succeed


def stored(path: Path, middles_ns: dict[str, int], origin: str = "measured") -> Store:
    """A store of latency tests in windows of two sizes: 100 latencies within 20 ns around each state's middle."""
    with StoreWriter.create(path, json.dumps({"origin": origin, "backend": {"kind": "nvme"}})) as writer:
        number = 0
        for window in (8192, 65536):
            for cache, middle in middles_ns.items():
                parameters = {
                    "operation": "lat-rd", "path": "dma", "pattern": "random", "cache": cache, "size_bytes": 512,
                    "window_bytes": window, "host_offset_bytes": 0, "device_offset_bytes": 0, "stride_units": 1,
                    "outstanding": None, "transactions": 100, "details": False,
                }  # fmt: skip
                bins = [(middle + apart, 5) for apart in range(-10, 10)]
                record = {
                    "id": number, "family": "f", "name": "LAT_DMA_RD", "status": "ok",
                    "parameters": json.dumps(parameters),
                    "scalars": [{"metric": "median", "unit": "ns", "value": middle - 1}],
                    "distributions": [{"metric": "latency", "tick": "1", "bins": bins}],
                }  # fmt: skip
                writer.write_test(json.dumps(record))
                number += 1
    return open_store(path)


def test_effect_is_the_median_less_that_of_warm_caches_in_the_same_window(tmp_path: Path) -> None:
    found = effects_of(stored(tmp_path / "run.db", {"cold": 1080, "device-warm": 1001, "host-warm": 1000}))
    assert [(one.test, one.baseline, one.difference_ns) for one in found] == [
        (0, 2, 80),
        (1, 2, 1),
        (3, 5, 80),
        (4, 5, 1),
    ]
    assert [one.is_resolvable for one in found] == [True, False, True, False]
    # Ranks 45 and 56 of 100 latencies, five in each ns, are 3 ns apart: 1.5 ns for each median.
    assert found[0].standard_error_ns == pytest.approx(1.5 * 2**0.5)


def test_runs_without_warm_caches_or_of_no_machine_have_no_effects(tmp_path: Path) -> None:
    assert effects_of(stored(tmp_path / "cold.db", {"cold": 1080})) == []
    simulated = stored(tmp_path / "simulated.db", {"cold": 1080, "host-warm": 1000}, origin="simulated")
    assert effects_of(simulated) == []


def test_explain_says_which_effect_is_not_resolvable(tmp_path: Path) -> None:
    stored(tmp_path / "run.db", {"cold": 1080, "device-warm": 1001, "host-warm": 1000})
    shown = succeed("explain", tmp_path / "run.db").stdout
    assert "less host-warm" in shown
    assert shown.count("+80 ns") == shown.count("not resolvable") == 2
