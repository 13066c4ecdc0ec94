"""What a store says of the machine behind its numbers, as far as bounds ask for it.

A simulated run has its resolved system profile. A device that was measured says of itself which link it has. An
import has the texts that were recorded on the machine: the link is what `lspci -vvv` shows of the card, the bus
addresses of the host buffer and the IOMMU mode come from the measurement's own notes. What a store does not say is
named in `missing`, and what depends on it is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from pcielab import model
from pcielab.analysis.explain.measured_link import LSPCI, measured_link, named_in_texts
from pcielab.errors import InputError
from pcielab.library.profiles.parts import Link, System
from pcielab.model.addresses import low_share
from pcielab.model.answers import Capacities
from pcielab.model.questions import system_capacities
from pcielab.store import Store
from pcielab.store.setup import Setup, setup_of

_FOUR_GIB = 1 << 32
_ADDRESSES = "sys-dma-addrs.txt"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A machine, as a store describes it.

    Attributes:
        link: The negotiated link.
        tags: Read requests that the device may have in flight; None where not known.
        setup: Host, card, IOMMU mode and sockets.
        system: The resolved system profile, where the store has a complete one.
        chunk_bytes: Size of a physically contiguous piece of the host buffer.
        chunk_addresses: Bus address of each piece, in buffer order; empty where not known.
        missing: What the store does not say, and what is left out for that.
    """

    link: Link
    tags: int | None
    setup: Setup
    system: System | None
    chunk_bytes: int
    chunk_addresses: tuple[int, ...]
    missing: tuple[str, ...]

    def low_share(self, test: Mapping[str, Any]) -> float:
        """The share of a test's transfers whose addresses are below 4 GiB, and so need the shorter header."""
        visited = test["size_bytes" if test["pattern"] == "fixed" else "window_bytes"]
        return low_share(self.chunk_addresses, self.chunk_bytes, visited)

    @cached_property
    def capacities(self) -> Capacities | None:
        """What a window can outgrow in the machine; None without a complete system profile."""
        return None if self.system is None else system_capacities(self.system.model_dump_json())

    @property
    def model_link(self) -> model.Link:
        """The link, for memory anywhere: with addresses of 64 bits."""
        return model.Link(
            generation=self.link.generation,
            lanes=self.link.lanes,
            mps_bytes=self.link.mps_bytes,
            mrrs_bytes=self.link.mrrs_bytes,
            rcb_bytes=self.link.rcb_bytes,
            ecrc=self.link.ecrc,
            flit_mode=self.link.flit,
        )


def no_link(store: Store) -> bool:
    """Whether the run was carried out by a device that has no PCIe link, such as a core, or does not say which."""
    manifest = store.manifest
    device = manifest.get("device") or {}
    described = manifest.get("system") or device.get("link")
    shown = LSPCI in store.attachments and named_in_texts(device)
    return bool(manifest.get("backend")) and not described and not shown


def facts_of(store: Store) -> Facts:
    """What the store says of its machine.

    Raises:
        InputError: It does not even say which link that was.
    """
    system = store.manifest.get("system")
    return _of_profile(store, system) if system else _of_texts(store)


def facts_of_system(system: System) -> Facts:
    """What a resolved system says of itself: everything."""
    return Facts(
        link=system.link,
        tags=system.link.tags,
        setup=setup_of({"system": system.model_dump(mode="json")}),
        system=system,
        chunk_bytes=system.chunk_bytes,
        chunk_addresses=tuple(system.chunk_addresses),
        missing=(),
    )


def _of_profile(store: Store, described: Mapping[str, Any]) -> Facts:
    missing = []
    system = None
    try:
        system = System.model_validate(described)
        link = system.link
    except ValidationError:
        missing.append("the manifest's system is no complete profile: only the link and the tags are bounds")
        link = _link_of_profile(store, described)
    addresses = tuple(described.get("chunk_addresses") or ())
    return Facts(
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
        raise InputError(
            f"{store.path}: attachment {_ADDRESSES}: {error}: give addresses as hexadecimal numbers"
        ) from None


def _link_of_profile(store: Store, described: Mapping[str, Any]) -> Link:
    try:
        return Link.model_validate(described.get("link"))
    except ValidationError as error:
        keys = ", ".join(sorted({f"link.{'.'.join(map(str, problem['loc']))}" for problem in error.errors()}))
        raise InputError(
            f"{store.path}: the manifest's system does not say which link it has ({keys.replace('link., ', '')}): "
            "give a run whose profile is complete"
        ) from None


def _of_texts(store: Store) -> Facts:
    missing = [
        "no system profile: only the link and the tags are bounds, and latencies include the card's own time"
    ]
    measured = measured_link(store)
    if measured.tags is None:
        missing.append("how many reads the device may have in flight is not known: tags are no bound")
    addresses = _addresses(store)
    if not addresses:
        missing.append(f"no attachment {_ADDRESSES}: headers are taken to have 64-bit addresses")
    buffer_bytes = (store.manifest.get("host") or {}).get("buffer_bytes")
    setup = setup_of(store.manifest)
    if setup.iommu is None:
        missing.append("the kernel's command line is not known: nothing is said of the IOMMU")
    if setup.sockets is None:
        missing.append("the sockets of card and memory are not known: nothing is said of remote memory")
    return Facts(
        link=measured.link,
        tags=measured.tags,
        setup=setup,
        system=None,
        # Without the buffer's size, every piece counts alike in every test.
        chunk_bytes=buffer_bytes // len(addresses) if buffer_bytes and addresses else 1,
        chunk_addresses=addresses,
        missing=tuple(missing),
    )
