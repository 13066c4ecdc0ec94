"""Runs of frames through a NIC as rows: simulated rates, the closed form, and the binding bound."""

from typing import TYPE_CHECKING

from pcielab import model
from pcielab._core import low_share
from pcielab.errors import found_in
from pcielab.model.link import Ethernet
from pcielab.store.manifest import nic_of

if TYPE_CHECKING:
    import pandas as pd

    from pcielab.model import Answer
    from pcielab.store import Store


def nic_rows(store: "Store") -> "pd.DataFrame":
    """A row for each frame size: simulated metrics, the binding bound, and the closed form (`model_gbps`).

    The closed form is that of the bare link with the accounting `spec`; `link_bandwidth` is that of the simulated
    ports, which lose a little more.
    """
    store.require_kind("frames", "a table of a NIC")
    rows = store.scalars[store.scalars["status"] == "ok"].copy()
    numbers = store.scalar_rows
    binds = numbers[numbers["metric"] == "binds"].set_index("test")["subject"]
    rows["binds"] = rows["id"].map(binds)
    modelled: dict[int, float] = {}
    for (line, direction), some in rows.groupby(["line_gbps", "direction"]):
        sizes = [int(size) for size in some["frame_bytes"]]
        answers = _closed_form(store, sizes, float(str(line)), str(direction))
        modelled |= {test: answer.gbps for test, answer in zip(some["id"], answers, strict=True)}
    rows["model_gbps"] = rows["id"].map(modelled)
    return rows.assign(interrupts_per_s=_interrupts(store, rows), **_packet_reads(store, rows))


def _interrupts(store: "Store", rows: "pd.DataFrame") -> "pd.Series[float] | None":
    """Interrupts per second in both directions; None for a NIC without them, or a store that lacks the number."""
    subjects = {f"{one.path}: {one.what}" for one in nic_of(store.manifest, store.path).step if one.kind == "msi"}
    numbers = store.scalar_rows
    rates = numbers[(numbers["metric"] == "rate") & numbers["subject"].isin(subjects)]
    return None if rates.empty else rows["id"].map(rates.groupby("test")["value"].sum())


def _packet_reads(store: "Store", rows: "pd.DataFrame") -> dict[str, "pd.Series[float]"]:
    """Latency of reading a packet to send, and number of these reads in flight: simulated, and by formula.

    The formula is that of section 7 of the paper: the packets that arrive at line rate during one read.
    """
    steps = nic_of(store.manifest, store.path).step
    sending = [one for one in steps if one.path == "tx" and one.bytes == "packet"]
    if not sending or set(rows["direction"]) == {"rx"}:
        return {}
    numbers = store.scalar_rows.set_index(["subject", "metric", "test"])["value"].sort_index()
    subject = f"tx: {sending[0].what}"
    if not all((subject, metric) in numbers.index for metric in ("average", "in_flight")):
        return {}
    took, in_flight = (rows["id"].map(numbers[subject, metric]) for metric in ("average", "in_flight"))
    interval_ns = 1e9 / rows["line_rate"]
    return {
        "packet_read_ns": took,
        "packet_reads_in_flight": in_flight,
        "packet_reads_by_formula": took / interval_ns,
    }


def _closed_form(store: "Store", frames_bytes: list[int], line_gbps: float, direction: str) -> "list[Answer]":
    """Rates of the bare link, with headers as long as the buffer's addresses need."""
    device, system = nic_of(store.manifest, store.path), store.require_system()
    ethernet = Ethernet(line_gbps=line_gbps)
    chosen = {"both": "bi", "tx": "tx", "rx": "rx"}[direction]

    keys = {"generation", "lanes", "mps_bytes", "mrrs_bytes", "rcb_bytes", "ecrc"}
    low = low_share(system.chunk_addresses, system.chunk_bytes, len(system.chunk_addresses) * system.chunk_bytes)
    with found_in(store.path):
        link = model.Link(**{key: getattr(system.link, key) for key in keys})
        answers = model.nic(device, link, frames_bytes, ethernet=ethernet, low_share=low)
    return [getattr(one, chosen) for one in answers]
