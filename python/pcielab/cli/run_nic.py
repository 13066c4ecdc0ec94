"""`pcielab run --nic`: a NIC on a simulated machine, over sizes of frames."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcielab.cli.output import Cell, Format, print_rows
from pcielab.library.quantities import parse_range
from pcielab.model.link import Ethernet

if TYPE_CHECKING:
    from pcielab.store import Store

_STEP_BYTES = 64


def run_nic(
    nic: str,
    profile: str,
    sets: list[str],
    output: Path,
    *,
    frames: str,
    line: float,
    direction: str,
    output_format: Format,
    **options: Any,
) -> None:
    """Run frames of some sizes through a NIC, and print what came out beside the closed form."""
    from pcielab.cli.progress import Bar
    from pcielab.model import load_nic
    from pcielab.run.nic import nic_system, simulate_nic
    from pcielab.store import open_store

    device = load_nic(nic)
    with Bar() as bar, _queues_named(nic):
        simulate_nic(
            device,
            nic_system(profile, sets),
            frame_sizes(frames),
            output,
            ethernet=Ethernet(line_gbps=line),
            direction=direction,
            progress=bar.update,
            **options,
        )
    store = open_store(output)
    print_rows(list(_rows(store)), output_format, title=store.described)


@contextmanager
def _queues_named(nic: str) -> Iterator[None]:
    """What is wrong with a NIC's queues for the frames and the system at hand leads with whose they are."""
    from pcielab.errors import InputError, found_in

    try:
        yield
    except InputError as error:
        if not str(error).startswith("queues"):
            raise
        with found_in(nic):
            raise


def frame_sizes(text: str) -> list[int]:
    """Sizes of frames; a range without a step goes in steps of 64 B, its end included.

    Raises:
        InputError: They are no sizes.
    """
    sizes: list[int] = []
    for part in text.split(","):
        stepped = part.count(":") == 1
        found = parse_range(f"{part}:{_STEP_BYTES}" if stepped else part, "--frames")
        last = parse_range(part.split(":")[1], "--frames") if stepped else []
        sizes += [*found, *(size for size in last if size not in found)]
    return sizes


def _rows(store: "Store") -> Iterator[dict[str, Cell]]:
    from pcielab.run.nic import nic_rows

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
            "packet_read_ns": row.get("packet_read_ns"),
            "packet_reads_in_flight": row.get("packet_reads_in_flight"),
            "packet_reads_by_formula": row.get("packet_reads_by_formula"),
            "interrupts_per_second": row["interrupts_per_s"],
            "origin": store.origin,
        }
