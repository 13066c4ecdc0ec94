"""Questions of rows that other tools measured: nvbandwidth, perftest, fio."""

from collections.abc import Iterator
from typing import Any

from pcielab.analysis.normal.question import Engine, Kind, Question, Value, What, kind_of, line_of
from pcielab.library.link_words import Width, generation_of
from pcielab.store import Store
from pcielab.store.facts import DeviceLink, Facts
from pcielab.store.measured import MeasuredRow, measured_rows

_KINDS: dict[str, Kind] = {"nvbandwidth": "gpu", "perftest": "nic", "fio": "nvme"}
_WAYS: dict[tuple[str, str], What] = {
    # The host that prints the rates of perftest sends: its NIC reads memory. It receives what it reads.
    ("perftest", "write"): "h2d",
    ("perftest", "send"): "h2d",
    ("perftest", "read"): "d2h",
    # A drive that is read writes to memory.
    ("fio", "read"): "d2h",
    ("fio", "write"): "h2d",
    ("nvbandwidth", "h2d"): "h2d",
    ("nvbandwidth", "d2h"): "d2h",
    ("nvbandwidth", "p2p"): "p2p",
}
_STATES = {None: "", "opposite": "other-way-busy", "others": "others-busy"}
_UNITS = {"Gb/s": 0.125, "ns": 1.0, "1/s": 1.0}


def tool_questions(store: Store) -> Iterator[tuple[int, Question]]:
    """Each bandwidth and latency of an imported run with the number of its test.

    Sums over devices, values beside traffic of other kinds, extremes and percentiles are left out: no figure is
    comparable with them. So are operations a second, which repeat the bandwidth.
    """
    device = Facts.model_validate(store.manifest).device
    link = device.link if device else None
    name = (device.name if device else None) or ""
    width = _width(link)
    for row in measured_rows(store):
        what = _what(row)
        if what is None:
            continue
        kind = kind_of(name, None) or _KINDS[row.tool]
        engine: Engine = row.engine or "dma"
        yield (
            row.test,
            Question(
                what=what,
                value=Value(row.value, row.unit, _UNITS[row.unit]),
                width=width,
                engine=engine,
                kind=kind,
                size_bytes=row.size_bytes,
                depth=row.depth,
                mps_bytes=link.mps_bytes if link else None,
                line_gbps=line_of(name) if kind == "nic" else None,
                state=_STATES[row.beside] if what != "both" else "",
                device=name,
                name=_name(row),
            ),
        )


def _width(link: DeviceLink | None) -> Width | None:
    if link is None or link.rate_gtps is None or link.lanes is None:
        return None
    generation = generation_of(link.rate_gtps)
    return None if generation is None else Width(generation, link.lanes)


def _what(row: MeasuredRow) -> What | None:
    if row.pair == "sum" or row.counted == "total" or row.beside not in _STATES:
        return None
    if row.quantity == "latency":
        alone = row.depth in (None, 1)
        return "latency" if alone and row.statistic in ("median", "average") else None
    if row.quantity != "bandwidth" or row.statistic != "average" or row.direction is None:
        return None
    return "both" if row.counted == "both" else _WAYS.get((row.tool, row.direction))


def _name(row: MeasuredRow) -> str:
    words: list[Any] = [row.test, row.name, row.pair, f"{row.size_bytes} B" if row.size_bytes else None]
    return " ".join(str(word) for word in words if word is not None)
