"""Import a capture of packets: latencies and bandwidths of the device's accesses, by size, as rows of transfers.

A capture shows neither caches nor windows: the caller states the state of the caches. The window is the pages that
the accesses touch, unless it is stated, too. Reads that are alone in flight give rows of latencies, from the start
of the request to the end of the last completion at the captured end of the link. Others give rows of bandwidths.

The times of a capture lack a device's own: `--device link-capture` of `pcielab calibrate` has no constants.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pcielab._core import SPEEDS_GTPS, StoreWriter
from pcielab.captures import Explanation, Reading, Transaction, explain
from pcielab.captures.listed import take_transactions
from pcielab.errors import refusal
from pcielab.outputs import check_new_store
from pcielab.percentiles import percentile_of_counts

DEVICE = "link-capture"
"""The profile of a device whose times are those at its end of the link."""
_PAGE_BYTES = 4096
_PERCENTILES = {"median": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
_LEAST = 16
"""Reads or writes of a size that make a row."""


@dataclass
class _Size:
    """The accesses of one size and direction."""

    latencies_ps: Counter[int] = field(default_factory=Counter)
    count: int = 0
    first_ns: float = float("inf")
    last_ns: float = 0.0
    offset: int | None = None


@dataclass(frozen=True)
class CaptureFile:
    """A capture, and what it does not show.

    Attributes:
        path: The file.
        cache: State of the caches before the accesses: `cold`, `host-warm` or `device-warm`.
        window_bytes: Part of the buffer that was accessed; None: the pages that were touched.
    """

    path: Path
    cache: str = "cold"
    window_bytes: int | None = None


def import_capture(
    files: Sequence[CaptureFile],
    output: str | Path,
    *,
    reading: Reading | None = None,
    generation: int | None = None,
    lanes: int | None = None,
    overwrite: bool = False,
) -> list[str]:
    """Read captures and write their accesses as a store of transfers.

    Args:
        files: The captures, each with the state of its caches.
        output: The store to create.
        reading: How to read them.
        generation: Generation of the link; None: as captured.
        lanes: Its width.
        overwrite: Replace an existing file.

    Returns:
        What was not imported, in words.

    Raises:
        InputError: A file is damaged, has no times or no row, or the output is refused; nothing has been written.
    """
    check_new_store(Path(output), overwrite=overwrite)
    records: list[dict[str, Any]] = []
    notes: list[str] = []
    found = None
    for file in files:
        found = explain(file.path, reading=reading, generation=generation, lanes=lanes)
        if found.link is None or found.gbps is None:
            raise refusal("missing", f"{file.path}: has no times, or moves no data: give a capture with both")
        rows = list(_rows(file, found, reading))
        if not rows:
            raise refusal(
                "missing",
                f"{file.path}: has no {_LEAST} reads or writes of one size of a device: nothing to import",
            )
        records += rows
        if found.report["link"]["source"] == "pace":
            notes.append(
                f"{file.path}: the link {found.link} is the slowest that fits: --generation and --lanes state it"
            )
    assert found is not None
    with StoreWriter.create(output, json.dumps(_manifest(files, found)), overwrite=overwrite) as store:
        for number, record in enumerate(records):
            store.write_test(json.dumps(record | {"id": number, "status": "ok"}))
    return notes


def _manifest(files: Sequence[CaptureFile], found: Explanation) -> dict[str, Any]:
    settings, link = found.report["settings"], found.report["link"]
    facts = {
        "rate_gtps": SPEEDS_GTPS[link["generation"] - 1],
        "lanes": link["lanes"],
        "mps_bytes": settings["mps_bytes"],
        "mrrs_bytes": settings["mrrs_bytes"],
    }
    return {
        "origin": "simulated" if found.report["simulated"] else "measured",
        "title": ", ".join(file.path.name for file in files),
        "suite": "capture",
        "system": None,
        "overrides": {},
        "options": {},
        "device": {"name": DEVICE, "timer": {"numerator_ns": 1, "denominator": 1000, "cycles": 1}, "link": facts},
        "host": {},
        "source": {"format": f"capture: {found.report['format']}", "file": files[0].path.name},
    }


def _rows(file: CaptureFile, found: Explanation, reading: Reading | None) -> Iterator[dict[str, Any]]:
    """A row for each size of reads and of writes that is there often enough."""
    byte_ns = found.report["link"]["byte_ns"]
    sizes: defaultdict[tuple[str, int], _Size] = defaultdict(_Size)
    pages: set[int] = set()

    def take(rows: list[Transaction]) -> None:
        for row in rows:
            if row["direction"] == "downstream" or row["kind"] not in ("read", "write") or row["start_ns"] is None:
                continue
            size = sizes[row["kind"], row["bytes"]]
            address = int(row["address"] or "0", 16)
            pages.add(address // _PAGE_BYTES)
            end_ns = row["start_ns"]
            if row["kind"] == "read":
                if row["status"] != "SC" or row["last_after_ns"] is None:
                    continue
                latency_ns = row["last_after_ns"] + _completion_bytes(row) * byte_ns
                size.latencies_ps[round(1000 * latency_ns)] += 1
                end_ns += latency_ns
            size.count += 1
            size.first_ns, size.last_ns = min(size.first_ns, row["start_ns"]), max(size.last_ns, end_ns)

    take_transactions(file.path, take, reading=reading)
    window = file.window_bytes or _PAGE_BYTES * len(pages)
    alone = found.report["settings"]["tags_in_flight"] == 1
    for (kind, size_bytes), size in sorted(sizes.items()):
        if size.count < _LEAST or size_bytes == 0:
            continue
        latency = kind == "read" and alone
        operation, name = (
            ("lat-rd", "LAT_DMA_RD")
            if latency
            else (f"bw-{kind[0]}{'d' if kind == 'read' else 'r'}", f"BW_DMA_{'RD' if kind == 'read' else 'WR'}")
        )
        parameters = {
            "cache": file.cache,
            "details": False,
            "device_offset_bytes": 0,
            "host_offset_bytes": 0,
            "operation": operation,
            "outstanding": None,
            "path": "dma",
            "pattern": "random",
            "size_bytes": size_bytes,
            "stride_units": 1,
            "transactions": size.count,
            "window_bytes": window,
        }
        text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
        values = _latency(size.latencies_ps) if latency else _bandwidth(size, size_bytes)
        yield {"family": "capture", "name": name, "parameters": text} | values


def _completion_bytes(row: Transaction) -> int:
    """Bytes of the last completion on the link: header, framing and data."""
    return 20 + row["last_completion_bytes"]


def _latency(latencies_ps: Counter[int]) -> dict[str, Any]:
    counts = sorted(latencies_ps.items())
    values, times = np.array(counts).T
    found = {name: float(percentile_of_counts(values, times, share)) for name, share in _PERCENTILES.items()}
    total = int(times.sum())
    found |= {
        "average": float((values * times).sum()) / total,
        "minimum": float(values.min()),
        "maximum": float(values.max()),
    }
    scalars = [{"metric": name, "unit": "ns", "value": value / 1000} for name, value in found.items()]
    scalars.append({"metric": "samples", "unit": "1", "value": total})
    distribution = {"metric": "latency", "tick": "1/1000", "bins": counts}
    return {"scalars": scalars, "distributions": [distribution], "series": []}


def _bandwidth(size: _Size, size_bytes: int) -> dict[str, Any]:
    time_ns, moved = max(size.last_ns - size.first_ns, 1.0), size.count * size_bytes
    values = {
        "time": (time_ns, "ns"),
        "bytes": (moved, "B"),
        "transactions": (size.count, "1"),
        "bandwidth": (8 * moved / time_ns, "Gb/s"),
        "rate": (1e9 * size.count / time_ns, "1/s"),
    }
    return {"scalars": [{"metric": name, "unit": unit, "value": value} for name, (value, unit) in values.items()]}
