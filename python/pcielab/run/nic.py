"""A NIC on the simulated machine: does it hold line rate on that host?

The simulation is the crate pcie-sim's (`nic`); this module puts together what it needs, and lays the closed form
beside what came out. A NIC is the same TOML file that `pcielab model nic` takes; its `[queues]` say how much is
under way.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from pcielab import _core, model
from pcielab.errors import InputError
from pcielab.library.profiles import ResolvedSystem, resolve
from pcielab.library.profiles.system import changed_name
from pcielab.library.validation import suggestion
from pcielab.model.addresses import low_share, with_addresses
from pcielab.model.link import Ethernet
from pcielab.run.nic_test import Direction, NicTest
from pcielab.run.running import (
    Progress,
    check_outputs,
    check_seed,
    kept_when_interrupted,
    no_progress,
    this_computer,
)
from pcielab.store.manifest import nic_of, system_of
from pcielab.wording import shown

if TYPE_CHECKING:
    import pandas as pd

    from pcielab.model import Answer, NicProfile
    from pcielab.store import Store

PORT = "direct-dma"
"""The card whose port and tags a NIC has, unless another is set: one that stays out of the way."""
PACKETS = 20_000
"""Packets that count, of each size."""
_WARM_UP_MOST = 200_000


def nic_system(profile: str, sets: Sequence[str] = ()) -> ResolvedSystem:
    """A system with a NIC in place of its card: what is said of the card's port and tags holds for the NIC.

    Args:
        profile: A shipped system, or a file.
        sets: Changes to single values; `device=NAME` takes another card's port.

    Raises:
        InputError: Something is unknown or wrong.
    """
    return resolve(profile, [f"device={PORT}", *sets])


def simulate_nic(
    nic: "NicProfile",
    system: ResolvedSystem,
    frames_bytes: Sequence[int],
    output: Path | str,
    *,
    ethernet: Ethernet | None = None,
    direction: str = "both",
    packets: int = PACKETS,
    seed: int = 1,
    jobs: int = 0,
    resume: bool = False,
    repeat_damaged: bool = False,
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> None:
    """Let frames of each size through a NIC on `system`, into a new store at `output`.

    Args:
        nic: What it and its driver do for each packet; see `pcielab.model.load_nic`.
        system: The machine; see `nic_system`.
        frames_bytes: Sizes of Ethernet frames, FCS included: a test each.
        output: Path of the store.
        ethernet: The line; 40 Gb/s unless said otherwise. Packets come from it at full rate.
        direction: `tx` sends, `rx` receives, `both` receives and sends on what it received.
        packets: How many count, after those that fill queues and caches.
        seed: Names the run.
        jobs: Tests simulated side by side; 0 for as many as there are cores. Does not change any number.
        resume: Go on with the store that is there, if one is.
        repeat_damaged: With `resume`, do tests again whose numbers are damaged.
        overwrite: Replace the store that is there, if one is.
        progress: Called after every test and every tenth of a second; an exception stops the run.

    Raises:
        InputError: The NIC does not work on the system, or the output exists or cannot be written.
        RunError: The run failed, or was stopped (`StoppedError`); what was finished is in the store.
    """
    check_seed(seed)
    check_outputs(resume=resume, repeat_damaged=repeat_damaged, overwrite=overwrite)
    if direction not in get_args(Direction):
        raise InputError(f"--direction: {shown(direction)}: {suggestion(direction, get_args(Direction))}")
    line = ethernet or Ethernet()
    tests = [_traffic(nic, line, size, cast(Direction, direction), packets) for size in frames_bytes]
    own = {key: value for key, value in system.overrides.items() if (key, value) != ("device", PORT)}
    described = json.loads(system.to_json())
    manifest = {
        "origin": "simulated",
        "version": _core.__version__,
        "title": f"{nic.name} on {changed_name(system.system.name, own)}, {line.line_gbps:g} Gb/s line",
        "system": described,
        "overrides": own,
        "nic": nic.as_question(),
        "seed": seed,
        **this_computer(),
    }
    with kept_when_interrupted(output):
        _core.run_nic(
            output,
            system.to_json(),
            json.dumps(nic.as_question()),
            json.dumps(tests),
            json.dumps(manifest),
            seed=seed,
            jobs=jobs,
            resume=resume,
            repeat_damaged=repeat_damaged,
            overwrite=overwrite,
            progress=progress,
        )


def _traffic(nic: "NicProfile", line: Ethernet, size: int, direction: Direction, packets: int) -> NicTest:
    """A test: before the packets that count come so many that a queue which fills has filled."""
    queued = nic.queues.receive_fifo_bytes // max(size, 64) + nic.queues.ring_descriptors
    return {
        "ethernet": {"line_gbps": line.line_gbps, "vlan": line.vlan, "gap": line.gap},
        "frame_bytes": size,
        "direction": direction,
        "warm_up_packets": min(4 * queued, _WARM_UP_MOST),
        "packets": packets,
    }


def nic_rows(store: "Store") -> "pd.DataFrame":
    """A row for each size of frames: what was simulated, what binds, and the closed form beside it (`model_gbps`).

    The closed form is that of the bare link under the accounting `spec`; `link_bandwidth` is that of the simulated
    ports, which lose a little more.

    Raises:
        InputError: The store is not a run of a NIC.
    """
    store.require_kind("frames", "what a NIC came to")
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
    """Interrupts of both directions in a second; None for a NIC that has none, or a store that does not say."""
    subjects = {f"{one.path}: {one.what}" for one in nic_of(store.manifest, store.path).step if one.kind == "msi"}
    numbers = store.scalar_rows
    rates = numbers[(numbers["metric"] == "rate") & numbers["subject"].isin(subjects)]
    return None if rates.empty else rows["id"].map(rates.groupby("test")["value"].sum())


def _packet_reads(store: "Store", rows: "pd.DataFrame") -> dict[str, "pd.Series[float]"]:
    """How long the NIC waits for a packet that it sends, and how many it waits for: simulated, and by formula.

    The formula is that of section 7 of the paper: so many packets come on a full line while one is waited for.
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
    """What the bare link lets through, with headers as long as the addresses of the buffer need."""
    device, system = nic_of(store.manifest, store.path), system_of(store.manifest, store.path)
    ethernet = Ethernet(line_gbps=line_gbps)
    chosen = {"both": "bi", "tx": "tx", "rx": "rx"}[direction]

    def ask(link: model.Link) -> "list[Answer]":
        return [getattr(one, chosen) for one in model.nic(device, link, frames_bytes, ethernet=ethernet)]

    keys = {"generation", "lanes", "mps_bytes", "mrrs_bytes", "rcb_bytes", "ecrc"}
    link = model.Link(**system.link.model_dump(include=keys))
    return with_addresses(link, low_share(system.chunk_addresses, system.chunk_bytes), ask)
