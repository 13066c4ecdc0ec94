"""The facts about a run's machine that bounds need, from its store.

A simulated run has its resolved system profile. A measured device reports its link. An import has texts recorded
on the machine: `lspci -vvv` for the link, the measurement's notes for bus addresses and IOMMU mode. `missing`
names the unknown facts; results that depend on them are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pcielab import _core, model
from pcielab.errors import InputError, refusal
from pcielab.kinds.measured_link import LSPCI, measured_link, named_in_texts
from pcielab.library.profiles.parts import Link, System
from pcielab.model.answers import Capacities
from pcielab.model.questions import system_capacities
from pcielab.store import Store
from pcielab.store.setup import Setup, setup_of

_FOUR_GIB = 1 << 32
_ADDRESSES = "sys-dma-addrs.txt"


@dataclass(frozen=True, kw_only=True)
class MachineFacts:
    """The facts about a machine that a store holds.

    Attributes:
        link: The negotiated link.
        tags: Most read requests of the device in flight; None if unknown.
        setup: Host, device, IOMMU mode and sockets.
        system: The resolved system profile, if the store has a complete one.
        chunk_bytes: Size of a physically contiguous piece of the host buffer.
        chunk_addresses: Bus address of each piece, in buffer order; empty if unknown.
        missing: Sentences on unknown facts, and the results left out.
    """

    link: Link
    tags: int | None
    setup: Setup
    system: System | None
    chunk_bytes: int
    chunk_addresses: tuple[int, ...]
    missing: tuple[str, ...]

    def low_share(self, test: Mapping[str, Any]) -> float:
        """The share of a test's transfers below 4 GiB, which need the shorter header."""
        visited = test["size_bytes" if test["pattern"] == "fixed" else "window_bytes"]
        return _core.low_share(self.chunk_addresses, self.chunk_bytes, visited)

    @cached_property
    def capacities(self) -> Capacities | None:
        """Capacities that a window can outgrow; None without a complete system profile."""
        return None if self.system is None else system_capacities(self.system.handle)

    @property
    def model_link(self) -> model.Link:
        """The link, with 64-bit addresses."""
        return model.Link(
            generation=self.link.generation,
            lanes=self.link.lanes,
            mps_bytes=self.link.mps_bytes,
            mrrs_bytes=self.link.mrrs_bytes,
            rcb_bytes=self.link.rcb_bytes,
            ecrc=self.link.ecrc,
            completion_ecrc=bool(self.link.root_port_ecrc),
            flit_mode=self.link.flit,
            ide_tlps=1 if self.link.ide else None,
        )


def no_link(store: Store) -> bool:
    """Whether the run's device has no PCIe link, like a core of the host, or does not report one."""
    manifest = store.manifest
    device = manifest.get("device") or {}
    described = manifest.get("system") or device.get("link")
    shown = LSPCI in store.attachments and named_in_texts(device)
    return bool(manifest.get("backend")) and not described and not shown


def facts_of(store: Store) -> MachineFacts:
    """The facts of a run's machine.

    Raises:
        InputError: Not even the link is known.
    """
    system = store.manifest.get("system")
    return _of_profile(store, system) if system else _of_texts(store)


def facts_of_system(system: System) -> MachineFacts:
    """The facts of a resolved system: all of them."""
    return MachineFacts(
        link=system.link,
        tags=system.link.tags,
        setup=setup_of({"system": system.dump()}),
        system=system,
        chunk_bytes=system.chunk_bytes,
        chunk_addresses=tuple(system.chunk_addresses),
        missing=(),
    )


def _of_profile(store: Store, described: Mapping[str, Any]) -> MachineFacts:
    missing = []
    system = store.system
    if system is not None:
        link = system.link
    else:
        missing.append("the manifest has no complete system profile: only link and tags are bounds")
        link = _link_of_profile(store, described)
    addresses = tuple(described.get("chunk_addresses") or ())
    return MachineFacts(
        link=link,
        tags=link.tags,
        setup=setup_of(store.manifest),
        system=system,
        chunk_bytes=described.get("chunk_bytes") or _FOUR_GIB,
        chunk_addresses=addresses,
        missing=tuple(missing),
    )


def _addresses(store: Store) -> tuple[int, ...]:
    try:
        return tuple(int(word, 16) for word in store.attachments.get(_ADDRESSES, "").split())
    except ValueError as error:
        raise refusal(
            "malformed", f"{store.path}: attachment {_ADDRESSES}: {error}: give addresses as hexadecimal numbers"
        ) from None


def _link_of_profile(store: Store, described: Mapping[str, Any]) -> Link:
    try:
        return Link.of(described.get("link") or {}, "link")
    except InputError as error:
        raise refusal(
            "missing",
            f"{store.path}: the manifest's system has no complete link ({str(error).splitlines()[0]}): give a run "
            "with a complete profile",
        ) from None


def _of_texts(store: Store) -> MachineFacts:
    missing = ["no system profile: only link and tags are bounds, and latencies include the device's own time"]
    measured = measured_link(store)
    if measured.tags is None:
        missing.append("reads in flight unknown: no bound from tags")
    addresses = _addresses(store)
    if not addresses:
        missing.append(f"no attachment {_ADDRESSES}: 64-bit addresses assumed in headers")
    buffer_bytes = (store.manifest.get("host") or {}).get("buffer_bytes")
    setup = setup_of(store.manifest)
    if setup.iommu is None:
        missing.append("kernel command line unknown: IOMMU not considered")
    if setup.sockets is None:
        missing.append("sockets of device and memory unknown: remote memory not considered")
    return MachineFacts(
        link=measured.link,
        tags=measured.tags,
        setup=setup,
        system=None,
        # Without the buffer's size, every piece weighs the same in every test.
        chunk_bytes=buffer_bytes // len(addresses) if buffer_bytes and addresses else 1,
        chunk_addresses=addresses,
        missing=tuple(missing),
    )
