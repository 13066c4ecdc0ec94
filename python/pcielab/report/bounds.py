"""What the closed-form model says about a run's link: the lines that other numbers are held against.

All of it is under the accounting `spec`, a true ceiling. Nothing but the wire bounds it: a measured run says
nothing of its credits, and tags bind only together with a latency.
"""

from collections.abc import Sequence

import pandas as pd

from pcielab import model
from pcielab.machine import link_parameters
from pcielab.report.run import Run

# The paper's figures compare with this Ethernet rate, and with these devices.
ETHERNET_GBPS = 40
NICS = {
    "simple-nic": "simple NIC",
    "niantic-kernel": "modern NIC (kernel driver)",
    "niantic-dpdk": "modern NIC (DPDK driver)",
}
_FOUR_GIB = 1 << 32
_FIRST_FLIT_GENERATION = 6
_FCS_BYTES = 4
_SHORTEST_FRAME_BYTES = 64
# Preamble, start of frame and the gap behind it.
_BETWEEN_FRAMES_BYTES = 20


def link_of(run: Run) -> model.Link | None:
    """The run's link, or None where the store does not say.

    Addresses have 32 bits only where every piece of the host buffer is below 4 GiB, which is where cards send the
    shorter header.
    """
    link = link_parameters(run.manifest)
    if any(link.get(key) is None for key in ("generation", "lanes", "mps_bytes", "mrrs_bytes")):
        return None
    addresses = (run.manifest.get("system") or {}).get("chunk_addresses") or [_FOUR_GIB]
    return model.Link(
        generation=link["generation"],
        lanes=link["lanes"],
        mps_bytes=link["mps_bytes"],
        mrrs_bytes=link["mrrs_bytes"],
        rcb_bytes=link.get("rcb_bytes") or 64,
        address_bits=64 if max(addresses) >= _FOUR_GIB else 32,
        ecrc=bool(link.get("ecrc")),
        flit_mode=link.get("flit", None if link["generation"] >= _FIRST_FLIT_GENERATION else False),
    )


def link_text(link: model.Link) -> str:
    """The link as people write it."""
    text = f"Gen{link.generation} x{link.lanes}, MPS {link.mps_bytes}, MRRS {link.mrrs_bytes}"
    return text + (", ECRC" if link.ecrc else "") + (", 32-bit addresses" if link.address_bits == 32 else "")


def bandwidth_bounds(link: model.Link, sizes: Sequence[int]) -> pd.DataFrame:
    """The highest bandwidth of each operation and size: size_bytes, operation, bandwidth (Gb/s), binds."""
    rows = []
    for row in model.bandwidth(link, sizes):
        answers = {"bw-rd": row.read, "bw-wr": row.write, "bw-rdwr": row.rdwr}
        for operation, answer in answers.items():
            rows.append((row.size_bytes, operation, answer.gbps, answer.bound))
    return pd.DataFrame(rows, columns=["size_bytes", "operation", "bandwidth", "binds"])


def ethernet_need(sizes: Sequence[int]) -> pd.DataFrame:
    """What DMA of each size has to carry to keep up with a full Ethernet line: size_bytes, bandwidth (Gb/s).

    A transfer is a frame without its FCS; one that is shorter than a frame may be is padded on the line.
    """
    frames = [max(size + _FCS_BYTES, _SHORTEST_FRAME_BYTES) + _BETWEEN_FRAMES_BYTES for size in sizes]
    need = [ETHERNET_GBPS * size / frame for size, frame in zip(sizes, frames, strict=True)]
    return pd.DataFrame({"size_bytes": list(sizes), "bandwidth": need})


def interactions(link: model.Link, frames: Sequence[int]) -> pd.DataFrame:
    """Sending and receiving frames, one direction, bare and by NIC: frame_bytes, device, bandwidth (Gb/s)."""
    bare = model.bandwidth(link, [frame - _FCS_BYTES for frame in frames])
    rows = [(frame, "effective PCIe bandwidth", row.rdwr.gbps) for frame, row in zip(frames, bare, strict=True)]
    for name, title in NICS.items():
        answers = model.nic(model.load_nic(name), link, frames)
        rows += [(answer.frame_bytes, title, answer.bi.gbps) for answer in answers]
    return pd.DataFrame(rows, columns=["frame_bytes", "device", "bandwidth"])


def ethernet_line(frames: Sequence[int]) -> pd.DataFrame:
    """What a full Ethernet line carries in frames of each size, FCS not counted: frame_bytes, bandwidth (Gb/s)."""
    need = ethernet_need([frame - _FCS_BYTES for frame in frames])
    return need.assign(frame_bytes=list(frames)).drop(columns="size_bytes")
