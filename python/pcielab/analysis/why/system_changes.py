"""Changes of a system or a test that can raise a rate or shorten a latency, and common defects.

What a change gives is not known here: the simulator or the closed form computes it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pcielab.analysis.why.predicted import is_possible
from pcielab.library.profiles.parts import System

_LANES_MOST, _GENERATION_MOST, _BYTES_MOST, _TAGS_MOST = 16, 5, 4096, 1024
_OFF, _SMALL_PAGES, _LARGE_PAGES = "off", "four-kib-pages", "super-pages"
_TAGS_WITHOUT_EXTENDED = 32
_UNALIGNED = ("host_offset_bytes", "device_offset_bytes")


@dataclass(frozen=True)
class Variant:
    """A system and a test after a change.

    Attributes:
        what: The change.
        of: `link`, `host`, `device` or `test`.
        system: The changed system.
        parameters: The test's parameters.
    """

    what: str
    of: str
    system: System
    parameters: Mapping[str, Any]


def improvements(system: System, parameters: Mapping[str, Any]) -> list[Variant]:
    """Changes that may help, those that need no other hardware first; only those that the simulator takes."""
    tests = [
        Variant(what, "test", system, other)
        for what, new in _of_test(parameters)
        if is_possible(other := {**parameters, **new})
    ]
    changed = [(what, of, keys) for what, of, keys in (*_of_host(system), *_of_link(system), *_of_device(system))]
    return [*_valid(system, parameters, changed), *tests]


def host_changes(system: System) -> list[Variant]:
    """Changes of the host alone, for work that has no parameters of a test."""
    return _valid(system, {}, [*_of_host(system)])


def defects(system: System, parameters: Mapping[str, Any]) -> list[Variant]:
    """Common defects of a machine: a link below its best, an IOMMU, remote memory."""
    return _valid(system, parameters, [(what, "defect", keys) for what, keys in _defects(system)])


def link_changes(link: Mapping[str, int]) -> Iterator[tuple[str, dict[str, int]]]:
    """Changes of a link, as its words and new values by key."""
    for key, most in (("tags", _TAGS_MOST), ("mrrs_bytes", _BYTES_MOST), ("mps_bytes", _BYTES_MOST)):
        if key in link and link[key] * 2 <= most:
            yield f"link.{key} {link[key]} -> {link[key] * 2}", {key: link[key] * 2}
    if link["generation"] < _GENERATION_MOST:
        yield (
            f"Gen{link['generation'] + 1} instead of Gen{link['generation']}",
            {"generation": link["generation"] + 1},
        )
    if link["lanes"] * 2 <= _LANES_MOST:
        yield f"x{link['lanes'] * 2} instead of x{link['lanes']}", {"lanes": link["lanes"] * 2}


def _of_link(system: System) -> Iterator[tuple[str, str, dict[str, Any]]]:
    values = {key: getattr(system.link, key) for key in ("tags", "mrrs_bytes", "mps_bytes", "generation", "lanes")}
    for what, new in link_changes(values):
        yield what, "link", {f"link.{key}": value for key, value in new.items()}


def _of_host(system: System) -> Iterator[tuple[str, str, dict[str, Any]]]:
    if system.iommu == _SMALL_PAGES:
        yield "super-pages in the IOMMU instead of 4 KiB pages", "host", {"iommu": _LARGE_PAGES}
    if system.iommu != _OFF:
        yield "no IOMMU", "host", {"iommu": _OFF}
    if system.memory_socket != system.device_socket:
        yield "memory on the device's socket", "host", {"memory_socket": system.device_socket}
    llc = system.host.llc
    if llc.ddio_ways * 2 <= llc.ways:
        what = f"host.llc.ddio_ways {llc.ddio_ways} -> {llc.ddio_ways * 2}"
        yield what, "host", {"host.llc.ddio_ways": llc.ddio_ways * 2}
    yield from _of_load(system)


def _of_load(system: System) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Changes of what devices share: busy cores, the root complex's pools, and translation."""
    host = system.host
    cores = host.load.cores if host.load is not None else 0
    if cores:
        what = f"fewer busy cores (host.load.cores {cores} -> {cores // 2})"
        yield what, "host", {"host.load.cores": cores // 2}
    for name, lines in (
        ("write_pool_lines", host.root_complex.write_pool_lines),
        ("read_pool_lines", host.root_complex.read_pool_lines),
    ):
        if lines is not None:
            key = f"host.root_complex.{name}"
            yield f"a pool twice as large ({key} {lines} -> {lines * 2})", "host", {key: lines * 2}
    if system.iommu == _OFF:
        return
    walkers = host.iommu.walkers
    what = f"twice as many page walkers (host.iommu.walkers {walkers} -> {walkers * 2})"
    yield what, "host", {"host.iommu.walkers": walkers * 2}
    if host.iommu.page_life in ("recycled", "unmapped"):
        yield "buffers that keep their pages (host.iommu.page_life)", "host", {"host.iommu.page_life": "static"}
    if host.iommu.invalidation == "strict":
        yield "lazy invalidation instead of strict", "host", {"host.iommu.invalidation": "lazy"}


def _of_device(system: System) -> Iterator[tuple[str, str, dict[str, Any]]]:
    dma = system.device.dma
    for key in ("outstanding", "receive_buffers", "completion_buffer_bytes"):
        value = getattr(dma, key)
        if isinstance(value, int):
            yield f"device.dma.{key} {value} -> {value * 2}", "device", {f"device.dma.{key}": value * 2}
    times = {key: value / 2 for key, value in dma.engine.dump().items() if key.endswith("_ns") and value}
    if times:
        yield (
            "a data engine twice as fast",
            "device",
            {f"device.dma.engine.{key}": ns for key, ns in times.items()},
        )
    busy_ns = dma.busy_request_interval_ns
    if busy_ns:
        what = f"a device that starts DMAs twice as fast (every {busy_ns / 2:g} ns)"
        yield what, "device", {"device.dma.busy_request_interval_ns": busy_ns / 2}


def _of_test(parameters: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if parameters["cache"] in ("cold", "device-thrash") and parameters["operation"] != "bw-wr":
        yield "data in the host's cache (--cache host-warm)", {"cache": "host-warm"}
    if any(parameters[key] for key in _UNALIGNED):
        yield "aligned transfers", dict.fromkeys(_UNALIGNED, 0)
    if parameters.get("outstanding"):
        yield "twice as many transfers in flight (--outstanding)", {"outstanding": parameters["outstanding"] * 2}
    if parameters["operation"].startswith("bw-"):
        yield "transfers twice as large (--size)", {"size_bytes": parameters["size_bytes"] * 2}


def _defects(system: System) -> Iterator[tuple[str, dict[str, Any]]]:
    link = system.link
    if link.lanes > 1 and link.lanes != 12:
        yield f"the link at x{link.lanes // 2}", {"link.lanes": link.lanes // 2}
    if 1 < link.generation <= _GENERATION_MOST:
        yield f"the link at Gen{link.generation - 1}", {"link.generation": link.generation - 1}
    for key, name in (("mps_bytes", "MPS"), ("mrrs_bytes", "MRRS")):
        if getattr(link, key) > 128:
            yield f"{name} 128", {f"link.{key}": 128}
    if link.tags > _TAGS_WITHOUT_EXTENDED:
        yield "no extended tags", {"link.tags": _TAGS_WITHOUT_EXTENDED}
    elif link.tags > 1:
        yield f"only {link.tags // 2} reads in flight", {"link.tags": link.tags // 2}
    for mode, name in ((_LARGE_PAGES, "super-pages"), (_SMALL_PAGES, "4 KiB pages")):
        if system.iommu != mode and not (system.iommu == _SMALL_PAGES and mode == _LARGE_PAGES):
            yield f"an IOMMU with {name}", {"iommu": mode}
    if system.host.sockets > 1 and system.memory_socket == system.device_socket:
        yield "memory on the other socket", {"memory_socket": 1 - system.device_socket}


def _valid(
    system: System, parameters: Mapping[str, Any], changes: list[tuple[str, str, dict[str, Any]]]
) -> list[Variant]:
    variants = system.each_with([keys for _, _, keys in changes])
    return [
        Variant(what, of, changed, parameters)
        for (what, of, _), changed in zip(changes, variants, strict=True)
        if changed is not None
    ]
