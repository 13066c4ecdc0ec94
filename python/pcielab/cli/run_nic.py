"""`pcielab run --nic`: a NIC on a simulated machine, over frame sizes."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pcielab._core import read_sizes
from pcielab.cli.borrowed import say_borrowed
from pcielab.cli.output import Cell, Format, print_rows
from pcielab.store.manifest import borrowed_of

if TYPE_CHECKING:
    from pcielab.store import Store
    from pcielab.work.frames import Frames

_STEP_BYTES = 64


def frames(
    nic: str, sizes: str | None, line_gbps: float | None, direction: Any, nics: int | None = None
) -> "Frames":
    """Frames through a NIC as options describe them."""
    from pcielab.model import Ethernet, load_nic
    from pcielab.work.frames import Frames

    line = Ethernet(line_gbps=line_gbps or Ethernet.line_gbps)
    asked, profile = frame_sizes(sizes or "64:1500"), load_nic(nic)
    return Frames(profile, asked, line, direction or profile.direction, nics=nics or 1, source=nic)


def print_frames(store: "Store", output_format: Format) -> None:
    """Print each size's result beside the closed form."""
    rows = list(_rows(store))
    say_borrowed((str(row["binds"]) for row in rows), borrowed_of(store.manifest))
    print_rows(rows, output_format, title=store.described)


def frame_sizes(text: str) -> list[int]:
    """Parse frame sizes; a range without a step has steps of 64 B and includes its end."""
    sizes: list[int] = []
    for part in text.split(","):
        stepped = part.count(":") == 1
        found = read_sizes(f"{part}:{_STEP_BYTES}" if stepped else part, "--frames")
        last = read_sizes(part.split(":")[1], "--frames") if stepped else []
        sizes += [*found, *(size for size in last if size not in found)]
    return sizes


def _rows(store: "Store") -> Iterator[dict[str, Cell]]:
    from pcielab.work.nic_rows import nic_rows

    for row in nic_rows(store).to_dict("records"):
        yield {
            "frame_bytes": int(row["frame_bytes"]),
            "gbps": row["bandwidth"],
            "mpackets_per_second": row["rate"] / 1e6,
            "dropped_percent": 100 * row["dropped_share"],
            "line_gbps": row["line_bandwidth"],
            "model_gbps": row["model_gbps"],
            "link_gbps": row["link_bandwidth"],
            "binds": row["binds"],
            "median_ns": row.get("median"),
            "p99_ns": row.get("p99"),
            **_given(row, nics="nics", gbps_of_all="bandwidth_of_all", io_tlb_misses_per_mib="io_tlb_misses"),
            "packet_read_ns": row.get("packet_read_ns"),
            "packet_reads_in_flight": row.get("packet_reads_in_flight"),
            "packet_reads_by_formula": row.get("packet_reads_by_formula"),
            "interrupts_per_second": row["interrupts_per_s"],
            "origin": store.origin,
        }


def _given(row: Mapping[Any, Any], **columns: str) -> dict[str, Cell]:
    """Columns that only some runs have: of several NICs, or of a system that translates."""
    return {name: row[metric] for name, metric in columns.items() if metric in row}
