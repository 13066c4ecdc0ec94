"""The questions of an imported run: each number of another tool that stands for one device.

Sums over devices, copies within one, rates of collectives and of the host's memory, jobs that read and write at
once and reads that the page cache may answer are no such numbers. A latency of fio counts at depth 1 only, because
others include time in its queue.
"""

from collections.abc import Iterator, Mapping, Set
from typing import Any

from pcielab._core import Width
from pcielab.errors import refusal
from pcielab.kinds.line import line_of_parameters
from pcielab.kinds.question import Kind, Question, Value, What, kind_of, line_of
from pcielab.kinds.tools.lines import link_of_tool
from pcielab.kinds.tools.rows import COPIERS, MOVED, MeasuredRow, measured_rows
from pcielab.store import Store
from pcielab.store.setup import link_parameters

_KINDS: Mapping[str, Kind] = {**dict.fromkeys(COPIERS, "gpu"), "perftest": "nic", "fio": "nvme"}
_SMALL_BYTES = 16 << 10
_STATES = {None: "", "opposite": "other-way-busy", "others": "others-busy"}
_WHATS: Mapping[str, What] = {"read": "h2d", "write": "d2h"}
_VALUES = {"Gb/s": 0.125, "ns": 1.0, "1/s": 1.0}


def tool_questions(store: Store, tests: Set[int]) -> list[Question]:
    """The questions of a run among `tests`, in the order of its rows.

    Raises:
        InputError: No number stands for one device.
    """
    found = list(_questions(store, tests))
    if not found:
        raise refusal(
            "unsupported",
            f"{store.path}: no number stands for one device, unlike sums and mixed jobs: give another file",
        )
    return found


def _questions(store: Store, tests: Set[int]) -> Iterator[Question]:
    known = link_parameters(store.manifest)
    complete = known.get("generation") is not None and known.get("lanes") is not None
    of_run = str((store.manifest.get("device") or {}).get("name") or "")
    several = "," in str((store.manifest.get("source") or {}).get("format") or "")
    width = Width(known["generation"], known["lanes"]) if complete else None
    common: dict[str, Any] = {"mps_bytes": known.get("mps_bytes"), "link": link_of_tool(store.manifest)}
    rows = measured_rows(store)
    with_median = {row.test for row in rows if row.statistic == "median" and row.value > 0}
    for row in rows:
        if row.test not in tests or not _is_chosen(row, with_median) or (what := _what(row)) is None:
            continue
        is_both = what == "both"
        device = row.device or ("" if several else of_run)
        question = Question(
            what=what,
            # Copies between GPUs may use NVLink: most tools do not say.
            width=width if what != "p2p" or row.over_pcie else None,
            value=Value(row.value, row.unit if row.quantity != "iops" else "", _VALUES[row.unit]),
            engine=row.engine or ("dma" if row.tool not in COPIERS else None),
            kind=kind_of(device, row.engine) or _KINDS[row.tool],
            line_gbps=line_of(device) if row.tool == "perftest" else None,
            depth=row.depth,
            size_bytes=row.size_bytes,
            state=row.state or ("" if is_both else _STATES[row.beside]),
            device=device,
            name=_name(row),
            **common,
        )
        yield line_of_parameters(vars(row)).of(question) if row.tool == "perftest" else question


def _is_chosen(row: MeasuredRow, with_median: Set[int]) -> bool:
    """Whether a number stands for its test: an average, of latencies the median where the test has one."""
    if row.value <= 0 or row.pair == "sum" or row.counted == "total" or row.access == "buffered":
        return False
    if row.beside not in _STATES:
        return False
    # One small command at a time: its rates are those of its latency.
    one_at_a_time = row.tool == "fio" and row.depth == 1 and (row.size_bytes or 0) <= _SMALL_BYTES
    if row.quantity != "latency":
        return row.statistic == "average" and not (one_at_a_time and row.test in with_median)
    alone = row.tool != "fio" or row.depth == 1
    return alone and row.statistic == ("median" if row.test in with_median else "average")


def _what(row: MeasuredRow) -> What | None:
    if row.tool not in _KINDS or row.direction == "local":
        return None
    if row.quantity == "latency":
        between = row.tool in COPIERS and "CPU" not in (row.pair or "")
        return "latency" if row.direction != "p2p" and not between else None
    if row.quantity == "iops":
        return "iops" if row.tool == "fio" and row.size_bytes is not None else None
    if row.direction == "p2p":
        return "p2p" if row.beside is None else None
    if row.counted == "both":
        return "both"
    return _WHATS.get(MOVED.get((row.tool, row.direction or ""), ""))


def _name(row: MeasuredRow) -> str:
    ends = f" {row.pair}" if row.pair else ""
    part = f" {row.part}" if row.part else ""
    size = f" {row.size_bytes} B" if row.size_bytes is not None else ""
    return f"{row.test} {row.name}{ends}{part}{size}"
