"""Import the raw results of a NetFPGA; `pcielab.formats.raw_results` describes the format.

The whole file is checked before anything is written.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pcielab._core import StoreWriter
from pcielab.errors import InputError, found_in, refusal
from pcielab.formats.importers.pcie_bench.text import read_text
from pcielab.formats.published import CACHE_STATES, PATTERNS
from pcielab.formats.raw_results import (
    COUNTER_NS,
    FIRST_LINE,
    IN_ORDER,
    LATENCIES_MOST,
    SIZE_STEP_BYTES,
    TRANSFERS_MOST,
)
from pcielab.library.suites.benchmark import BENCHMARKS
from pcielab.outputs import check_new_store
from pcielab.percentiles import percentile_of_counts
from pcielab.wording import shown

_TICKS_MOST = 1 << 48
_PERCENTILES = {"median": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def import_netfpga(file: str | Path, output: str | Path, *, overwrite: bool = False) -> None:
    """Read a file of raw results and write it as a store.

    Args:
        file: The file.
        output: The store to create.
        overwrite: Replace an existing file.

    Raises:
        InputError: The file is foreign or damaged, or the output is refused; nothing has been written.
    """
    file = Path(file)
    check_new_store(Path(output), overwrite=overwrite)
    facts, records = _read(file)
    timer = {"numerator_ns": COUNTER_NS, "denominator": 1, "cycles": 1}
    manifest = {
        "origin": facts.get("origin", "measured"),
        "title": facts.get("title", file.name),
        "suite": "netfpga",
        "system": None,
        "overrides": {},
        "options": {},
        "device": {"name": facts.get("device", "netfpga-sume"), "timer": timer},
        "host": {},
        "source": {"format": "netfpga", "file": file.name},
    }
    with StoreWriter.create(output, json.dumps(manifest), overwrite=overwrite) as store:
        for number, record in enumerate(records):
            with found_in(file):
                store.write_test(json.dumps(record | {"id": number, "status": "ok"}))


def _read(file: Path) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The facts in the file's head, and the records of its tests."""
    lines = read_text(file).splitlines()
    if lines[0] != FIRST_LINE:
        raise refusal(
            "malformed", f"{file}, line 1: is {shown(lines[0])}: a file of raw results begins with {FIRST_LINE!r}"
        )
    facts: dict[str, str] = {}
    records: list[dict[str, Any]] = []
    head: dict[str, str] | None = None
    begins, ticks = 0, list[int]()
    for number, line in enumerate([*lines[1:], "#"], start=2):
        if line.startswith("# title="):
            facts["title"] = line.removeprefix("# title=")
        elif line.startswith("# "):
            facts |= _words(line[2:])
        elif line.startswith("#"):
            if head is not None:
                records.append(_record(_Section(f"{file}, line {begins}", head), ticks))
            head, begins, ticks = _words(line[1:]), number, []
        elif line.strip():
            tick = _whole(line.strip(), _TICKS_MOST)
            if tick is None:
                raise refusal("malformed", f"{file}, line {number}: {shown(line)}: give a whole number of ticks")
            ticks.append(tick)
    if facts.get("counter_ns") != str(COUNTER_NS):
        raise refusal(
            "unsupported",
            f"{file}: counter_ns is {facts.get('counter_ns')}: the NetFPGA's counter has {COUNTER_NS} ns",
        )
    if not records:
        raise refusal("damaged", f"{file}: has no test: the file is truncated; copy it again")
    return facts, records


def _words(text: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def _whole(text: str, most: int) -> int | None:
    """A whole number up to `most`; None for anything else, even with many digits."""
    if not text.isdecimal() or len(text) > len(str(most)) or int(text) > most:
        return None
    return int(text)


@dataclass(frozen=True)
class _Section:
    """The head of a section, with its position for errors."""

    position: str
    head: dict[str, str]

    def refuse(self, problem: str) -> InputError:
        return refusal("malformed", f"{self.position}: {problem}")

    def word(self, key: str, words: dict[str, Any]) -> Any:
        found = self.head.get(key)
        if found not in words:
            raise self.refuse(f"{key} is {shown(str(found))}: give one of {', '.join(words)}")
        return words[found]

    def number(self, key: str, least: int, most: int) -> int:
        text = self.head.get(key, "")
        number = _whole(text, most)
        if number is None or number < least:
            raise self.refuse(f"{key} is {shown(text)}: give a whole number, {least} to {most}")
        return number


def _record(section: _Section, ticks: list[int]) -> dict[str, Any]:
    operation, path = section.word("test", BENCHMARKS)
    size = section.number("size", 1, 1 << 30)
    if size % SIZE_STEP_BYTES:
        raise section.refuse(f"size is {size}: the NetFPGA's are multiples of {SIZE_STEP_BYTES} B")
    latency = operation.startswith("lat")
    most = LATENCIES_MOST if latency else 1
    if not 1 <= len(ticks) <= most or min(ticks) == 0:
        raise section.refuse(f"{len(ticks)} numbers: a test like this has 1 to {most}, all above 0")
    transfers = len(ticks) if latency else section.number("transfers", 1, TRANSFERS_MOST)
    in_order = latency and section.head.get("order") == IN_ORDER
    parameters = {
        "cache": section.word("cache", CACHE_STATES),
        "details": in_order,
        "device_offset_bytes": section.number("device_offset", 0, 4095),
        "host_offset_bytes": section.number("host_offset", 0, 4095),
        "operation": operation,
        "outstanding": None,
        "path": path,
        "pattern": section.word("pattern", PATTERNS),
        "size_bytes": size,
        "stride_units": 1,
        # A row of reads and writes counts one direction of the two.
        "transactions": 2 * transfers if operation == "bw-rdwr" else transfers,
        "window_bytes": section.number("window", 1, 1 << 40),
    }
    found = _latencies(ticks, in_order) if latency else _bandwidth(ticks[0], transfers, size)
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    return {"family": section.head.get("family", "raw"), "name": section.head["test"], "parameters": text} | found


def _latencies(ticks: list[int], in_order: bool) -> dict[str, Any]:
    counts = sorted(Counter(ticks).items())
    values, times = np.array(counts).T
    found = {name: float(percentile_of_counts(values, times, share)) for name, share in _PERCENTILES.items()}
    found |= {"average": float(np.mean(ticks)), "minimum": float(min(ticks)), "maximum": float(max(ticks))}
    scalars = [{"metric": name, "unit": "ns", "value": value * COUNTER_NS} for name, value in found.items()]
    outliers = sum(tick > 3 * found["p95"] for tick in ticks)
    scalars += [
        {"metric": "outliers", "unit": "1", "value": outliers},
        {"metric": "samples", "unit": "1", "value": len(ticks)},
    ]
    distribution = {"metric": "latency", "tick": str(COUNTER_NS), "bins": counts}
    series = [{"metric": "latency_ticks", "values": ticks}] if in_order else []
    return {"scalars": scalars, "distributions": [distribution], "series": series}


def _bandwidth(ticks: int, transfers: int, size: int) -> dict[str, Any]:
    time_ns, moved = ticks * COUNTER_NS, transfers * size
    values = {
        "time": (time_ns, "ns"),
        "bytes": (moved, "B"),
        "transactions": (transfers, "1"),
        "bandwidth": (8 * moved / time_ns, "Gb/s"),
        "rate": (1e9 * transfers / time_ns, "1/s"),
    }
    return {"scalars": [{"metric": name, "unit": unit, "value": value} for name, (value, unit) in values.items()]}
