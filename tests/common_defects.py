"""Common defects of a machine, as tests of what `why` says of them list them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pcielab.library.profiles.parts import System

_LARGE_PAGES, _SMALL_PAGES = "super-pages", "four-kib-pages"
_TAGS_WITHOUT_EXTENDED = 32
_GENERATION_MOST = 5


@dataclass(frozen=True)
class Defect:
    """A system with a defect.

    Attributes:
        what: The defect.
        system: The system with it.
    """

    what: str
    system: System


def defects(system: System) -> list[Defect]:
    """Each common defect alone, of those that the machine can have."""
    found = [*_defects(system)]
    changed = system.each_with([keys for _, keys in found])
    return [Defect(what, one) for (what, _), one in zip(found, changed, strict=True) if one is not None]


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
