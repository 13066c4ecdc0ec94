"""The page of loaded hosts (`docs/reference/loaded-hosts.md`): modern servers against published figures."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from pcielab import Frames, model, run, single_test
from pcielab.library.input_files import read_toml
from pcielab.library.profiles import resolve
from pcielab.library.published_figures import PublishedFigure, published_figures

ROWS = Path(__file__).parent / "loaded_host_rows.toml"
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
* Ids are those of [published figures](published-figures.md), which names the sources.
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
    kernel = [f"iommu={row.iommu or 'four-kib-pages'}", "host.iommu.page_life=recycled"]
    work = Frames(model.load_nic(row.nic), [row.frame_bytes], model.Ethernet(line_gbps=row.line_gbps), "rx")
    numbers = run(work, profile=row.system, sets=kernel).scalar_rows
    name = "bandwidth" if row.what == "frames" else "io_tlb_misses"
    return float(numbers.loc[numbers["metric"] == name, "value"].iloc[0])


@cache
def _copied(system: str, operation: str) -> float:
    """The rate of large copies in GB/s, of one direction."""
    work = single_test(operation, size=4096, window="4M", cache="host-warm")
    return float(run(work, profile=system).frame["bandwidth_gbps"].iloc[0]) / 8


def markdown() -> str:
    """The whole page."""
    systems = dict.fromkeys(row.system for row in rows())
    compared = [line for system in systems for line in _of_system(system)]
    return "\n".join([_INTRODUCTION, *compared, *_not_computed()])


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
            note=f"input of `{row.input}`" if row.input else row.missing,
        )
    yield ""


def _not_computed() -> Iterator[str]:
    yield "## Not computed\n\nOther rows of the same sources, and the mechanism that is missing.\n"
    yield "| id | quantity | conditions | measured | missing |"
    yield "|---|---|---|---|---|"
    for row in unreached():
        figure = published_figures()[row.id]
        value = f"{figure.value:g} {figure.unit}"
        yield f"| {row.id} | {figure.quantity} | {figure.conditions} | {value} | {row.missing} |"
    yield ""
