"""Play a trace of DMA on a simulated host into a store: a test for its reads, and one for its writes.

A latency is from the time when the first TLP had a tag and credits until the last completion was at the device, or
the last byte at the host; a wait is the time before that, from the time in the trace on. Rates are over the time
from the first transfer sent to the last one done.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pcielab import _core, model
from pcielab.devices.sim import described
from pcielab.percentiles import percentile
from pcielab.port.trace import Column, Played, play_columns
from pcielab.work.running import this_computer

if TYPE_CHECKING:
    from pcielab.library.profiles import ResolvedSystem
    from pcielab.library.suites.parameters import Cache

MOST_KEPT = 100_000
"""Transfers of each direction whose times the store keeps one by one; the histogram has all of them."""
DIRECTIONS = {"read": 0, "write": 1}
_NAMES = {"read": "TRACE_RD", "write": "TRACE_WR"}
_SHARES = {"median": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def play_into(
    path: Path,
    system: "ResolvedSystem",
    text: str,
    *,
    name: str,
    cache: "Cache" = "cold",
    window_bytes: int = 0,
    seed: int = 1,
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
    limit: int | None = None,
    stop: _core.Stop | None = None,
) -> tuple[Played, int]:
    """Play a trace, and write its store.

    Args:
        path: The store.
        system: The host and the link.
        text: The trace.
        name: Name of the trace.
        cache: State of the caches before the first transfer.
        window_bytes: Bytes of the buffer that are warm, from its start.
        seed: Seed of the host's draws.
        overwrite: Whether to replace an existing store.
        progress: Called now and then with the TLPs of the transfers that are done, and their total.
        limit: TLPs that the transfers may take; None: as of `play_columns`.
        stop: When it is requested, the store holds what was done until then, as interrupted tests.

    Returns:
        The transfers that were done, and the number of those in the trace.

    Raises:
        InputError: The store exists, a line of the trace is wrong, a transfer does not fit the host, or the
            trace has more TLPs than the limit.
    """
    _core.check_new_store(path, overwrite=overwrite)
    write = _core.trace_read(text)[1]
    asked = {direction: write.count(number) for direction, number in DIRECTIONS.items()}
    played = play_columns(
        system,
        text,
        cache=cache,
        window_bytes=window_bytes,
        seed=seed,
        progress=progress,
        limit=limit,
        stop=stop,
    )
    digest = hashlib.sha256(text.encode()).hexdigest()
    settings = {"trace": digest[:16], "cache": cache, "window_bytes": None if cache == "cold" else window_bytes}
    tests = [
        {"direction": direction, **settings, "transfers": count} for direction, count in asked.items() if count
    ]
    manifest = {
        "origin": "simulated",
        "version": _core.__version__,
        "title": f"{system.title}, trace {name}",
        "tests": len(tests),
        **described(system),
        "seed": seed,
        "trace": {"name": name, "sha256": digest, "recorded": _comment(text)},
        **this_computer(),
    }
    with _core.StoreWriter.create(path, json.dumps(manifest), overwrite=overwrite) as store:
        for number, test in enumerate(tests):
            store.write_test(json.dumps(_record(number, test, played, system)))
    return played, sum(asked.values())


def _comment(text: str) -> str | None:
    """The first comment of a trace, which says where it is from."""
    found = re.match(r"[^\n]*\n# *([^\n]{1,300})", text)
    return found[1] if found else None


def _record(number: int, test: dict[str, Any], played: Played, system: "ResolvedSystem") -> dict[str, Any]:
    """The transfers of a direction as a test: interrupted if some of them are missing."""
    direction = test["direction"]
    chosen = played.write == DIRECTIONS[direction]
    done = int(chosen.sum())
    whole = done == test["transfers"]
    record = {
        "id": number,
        "family": "trace",
        "name": _NAMES[direction],
        "parameters": json.dumps(dict(sorted(test.items())), separators=(",", ":")),
        "status": "ok" if whole else "interrupted",
        "message": None if whole else f"stopped after {done} of {test['transfers']} transfers",
    }
    if not done:
        return record
    columns = (played.ready_ps, played.sent_ps, played.done_ps, played.bytes)
    ready_ps, sent_ps, done_ps, sizes = (column[chosen] for column in columns)
    latency_ps = done_ps - sent_ps
    bins, counts = np.unique(latency_ps.astype("int64"), return_counts=True)
    kept = {"sent_ns": sent_ps / 1000, "latency_ns": latency_ps / 1000, "bytes": sizes}
    scalars = dict(_numbers(direction, ready_ps, sent_ps, done_ps, sizes, system))
    return record | {
        "scalars": [
            {"metric": metric, "unit": unit, "value": float(value)} for metric, (value, unit) in scalars.items()
        ],
        "distributions": [
            {"metric": "latency", "tick": "1/1000", "bins": np.column_stack([bins, counts]).tolist()}
        ],
        "series": [
            {"metric": metric, "values": values[:MOST_KEPT].astype(float).tolist()}
            for metric, values in kept.items()
        ],
    }


def _numbers(
    direction: str, ready_ps: Column, sent_ps: Column, done_ps: Column, sizes: Column, system: "ResolvedSystem"
) -> Iterator[tuple[str, tuple[float, str]]]:
    """The metrics of the transfers of a direction, each with its unit."""
    latency_ns, wait_ns = (done_ps - sent_ps) / 1000, (sent_ps - ready_ps) / 1000
    elapsed_ns = max(int(done_ps.max()) - int(sent_ps.min()), 1) / 1000
    moved = int(sizes.sum())
    yield "time", (elapsed_ns, "ns")
    yield "bytes", (moved, "B")
    yield "transactions", (len(sizes), "1")
    yield "bandwidth", (8 * moved / elapsed_ns, "Gb/s")
    yield "average", (latency_ns.mean(), "ns")
    yield "minimum", (latency_ns.min(), "ns")
    yield "maximum", (latency_ns.max(), "ns")
    for metric, share in _SHARES.items():
        yield metric, (percentile(latency_ns, share), "ns")
    yield "waited", (int((wait_ns > 0).sum()), "1")
    yield "average_wait", (wait_ns.mean(), "ns")
    recorded_ns = (int(ready_ps[-1]) - int(ready_ps[0])) / 1000
    if recorded_ns:
        yield "recorded_bandwidth", (8 * (moved - int(sizes[-1])) / recorded_ns, "Gb/s")
    yield "wire_bandwidth", (_wire_gbps(direction, sizes, system), "Gb/s")
    # A longer read has several requests, which do not all hold their tags until its end.
    if direction == "read" and sizes.max() <= system.system.link.mrrs_bytes:
        yield "in_flight", (latency_ns.sum() / elapsed_ns, "1")


def _wire_gbps(direction: str, sizes: Column, system: "ResolvedSystem") -> float:
    """The rate at which the link alone moves transfers of these sizes, in this direction alone."""
    counts, described_system = Counter(sizes.tolist()), system.system
    keys = {"generation", "lanes", "mps_bytes", "mrrs_bytes", "rcb_bytes", "ecrc"}
    link = model.Link(**{key: getattr(described_system.link, key) for key in keys})
    addresses, chunk_bytes = described_system.chunk_addresses, described_system.chunk_bytes
    low = _core.low_share(addresses, chunk_bytes, len(addresses) * chunk_bytes)
    answers = model.bandwidth(link, list(counts), low_share=low)
    moved_bits = [8 * int(size) * count for size, count in counts.items()]
    # Gb/s are bits a nanosecond.
    took_ns: float = sum(
        bits / getattr(answer, direction).gbps for bits, answer in zip(moved_bits, answers, strict=True)
    )
    return sum(moved_bits) / took_ns
