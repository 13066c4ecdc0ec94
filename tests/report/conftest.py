"""Small made-up stores with the families of the paper's suite and few rows, written like those of a run."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pcielab._core import StoreWriter
from pcielab.store import Store, open_store

LINK = {
    "generation": 3, "lanes": 8, "mps_bytes": 256, "mrrs_bytes": 512, "rcb_bytes": 64, "ecrc": False, "tags": 32,
    "flit": False,
}  # fmt: skip
CACHES = ("cold", "device-thrash", "device-warm", "host-warm")
WINDOWS = (4096, 262144, 1048576, 67108864)

MakeStore = Callable[..., Store]


def system(**changes: Any) -> dict[str, Any]:
    """The keys of a resolved system profile that a report reads."""
    return {
        "name": "made-up", "title": "A machine <made up> for tests", "calibrated": False, "link": LINK,
        "host": {"name": "host-a", "llc_bytes": 15728640}, "device": {"name": "card-a"},
        "device_socket": 0, "memory_socket": 0, "program_socket": 0, "iommu": "off",
        "chunk_bytes": 4194304, "chunk_addresses": [1 << 33],
    } | changes  # fmt: skip


def parameters(operation: str, size: int, **changes: Any) -> dict[str, Any]:
    return {
        "operation": operation, "path": "dma", "pattern": "random", "cache": "host-warm", "size_bytes": size,
        "window_bytes": 8192, "host_offset_bytes": 0, "device_offset_bytes": 0, "stride_units": 1,
        "outstanding": None, "transactions": 1000, "details": False,
    } | changes  # fmt: skip


def bandwidth_scalars(size: int) -> list[dict[str, Any]]:
    gbps = 55 * size / (size + 40)
    values = {"time": (1e6, "ns"), "bytes": (1000 * size, "B"), "transactions": (1000, "1"), "rate": (1e6, "1/s")}
    scalars = [{"metric": name, "unit": unit, "value": float(value)} for name, (value, unit) in values.items()]
    return [*scalars, {"metric": "bandwidth", "unit": "Gb/s", "value": gbps}]


def latency_scalars(median: float) -> list[dict[str, Any]]:
    values = {
        "median": median,
        "average": median + 3,
        "minimum": median * 0.9,
        "p95": median + 30,
        "maximum": 2000.0,
    }
    return [{"metric": name, "unit": "ns", "value": value} for name, value in values.items()]


def small_paper_suite() -> Iterator[dict[str, Any]]:
    """One family of each kind that the paper's figures need."""
    for operation in ("bw-rd", "bw-wr", "bw-rdwr"):
        for size in (64, 256, 257, 512, 2048):
            yield {
                "family": "bw_dma_sz_sweep", "parameters": parameters(operation, size),
                "scalars": bandwidth_scalars(size),
            }  # fmt: skip
    for operation in ("bw-rd", "bw-wr"):
        for size in (64, 512):
            for cache in CACHES:
                for window in WINDOWS:
                    yield {
                        "family": f"bw_dma_win_sweep_{operation[3:]}_rnd_{size}",
                        "parameters": parameters(operation, size, cache=cache, window_bytes=window),
                        "scalars": bandwidth_scalars(size),
                    }
        for offset in (0, 1, 8):
            for side in ("host_offset_bytes", "device_offset_bytes"):
                yield {
                    "family": f"bw_dma_off_{operation[3:]}", "scalars": bandwidth_scalars(64),
                    "parameters": parameters(operation, 64, pattern="sequential", **{side: offset}),
                }  # fmt: skip
    for operation in ("lat-rd", "lat-wrrd"):
        for size in (8, 64, 2048):
            yield {
                "family": "lat_dma_sizes", "scalars": latency_scalars(500.0 + size / 4),
                "parameters": parameters(operation, size, pattern="sequential"),
            }  # fmt: skip
        for cache in CACHES:
            for window in WINDOWS:
                yield {
                    "family": f"lat_cmd_sweep_{operation[4:]}_rnd_08", "scalars": latency_scalars(420.0),
                    "parameters": parameters(operation, 8, path="command", cache=cache, window_bytes=window),
                }  # fmt: skip
        for cache in ("cold", "host-warm"):
            bins = [(39 + step, 10 ** (6 - step)) for step in range(6)] + [(90000, 2)]
            yield {
                "family": "lat_dma_details", "scalars": latency_scalars(560.0),
                "parameters": parameters(operation, 64, cache=cache, details=True),
                "distributions": [{"metric": "latency", "tick": "40/3", "bins": bins}],
                "series": [{"metric": "latency_ticks", "values": [39 + at % 3 for at in range(3000)] + [90000]}],
            }  # fmt: skip


@pytest.fixture
def make_store(tmp_path: Path) -> MakeStore:
    """Writes a store: `make_store("a", tests, origin=..., system=...)`."""
    return stores_in(tmp_path)


def stores_in(folder: Path) -> MakeStore:
    """What writes stores into a folder, like `make_store`."""

    def make(name: str, tests: Any = None, **manifest: Any) -> Store:
        path = folder / f"{name}.db"
        entries = {
            "origin": "simulated", "title": "A made-up run", "suite": "paper", "seed": 7, "system": system(),
            "overrides": {}, "options": {"samples": "adaptive", "engine": "fast"},
            "device": {"name": "card-a", "timer": {"numerator_ns": 40, "denominator": 3, "cycles": 16}},
        } | manifest  # fmt: skip
        with StoreWriter.create(path, json.dumps(entries)) as writer:
            for number, test in enumerate(small_paper_suite() if tests is None else tests):
                record = {"id": number, "name": "TEST", "status": "ok"} | test
                canonical = json.dumps(test["parameters"], sort_keys=True, separators=(",", ":"))
                writer.write_test(json.dumps(record | {"parameters": canonical}))
        return open_store(path)

    return make
