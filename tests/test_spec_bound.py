"""No measurement exceeds the bound of its link with the accounting `spec`; some exceed it with the paper's."""

import csv
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from measured_data import SYSTEMS, needs_measurements
from pcielab import model
from pcielab.doctor import read_lspci_file
from pcielab.doctor.devices import find, link_of, root_port

FOUR_GIB = 1 << 32
RATE_OF_TEST = {"BW_DMA_RD": "read", "BW_DMA_WR": "write", "BW_DMA_RW": "rdwr"}

pytestmark = needs_measurements


@dataclass(frozen=True)
class Row:
    """A published bandwidth with its file and line; the column with the head GB/s holds Gb/s."""

    where: str
    test: str
    size_bytes: int
    offset_bytes: int
    gbps: float


def negotiated_link(system: Path) -> model.Link:
    """The device's link, with short headers for all addresses if a chunk of the host buffer is below 4 GiB."""
    tree = read_lspci_file(system / "sys-lspci.txt")
    card = find(tree, "19ee:6000")
    link = link_of(card, root_port(tree, card))
    chunks = (system / "sys-dma-addrs.txt").read_text().split()
    return model.Link(
        generation=link.generation,
        lanes=link.lanes,
        mps_bytes=link.mps_bytes,
        mrrs_bytes=link.mrrs_bytes,
        rcb_bytes=link.rcb_bytes,
        ecrc=link.ecrc,
        completion_ecrc=bool(link.root_port_ecrc),
        address_bits=32 if any(int(chunk, 16) < FOUR_GIB for chunk in chunks) else 64,
    )


def published_rows(system: Path) -> Iterator[Row]:
    for path in sorted(system.glob("bw_*.csv")):
        with path.open(newline="") as lines:
            for number, row in enumerate(csv.DictReader(lines), start=2):
                yield Row(
                    f"{path.name}:{number}", row["Test"], int(row["SZ"]), int(row["HO"]), float(row["BW (GB/s)"])
                )


def shares_of_bound(system: Path, accounting: model.Accounting) -> dict[str, list[tuple[float, str]]]:
    """For each test, each row's share of its bound, and the row's file and line."""
    link = negotiated_link(system)
    bounds: dict[tuple[int, int], model.Bandwidth] = {}
    shares: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for row in published_rows(system):
        offset_bytes = row.offset_bytes if accounting is model.Accounting.SPEC else 0
        key = (row.size_bytes, offset_bytes)
        if key not in bounds:
            [bounds[key]] = model.bandwidth(
                link, [row.size_bytes], accounting=accounting, offset_bytes=offset_bytes
            )
        bound: model.Answer = getattr(bounds[key], RATE_OF_TEST[row.test])
        shares[row.test].append((row.gbps / bound.gbps, row.where))
    return shares


def test_the_twelve_systems_have_all_rows() -> None:
    assert len(SYSTEMS) == 12
    assert sum(1 for system in SYSTEMS for _ in published_rows(system)) == 13_152


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_no_published_bandwidth_exceeds_the_spec_bound(system: Path) -> None:
    shares = shares_of_bound(system, model.Accounting.SPEC)
    above = [(share, where) for rows in shares.values() for share, where in rows if share > 1]
    assert above == []
    # A bound far above all rows would be useless.
    assert max(share for share, _ in shares["BW_DMA_RD"]) > 0.85


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_published_reads_exceed_the_2018_bound(system: Path) -> None:
    shares = shares_of_bound(system, model.Accounting.SIGCOMM18)
    assert max(share for share, _ in shares["BW_DMA_RD"]) > 1
