"""The closed-form bounds that a run's numbers are compared with.

Bounds of tests come from `bounds`, as in every command; bounds of the link alone from the model,
under the accounting `spec`, a true ceiling, by default.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pandas as pd

from pcielab import _core, model
from pcielab._core import FCS_BYTES
from pcielab.charts.run import Run
from pcielab.errors import InputError
from pcielab.kinds.machine_facts import MachineFacts, facts_of
from pcielab.kinds.transfers.bounds import TestBounds, bounds_of_tests
from pcielab.library.suites.parameter import PARAMETERS
from pcielab.model.link import Accounting
from pcielab.store import Store
from pcielab.store.setup import link_parameters

NICS = {
    "simple-nic": "simple NIC",
    "niantic-kernel": "modern NIC (kernel driver)",
    "niantic-dpdk": "modern NIC (DPDK driver)",
}
"""The devices of the paper's figure 1."""
_LONG_TEST = 1 << 23
"""Transactions of a row without their number: as in a published bandwidth test."""
_OF_A_TEST = tuple(
    sorted(parameter.key for parameter in PARAMETERS if parameter.key not in ("details", "transactions"))
)


def facts(run: Run) -> MachineFacts | None:
    """The facts of a run's machine; None if not even its link is known."""
    return _facts(run.store)


@lru_cache(maxsize=32)
def _facts(store: Store) -> MachineFacts | None:
    try:
        return facts_of(store)
    except InputError:
        return None


def link_of(run: Run) -> model.Link | None:
    """The run's link; None if unknown."""
    known = facts(run)
    return known.model_link if known is not None else _noted_link(run)


def _noted_link(run: Run) -> model.Link | None:
    """The link in an import's manifest, for imports without a text of lspci."""
    link = link_parameters(run.manifest)
    if any(link.get(key) is None for key in ("generation", "lanes", "mps_bytes", "mrrs_bytes")):
        return None
    return model.Link(
        generation=link["generation"],
        lanes=link["lanes"],
        mps_bytes=link["mps_bytes"],
        mrrs_bytes=link["mrrs_bytes"],
        rcb_bytes=link.get("rcb_bytes") or 64,
        ecrc=bool(link.get("ecrc")),
    )


def link_text(link: model.Link) -> str:
    """The link in words."""
    text = f"Gen{link.generation} x{link.lanes}, MPS {link.mps_bytes}, MRRS {link.mrrs_bytes}"
    text += (", ECRC" if link.ecrc else "") + (", IDE" if link.ide_tlps else "")
    return text + (", 32-bit addresses" if link.address_bits == 32 else "")


def bounds_of_rows(run: Run, rows: Iterable[Mapping[Any, Any]]) -> list[TestBounds | None]:
    """The bounds of tests of a run, given rows of its frame; None for each without a system profile."""
    tests = [_parameters(row) for row in rows]
    known = facts(run)
    return bounds_of_tests(known, tests) if known and known.system else [None] * len(tests)


def link_bounds(link: model.Link, sizes: Sequence[int], accounting: Accounting = Accounting.SPEC) -> pd.DataFrame:
    """The highest bandwidth that the link alone allows: size_bytes, operation, bandwidth (Gb/s), binds."""
    rows = []
    for row in model.bandwidth(link, sizes, accounting=accounting):
        answers = {"bw-rd": row.read, "bw-wr": row.write, "bw-rdwr": row.rdwr}
        for operation, answer in answers.items():
            rows.append((row.size_bytes, operation, answer.gbps, answer.bound))
    return pd.DataFrame(rows, columns=["size_bytes", "operation", "bandwidth", "binds"])


def ethernet_rates(links: Iterable[model.Link]) -> list[int]:
    """The Ethernet rates that suit links, slowest first: a link carries them, but not several times over."""
    capacities = [model.bandwidth(link, [64])[0].tlp_gbps for link in links]
    return sorted({int(rate) for gbps in capacities for rate in _core.ethernet_suiting(gbps)})


def ethernet_need(sizes: Sequence[int], rate_gbps: int) -> pd.DataFrame:
    """The bandwidth that DMA of each size needs to keep up with full Ethernet: size_bytes, bandwidth (Gb/s).

    A transfer is a frame without its FCS; shorter ones are padded to the smallest frame.
    """
    return pd.DataFrame({"size_bytes": list(sizes), "bandwidth": _core.ethernet_need(rate_gbps, list(sizes))})


def interactions(
    link: model.Link, frames: Sequence[int], accounting: Accounting = Accounting.SPEC
) -> pd.DataFrame:
    """Bandwidth of full-duplex frames, per direction, bare and by NIC: frame_bytes, device, bandwidth (Gb/s)."""
    bare = model.bandwidth(link, [frame - FCS_BYTES for frame in frames], accounting=accounting)
    rows = [(frame, "effective PCIe bandwidth", row.rdwr.gbps) for frame, row in zip(frames, bare, strict=True)]
    for name, title in NICS.items():
        answers = model.nic(model.load_nic(name), link, frames, accounting=accounting)
        rows += [(answer.frame_bytes, title, answer.bi.gbps) for answer in answers]
    return pd.DataFrame(rows, columns=["frame_bytes", "device", "bandwidth"])


def ethernet_line(frames: Sequence[int], rate_gbps: int) -> pd.DataFrame:
    """Bandwidth of full Ethernet by frame size, without FCS: frame_bytes, bandwidth (Gb/s)."""
    need = ethernet_need([frame - FCS_BYTES for frame in frames], rate_gbps)
    return need.assign(frame_bytes=list(frames)).drop(columns="size_bytes")


def _parameters(row: Mapping[Any, Any]) -> dict[str, Any]:
    """The parameters of a test from a row of a frame, in which whole numbers may have become floats."""
    asked = row.get("transactions_asked")
    transactions = _LONG_TEST if asked is None or asked != asked else int(asked)
    given: dict[str, Any] = {"details": False, "transactions": transactions}
    for key in _OF_A_TEST:
        value = row.get(key)
        if value is None or value != value:
            given[key] = None
        else:
            given[key] = int(value) if not isinstance(value, str) else value
    return given
