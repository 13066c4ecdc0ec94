"""The modelled curves behind plots of the published data: `bw_calc.dat`, `pcie_bw.dat`, `nic_bw.dat`.

They hold the 2018 paper's model (the accounting `sigcomm18`) for the link of the store, and 40 Gb/s Ethernet for
comparison. The first two files are the same table under two names. Rates are of payload, in Gb/s; the head names
the columns in quotes, for gnuplot's `columnheader`; missing values are NaN.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pcielab import model
from pcielab._core import FCS_BYTES
from pcielab.library.link import Link
from pcielab.model.link import Accounting
from pcielab.store.setup import link_parameters

PUBLISHED_LINK = Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)
"""The link of the card that the published numbers were measured with."""
LINE_GBPS = 40
"""Line rate of the Ethernet that the paper compares with."""
_SIZES = range(1, 2049)
_FRAMES = range(64, 1501)
_NICS = {"simple-nic": "Simple NIC", "niantic-kernel": "Modern NIC (kernel)", "niantic-dpdk": "Modern NIC (DPDK)"}
_TRANSFERS_HEAD = (
    "Payload(Bytes)",
    "PCIe Write BW",
    "PCIe Write Trans/s",
    "PCIe Read BW",
    "PCIe Read Trans/s",
    "PCIe Read/Write BW",
    "PCIe Read/Write Trans/s",
    f"{LINE_GBPS}G Ethernet BW",
    f"{LINE_GBPS}G Ethernet PPS",
    f"{LINE_GBPS}G Ethernet Frame time (ns)",
)
_NICS_HEAD = ("Frame(Bytes)", "Effective PCIe BW", f"{LINE_GBPS}G Ethernet", *_NICS.values())


def link_of(manifest: Mapping[str, Any]) -> tuple[Link, bool]:
    """The link of a store, and whether the store gives it; otherwise `PUBLISHED_LINK`."""
    known = link_parameters(manifest)
    names = ("generation", "lanes", "mps_bytes", "mrrs_bytes")
    if any(known.get(name) is None for name in names):
        return PUBLISHED_LINK, False
    generation, lanes, mps_bytes, mrrs_bytes = (int(known[name]) for name in names)
    link = Link(
        generation=generation,
        lanes=lanes,
        mps_bytes=mps_bytes,
        mrrs_bytes=mrrs_bytes,
        rcb_bytes=known.get("rcb_bytes") or 64,
        ecrc=bool(known.get("ecrc")),
    )
    return link, True


@cache
def curve_files(link: Link) -> Mapping[str, str]:
    """The three files, by name."""
    transfers = _transfers(link)
    return {"bw_calc.dat": transfers, "pcie_bw.dat": transfers, "nic_bw.dat": _nics(link)}


def _transfers(link: Link) -> str:
    lines_gbps = _lines_gbps(link)
    rows = []
    for row in model.bandwidth(link, _SIZES, accounting=Accounting.SIGCOMM18):
        answers = (row.write, row.read, row.rdwr)
        rates = [f"{answer.gbps:.2f} {answer.millions_per_s * 1e6:.1f}" for answer in answers]
        rows.append(" ".join([str(row.size_bytes), *rates, _ethernet(row.size_bytes, lines_gbps)]))
    return _table(_TRANSFERS_HEAD, rows)


def _lines_gbps(link: Link) -> dict[int, float]:
    """Payload rate of a full line, by the bytes of a frame that cross PCIe."""
    frames = range(_FRAMES.start, _SIZES.stop + FCS_BYTES)
    answers = model.nic(model.load_nic("simple-nic"), link, frames, accounting=Accounting.SIGCOMM18)
    return {answer.frame_bytes - FCS_BYTES: answer.line_gbps for answer in answers}


def _ethernet(size_bytes: int, lines_gbps: Mapping[int, float]) -> str:
    """Bandwidth, frames per second and time per frame; NaN for frames shorter than Ethernet's."""
    if size_bytes not in lines_gbps:
        return "NaN NaN NaN"
    gbps = lines_gbps[size_bytes]
    return f"{gbps:.2f} {gbps * 1e9 / (8 * size_bytes):.0f} {8 * size_bytes / gbps:.2f}"


def _nics(link: Link) -> str:
    bare = model.bandwidth(link, [frame - FCS_BYTES for frame in _FRAMES], accounting=Accounting.SIGCOMM18)
    nics = [model.nic(model.load_nic(name), link, _FRAMES, accounting=Accounting.SIGCOMM18) for name in _NICS]
    rows = []
    for frame, alone, *answers in zip(_FRAMES, bare, *nics, strict=True):
        line = answers[0].line_gbps
        rates = [alone.rdwr.gbps, line, *(answer.bi.gbps for answer in answers)]
        rows.append(" ".join([str(frame), *(f"{rate:.2f}" for rate in rates)]))
    return _table(_NICS_HEAD, rows)


def _table(head: Sequence[str], rows: Sequence[str]) -> str:
    return "\n".join([" ".join(f'"{name}"' for name in head), *rows, ""])
