"""Frames through a NIC: the line, the link and the tags, and which of them the simulated packets wait for.

The link's bound is that of the simulated ports. The bound of tags is Little's law over the run's own reads: the
rate if every tag were in use, each for as long as a read takes here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pcielab.kinds.explained import Explained, ExplainedRun, Limit, check_has
from pcielab.kinds.frames.rows import nic_rows
from pcielab.kinds.rooms import Explain
from pcielab.store import Store
from pcielab.store.manifest import nic_of

_DROPPED = 0.001
_NO_RESOURCE = "latency"
_ASKED = ("direction", "frame_bytes", "line_gbps")
_NEEDED = (
    *_ASKED,
    *("bandwidth", "line_bandwidth", "link_bandwidth", "line_rate"),
    *("dropped_share", "upstream_share", "downstream_share"),
)


def explain_frames(store: Store, tests: Sequence[int]) -> ExplainedRun:
    """The frame sizes of a NIC's run among `tests`, each with its limits."""
    for row in store.scalars[store.scalars["status"] == "ok"].to_dict("records"):
        check_has(row, _NEEDED, store.path)
    nic, system = nic_of(store.manifest, store.path), store.require_system()
    own, link = system.device.dma.tags, system.link
    tags = link.tags if own is None else min(own, link.tags)
    reading = {f"{one.path}: {one.what}" for one in nic.step if one.kind == "dma-read"}
    numbers = store.scalar_rows[store.scalar_rows["subject"].isin(reading)]
    numbers = numbers[numbers["metric"] == "in_flight"]
    in_flight = {int(str(test)): float(of["value"].sum()) for test, of in numbers.groupby("test")}
    asked = [row for row in nic_rows(store).to_dict("records") if int(row["id"]) in tests]
    for row in asked:
        check_has(row, ("binds",), store.path)
    rows = [_row(row, tags, in_flight.get(int(row["id"]))) for row in asked]
    about = f"{nic.name} on Gen{link.generation} x{link.lanes}, MPS {link.mps_bytes}, MRRS {link.mrrs_bytes}"
    return ExplainedRun(rows, f"{about}, {tags} tags", [])


def _row(row: Mapping[Any, Any], tags: int, reads_in_flight: float | None) -> Explained:
    value = float(row["bandwidth"])
    limits = dict(_limits(row, value, tags, reads_in_flight))
    binding = str(row["binds"])
    others = sorted((item for item in limits.items() if item[0] != binding), key=lambda item: item[1])
    # Packets that wait for round trips of one another meet no limit but those: their rate is their bound.
    first = (binding, limits.get(binding, value))
    return Explained(
        test=int(row["id"]),
        family=str(row["family"]),
        name=str(row["name"]),
        asked={key: row[key] for key in _ASKED},
        value=value,
        unit="Gb/s",
        limits=tuple(Limit(name, gbps) for name, gbps in (first, *others)),
        parts={
            "dropped_percent": 100 * float(row["dropped_share"]),
            "reads_in_flight": reads_in_flight,
            "packet_read_ns": _known(row.get("packet_read_ns")),
            "median_ns": _known(row.get("median")),
        },
        reasons=tuple(_reasons(row, binding, tags, reads_in_flight)),
    )


def _limits(
    row: Mapping[Any, Any], value: float, tags: int, reads_in_flight: float | None
) -> Iterator[tuple[str, float]]:
    yield "line", float(row["line_bandwidth"])
    fuller = "upstream" if row["upstream_share"] >= row["downstream_share"] else "downstream"
    yield f"wire-{fuller}", float(row["link_bandwidth"])
    if reads_in_flight:
        yield "tags", value * tags / reads_in_flight


def _reasons(row: Mapping[Any, Any], binding: str, tags: int, reads_in_flight: float | None) -> Iterator[str]:
    if row["dropped_share"] > _DROPPED:
        yield f"{100 * row['dropped_share']:.0f} % of the packets from the line are dropped"
    if nics := _known(row.get("nics")):
        yield f"{nics:.0f} NICs share the host: {row['bandwidth_of_all']:.1f} Gb/s together"
    misses = _known(row.get("io_tlb_misses"))
    if binding == "translation" and misses:
        yield f"the IO-TLB misses {misses:.0f} times a MiB, and every page walker is busy"
    needed, took = _known(row.get("packet_reads_by_formula")), _known(row.get("packet_read_ns"))
    if binding == "tags" and reads_in_flight:
        yield f"{reads_in_flight:.0f} of {tags} tags are in use on average"
    if binding in ("tags", _NO_RESOURCE) and took and needed:
        yield f"a packet's read takes {took:.0f} ns: the line needs {needed:.0f} of them in flight"


def _known(value: Any) -> float | None:
    return None if value is None or value != value else float(value)


EXPLAIN = Explain(rows=explain_frames, told=_ASKED)
