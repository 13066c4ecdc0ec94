"""Predicts a machine's other placements from a twin of one: a table of docs/concepts/trust.md.

A placement is on which sockets device, memory and program are. The twin keeps its machine's values; what only
another placement shows, the remote times, comes from the typical two-socket host. Of the predicted run, nothing is
used but its sockets. Where only 81 rows of a run were looked at, these are the rows that count.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pcielab
from marked import write_between
from pcielab.analysis.validate import Score, score
from pcielab.formats.importers import import_pcie_bench

PAGE = Path("docs/concepts/trust.md")
START, END = "<!-- placements: make placements -->", "<!-- end of placements -->"
HEAD = [
    "| twin | predicts | rows | bandwidth %, median / mean / p95 | RD mean / p95 | WR mean / p95 "
    "| median latency ns, mean / p95 | average latency ns, median / p95 |",
    "|---|---|---|---|---|---|---|---|",
]
PLACEMENTS = {
    "ib": ("ib-000", "ib-011"),
    "ib, IOMMU": ("ib-000-iommu", "ib-011-iommu"),
    "ib, 4 KiB pages": ("ib-000-nosp", "ib-011-nosp"),
    "bdw": ("bdw-000", "bdw-001", "bdw-010", "bdw-011"),
}
"""Twins of a machine that differ in placement alone, the local one first."""
SOCKETS = ("device_socket", "memory_socket", "program_socket")
TYPICAL_HOST = "generic-e5-dual"
REMOTE_TIMES = ("remote_ns", "remote_dirty_ns", "busy_remote_ns", "busy_remote_dirty_ns", "remote_ownership_ns")


def pairs() -> Iterator[tuple[str, str]]:
    """The first twin of a machine with each other placement, and each other twin with the first placement."""
    for first, *others in PLACEMENTS.values():
        yield from ((first, other) for other in others)
        yield from ((other, first) for other in others)


def moved(twin: str, other: str) -> pcielab.ResolvedSystem:
    """A twin in the placement of another; local before, it gets the remote times of the typical host."""
    own, placed = pcielab.resolve(twin).system, pcielab.resolve(other).system
    changes: dict[str, object] = {key: getattr(placed, key) for key in SOCKETS}
    if len({getattr(own, key) for key in SOCKETS}) == 1:
        typical = pcielab.resolve(twin, {"host": TYPICAL_HOST}).system.host.memory
        changes |= {f"host.memory.{key}": getattr(typical, key) for key in REMOTE_TIMES}
    return pcielab.resolve(twin, changes)


def measured(system: str, data: Path) -> pcielab.Store:
    """The measured rows of a system."""
    source = pcielab.resolve(system).provenance["system"].source.split()[0].rstrip(":")
    folders = (data / source, data.parent / "packs" / source)
    folder = next((one for one in folders if one.is_dir()), None)
    if folder is None:
        sys.exit(f"placements: {system}: no measured rows in {data} or beside it")
    output = Path(tempfile.mkdtemp()) / "measured.db"
    import_pcie_bench(folder, output)
    return pcielab.open_store(output)


def row(twin: str, other: str, data: Path) -> str:
    """The line of a twin and a placement."""
    print(f"{twin}: predicting {other}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as work:
        run = Path(work) / "moved.db"
        pcielab.simulate(moved(twin, other), pcielab.load_suite("paper"), run)
        result = score(measured(other, data), pcielab.open_store(run))
    return f"| `{twin}` | `{other}` | {len(result.comparison.pairs)} | {' | '.join(_cells(result))} |"


def _cells(result: Score) -> Iterator[str]:
    table = result.by_test.set_index(["group", "metric"])
    for group, metric, *columns in (
        ("all", "bandwidth", "median", "mean", "p95"),
        ("BW_DMA_RD", "bandwidth", "mean", "p95"),
        ("BW_DMA_WR", "bandwidth", "mean", "p95"),
        ("all", "median latency", "mean", "p95"),
        ("all", "average latency", "median", "p95"),
    ):
        found = table.loc[(group, metric)]
        yield " / ".join(f"{found[column]:.1f}" for column in columns)


def main() -> None:
    """Write the table."""
    data = os.environ.get("PCIELAB_DATA") or sys.exit("placements: set PCIELAB_DATA to the published data")
    table = [*HEAD, *(row(twin, other, Path(data)) for twin, other in pairs())]
    print("\n".join(table))
    write_between(PAGE, START, END, table)


if __name__ == "__main__":
    main()
