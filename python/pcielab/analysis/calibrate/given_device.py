"""The system behind a store of any device whose profile is given: its constants are taken, not fitted.

Link, sockets, cache size and addresses are those that the manifest records. Everything else of the host is a base
host's, and is estimated: a manifest's own profile of the host is never read.
"""

import json
from dataclasses import dataclass
from typing import Any

from pcielab.analysis.calibrate.recorded_system import (
    BASE_HOST,
    CARDS,
    DEFAULT_CHUNK_BYTES,
    DUAL_BASE_HOST,
    RecordedSystem,
    default_addresses,
    llc_shape,
    part,
)
from pcielab.analysis.compare import Difference, differences
from pcielab.errors import InputError, refusal
from pcielab.library.profiles import Link, names, resolve
from pcielab.library.profiles.values import Table, keys_of_table
from pcielab.store import Store
from pcielab.store.facts import Facts
from pcielab.store.setup import link_parameters, setup_of
from pcielab.wording import shown


@dataclass(frozen=True)
class GivenDevice:
    """A device profile, and where it comes from.

    Attributes:
        profile: Name of the shipped profile, or file.
        table: The complete device, as in a resolved system.
        source: Where it comes from, for the provenance.
    """

    profile: str
    table: Table
    source: str


def device_of_store(store: Store, asked: str | None) -> GivenDevice | None:
    """The device whose constants are given; None for an NFP-6000, which calibration knows.

    Args:
        store: A store of transfers.
        asked: Name or file of a device profile; None: the profile in the store.

    Raises:
        InputError: The store's device has no profile, or ticks differently from the profile asked for.
    """
    if asked is not None:
        device = GivenDevice(asked, part("device", asked), f"--device {asked}")
        _check_timer(store, device)
        return device
    table = (store.manifest.get("system") or {}).get("device")
    if not table:
        if store.manifest.get("backend"):
            raise _without_profile(store, (store.manifest.get("device") or {}).get("name"))
        return None
    name = str(table.get("name"))
    known = not all(_apart(card, table) for card in CARDS)
    if known and ("dma" in table or name in CARDS):
        return None
    if "dma" not in table:
        raise _without_profile(store, name)
    return GivenDevice(name, table, "profile in the store")


def tick_ns_of(device: Table) -> float:
    """Length of a tick of a device's timer."""
    timer = device["timer"]
    return float(timer["numerator_ns"] / timer["denominator"])


def system_of_store(store: Store, device: GivenDevice) -> RecordedSystem:
    """The system of a store: the device as given, what the manifest records, and a base host.

    Raises:
        InputError: The manifest records no link.
    """
    manifest = store.manifest
    facts = Facts.model_validate(manifest)
    sockets = (facts.host.sockets if facts.host else None) or 1
    base_host = DUAL_BASE_HOST if sockets > 1 else BASE_HOST
    system: Table = {
        "name": "",
        "title": store.title,
        "calibrated": True,
        "device_socket": 0,
        "memory_socket": 0,
        "program_socket": 0,
        "host": part("host", base_host),
        "device": device.table,
        "link": _link(store, facts),
    }
    recorded = RecordedSystem(system, device.profile, base_host)
    recorded.sources |= {"device": device.source, "link": "manifest: link of the device"}
    _add_host(recorded, facts, sockets)
    _add_placement(recorded, manifest)
    _add_buffer(recorded, manifest)
    return recorded


def _without_profile(store: Store, name: object) -> InputError:
    return refusal(
        "missing",
        f"{store.path}: the store has no profile of its device {shown(str(name))}: give one with --device, for "
        f"example --device {names('device')[-1]}",
    )


def _check_timer(store: Store, device: GivenDevice) -> None:
    """Refuse a profile whose timer is not that of the store's device."""
    timer = (store.manifest.get("device") or {}).get("timer") or {}
    if not timer.get("numerator_ns") or not timer.get("denominator"):
        return
    store_ns, profile_ns = timer["numerator_ns"] / timer["denominator"], tick_ns_of(device.table)
    if abs(store_ns - profile_ns) > 1e-6 * profile_ns:
        raise refusal(
            "wrong-value",
            f"--device {device.profile}: its timer ticks every {profile_ns:g} ns, and that of the device in "
            f"{store.path} every {store_ns:g} ns: give the profile of the device that was measured",
        )


def _apart(card: str, device: dict[str, Any]) -> list[Difference]:
    """The values in which a manifest's device differs from the shipped one; keys that it lacks do not count."""
    shipped = json.loads(resolve("hsw2620", [f"device={card}"]).to_json())["device"]
    found = differences({"device": shipped}, {"device": device})
    return [one for one in found if one.b is not None or one.a is None]


def _link(store: Store, facts: Facts) -> Table:
    """The link of the manifest; a real device uses as many tags as it says that it has."""
    found = link_parameters(store.manifest)
    if not found.get("generation") or not found.get("lanes"):
        raise refusal(
            "missing",
            f"{store.path}: the manifest has no generation and lanes of the device's link, which calibration "
            "needs: measure again with the link in sight of lspci",
        )
    fields = {key: value for key, value in found.items() if key in keys_of_table(Link) and value is not None}
    outstanding = facts.device.outstanding if facts.device else None
    tags = {"tags": outstanding} if outstanding and "tags" not in fields else {}
    return Link.of({**part("link", "gen3-x8"), **fields, **tags}, f"{store.path}: link").dump()


def _add_host(recorded: RecordedSystem, facts: Facts, sockets: int) -> None:
    host, known = recorded.system["host"], facts.host
    host["sockets"] = sockets
    if known is None or not known.sockets:
        recorded.warnings.append("the manifest has no number of sockets: 1 assumed")
    else:
        recorded.sources["host.sockets"] = "manifest: host.sockets"
    if known is not None and (name := known.processor or known.name):
        host["name"] = name
    if known is None or not known.llc_bytes:
        recorded.warnings.append("the manifest has no LLC size: the base host's assumed")
        return
    host["llc"] = {**host["llc"], **llc_shape(known.llc_bytes)}
    recorded.sources["host.llc.llc_bytes"] = "manifest: host.llc_bytes"
    recorded.sources["host.llc.ways"] = "size over slices of 2,048 sets"


def _add_placement(recorded: RecordedSystem, manifest: dict[str, Any]) -> None:
    system, setup = recorded.system, setup_of(manifest)
    if setup.iommu in ("off", "super-pages", "four-kib-pages"):
        system["iommu"] = setup.iommu
        recorded.sources["iommu"] = "manifest"
    else:
        system["iommu"] = "off"
        recorded.warnings.append("the manifest has no IOMMU mode: off assumed")
    if setup.sockets is None:
        recorded.unplaced = system["host"]["sockets"] > 1
        return
    for key, socket in zip(("device_socket", "memory_socket", "program_socket"), setup.sockets, strict=True):
        system[key] = socket
        recorded.sources[key] = "manifest"
    system["host"]["sockets"] = max(system["host"]["sockets"], *(socket + 1 for socket in setup.sockets))


def _add_buffer(recorded: RecordedSystem, manifest: dict[str, Any]) -> None:
    system, known = recorded.system, manifest.get("system") or {}
    if known.get("chunk_addresses"):
        system["chunk_bytes"], system["chunk_addresses"] = known["chunk_bytes"], known["chunk_addresses"]
        recorded.sources["chunk_addresses"] = "manifest"
        return
    chunks = int((manifest.get("host") or {}).get("buffer_bytes") or 0) // DEFAULT_CHUNK_BYTES
    system["chunk_bytes"] = DEFAULT_CHUNK_BYTES
    system["chunk_addresses"] = default_addresses(system["iommu"] != "off", chunks)
    recorded.warnings.append("the manifest has no addresses of the buffer: addresses assumed")
