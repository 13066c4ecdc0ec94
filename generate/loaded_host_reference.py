"""The page of loaded hosts (`docs/reference/loaded-hosts.md`): modern servers against published figures."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict

from pcielab import Frames, model, run, single_test
from pcielab.library.input_files import read_toml
from pcielab.library.profiles import resolve
from pcielab.library.published_figures import PublishedFigure, published_figures

ROWS = Path(__file__).parent / "loaded_host_rows.toml"
_PAGES = "four-kib-pages"
_PAGES_IN_WORDS = {"off": "off", "super-pages": "lazy, 2 MiB", _PAGES: "lazy, 4 KiB"}
_SAME_RATE = 0.05
"""Relative difference of rates that are the same condition."""
_SAW = [1500, 3072, 3690, 4096, 4608, 6144, 9000]
"""Frames of the table of frame sizes, bytes; those above 1,500 B are of the driver's large buffers."""
PER_ROW = "| {id} | {quantity} | {conditions} | {measured} {unit} | {computed} | {apart} | {note} |"
_TESTS = {"to-device": "bw-rd", "to-host": "bw-wr", "both": "bw-rdwr"}

_INTRODUCTION = """\
# Loaded hosts

<!-- Written by `make generate`: change profiles/ and generate/loaded_host_rows.toml. -->

Three systems describe modern servers as far as published rows pin them. All other keys of the three are
*borrowed*: `pcielab profiles show NAME` says from where. `model host`, `run`, `explain`
and `why` name the borrowed keys behind the bound that binds, and the head of a report counts them.
[The host under load](../concepts/host-under-load.md) explains the mechanisms.

* **computed**: in closed form (`pcielab model host`) for memory and pools, simulated for NICs and GPUs.
* **apart**: computed over measured. A row marked *input* gave the system that key: it is no check of it.
* Conditions are those of the figure. Where a simulated one differs, the note gives both.
* Ids are those of [published figures](published-figures.md), which names the sources.
"""


_UNEXPLAINED = """\
## Frame sizes are not explained

Simulated rates of `icx-6346` with pages of 4 KiB, on a line of 200 Gb/s:
"""
_WHY_UNEXPLAINED = """
The simulated rates form a saw: above 1,500 B a packet takes whole pages of its own, so that the misses of a byte
fall until a page is full, and rise with the next one. The measured rates of figure 4.5, among them M324, hardly
depend on the frame. How the driver cuts these packets, into strides or fragments that share pages, is not
published with the figures. Take no simulated rate of frames above 1,500 B for a prediction.
"""


class Row(BaseModel):
    """A published figure and the question that computes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    system: str
    what: Literal[
        "rate", "traffic", "lines", "latency", "loss", "frames", "misses", "to-device", "to-host", "both", "each"
    ]
    cores: int = 0
    kind: Literal["read", "read-write"] | None = None
    nic: str = ""
    frame_bytes: int = 0
    line_gbps: float = 0
    iommu: str = ""
    sum: bool = False
    input: str = ""
    missing: str = ""
    differs: list[str] = []


def rows() -> list[Row]:
    """All compared rows."""
    return [Row.model_validate(row) for row in read_toml(ROWS)["row"]]


class Unreached(BaseModel):
    """A published figure that nothing here computes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    missing: str


def unreached() -> list[Unreached]:
    """The rows of the same sources that nothing computes."""
    return [Unreached.model_validate(row) for row in read_toml(ROWS)["unreached"]]


def measured(row: Row) -> PublishedFigure:
    """The published figure of a row."""
    return published_figures()[row.id]


def computed(row: Row) -> float:
    """The value of a row, in the unit of its figure."""
    if row.what in ("frames", "misses"):
        return _of_frames(row)
    if row.what in _TESTS:
        return _copied(row.system, _TESTS[row.what]) * (2 if row.sum else 1)
    if row.what == "each":
        four = model.host(row.system, [0], devices=["4x gen5x16"])[0]
        return four.devices[0].write.gbps / 8
    idle, loaded = model.host(row.system, [0, row.cores], kind=row.kind)
    if row.what == "loss":
        return idle.devices[0].write.gbps / loaded.devices[0].write.gbps
    if row.what == "rate":
        return idle.devices[0].write.gbps / 8
    if row.what == "traffic":
        return loaded.write_traffic_gbytes_per_s
    pool = loaded.write_pool
    assert pool is not None, row.system
    return pool.lines if row.what == "lines" else pool.latency_ns


def _of_frames(row: Row) -> float:
    found = _received(row.system, row.nic, row.frame_bytes, row.line_gbps, row.iommu or _PAGES)
    return float(found["bandwidth" if row.what == "frames" else "io_tlb_misses"])


@cache
def _received(system: str, nic: str, frame_bytes: int, line_gbps: float, iommu: str) -> "pd.Series[float]":
    """The metrics of frames that a kernel receives."""
    kernel = [f"iommu={iommu}", "host.iommu.page_life=recycled"]
    work = Frames(model.load_nic(nic), [frame_bytes], model.Ethernet(line_gbps=line_gbps), "rx")
    return run(work, profile=system, sets=kernel).scalar_rows.set_index("metric")["value"]


@dataclass(frozen=True)
class Condition:
    """A condition of a figure, and of what is computed for it."""

    name: str
    stated: str
    computed: str


def conditions(row: Row) -> list[Condition]:
    """The conditions that a figure states, beside those of its computation."""
    found = [*_machine(row), *(_frame_conditions(row) if row.what in ("frames", "misses") else _others(row))]
    return [Condition(*one) for one in found]


def differing(row: Row) -> list[Condition]:
    """The conditions that are not those of the figure."""
    return [one for one in conditions(row) if one.stated != one.computed]


def _machine(row: Row) -> Iterator[tuple[str, str, str]]:
    """Lanes and processor; systems of several machines name no processor."""
    figure, system = measured(row), resolve(row.system)
    if link := re.fullmatch(r"(?:(\d+)x )?Gen(\d) x(\d+)", figure.link):
        lanes = int(link[1] or 1) * int(link[3])
        yield "link", f"Gen{link[2]} x{lanes}", f"Gen{system.system.link.generation} x{system.system.link.lanes}"
    named = re.search(r"Xeon \w+ \w+", system.title)
    if figure.cpu and named:
        yield "processor", re.sub(r" \(.*", "", figure.cpu), named[0]


def _frame_conditions(row: Row) -> Iterator[tuple[str, str, str]]:
    """Frames, line, pages, device, and the rate at which misses were counted."""
    figure = measured(row)
    yield "frame", f"{figure.size_bytes} B", f"{row.frame_bytes} B"
    if mtu := re.search(r"MTU (\d+)", figure.conditions):
        yield "frame", f"{mtu[1]} B", f"{row.frame_bytes} B"
    if offered := re.search(r"(\d+) to (\d+) Gb/s offered", figure.conditions):
        inside = float(offered[1]) <= row.line_gbps <= float(offered[2])
        yield "line", offered[0], offered[0] if inside else f"{row.line_gbps:g} Gb/s"
    elif line := re.search(r"\b(\d+)G\b", figure.device):
        yield "line", f"{line[1]} Gb/s", f"{row.line_gbps:g} Gb/s"
    yield "pages", figure.iommu, _PAGES_IN_WORDS[row.iommu or _PAGES]
    device = re.match(r"\w+", figure.device.lower())
    assert device is not None, row.id
    yield "device", device[0], device[0] if row.nic.startswith(device[0]) else row.nic
    if "LRO on" in figure.conditions:
        yield "LRO", "on", "off"
    if rate := re.search(r"at (\d+) Gb/s", figure.quantity):
        reached = _received(row.system, row.nic, row.frame_bytes, row.line_gbps, row.iommu or _PAGES)["bandwidth"]
        close = abs(reached / float(rate[1]) - 1) < _SAME_RATE
        yield "rate", f"{rate[1]} Gb/s", f"{rate[1] if close else format(reached, '.0f')} Gb/s"


def _others(row: Row) -> Iterator[tuple[str, str, str]]:
    """Busy cores and what they do, or the ways of copies."""
    figure = measured(row)
    if cores := re.search(r"(\d+) cores (read and write|read)", figure.conditions):
        yield "cores", cores[1], str(row.cores)
        yield "cores do", cores[2], "read" if row.kind == "read" else "read and write"
    if row.system == "gen5-gpu":
        ways = {"to-device": "H2D", "to-host": "D2H", "each": "D2H", "both": figure.direction}
        yield "direction", figure.direction, ways[row.what]
        yield "both ways", str("while" in figure.quantity or "both" in figure.quantity), str(row.what == "both")
    if together := re.search(r"of (\d+) GPUs at once", figure.quantity):
        yield "devices", together[1], "4" if row.what == "each" else "1"


@cache
def _copied(system: str, operation: str) -> float:
    """The rate of large copies in GB/s, of one direction."""
    work = single_test(operation, size=4096, window="4M", cache="host-warm")
    return float(run(work, profile=system).frame["bandwidth_gbps"].iloc[0]) / 8


def markdown() -> str:
    """The whole page."""
    systems = dict.fromkeys(row.system for row in rows())
    compared = [line for system in systems for line in _of_system(system)]
    return "\n".join([_INTRODUCTION, *compared, *_frame_sizes(), *_not_computed()])


def _of_system(system: str) -> Iterator[str]:
    yield f"## `{system}`\n\n{resolve(system).title}.\n"
    yield "| id | quantity | conditions | measured | computed | apart | note |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows():
        if row.system != system:
            continue
        figure, value = measured(row), computed(row)
        yield PER_ROW.format(
            id=row.id,
            quantity=figure.quantity,
            conditions=figure.conditions,
            measured=f"{figure.value:g}",
            unit=figure.unit,
            computed=f"{value:.4g}",
            apart=f"{100 * (value / figure.value - 1):+.1f} %",
            note="; ".join(_notes(row)),
        )
    yield ""


def _notes(row: Row) -> Iterator[str]:
    if row.input:
        yield f"input of `{row.input}`"
    if row.missing:
        yield row.missing
    for one in differing(row):
        yield f"{one.name}: {one.stated} measured, {one.computed} computed"


def _frame_sizes() -> Iterator[str]:
    """The section on frame sizes, whose rates are not explained."""
    yield _UNEXPLAINED
    yield "| frame | driver | rate | IO-TLB misses |"
    yield "|--:|---|--:|--:|"
    for frame in _SAW:
        nic = "connectx-6-kernel" if frame <= 1500 else "connectx-6-kernel-jumbo"
        found = _received("icx-6346", nic, frame, 200, _PAGES)
        yield f"| {frame} B | `{nic}` | {found['bandwidth']:.1f} Gb/s | {found['io_tlb_misses']:.0f} 1/MiB |"
    yield _WHY_UNEXPLAINED


def _not_computed() -> Iterator[str]:
    yield "## Not computed\n\nOther rows of the same sources, and the mechanism that is missing.\n"
    yield "| id | quantity | conditions | measured | missing |"
    yield "|---|---|---|---|---|"
    for row in unreached():
        figure = published_figures()[row.id]
        value = f"{figure.value:g} {figure.unit}"
        yield f"| {row.id} | {figure.quantity} | {figure.conditions} | {value} | {row.missing} |"
    yield ""
