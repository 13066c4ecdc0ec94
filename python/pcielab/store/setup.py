"""The machine of a run and its set-up, which decide whether two runs may be compared.

A simulated run has them in its system profile, a run on a real host in its facts. For an import, the kernel's
command line shows whether the IOMMU was on, and the published folder's name (`...-s0-s1-s1`) the sockets of
device, memory and program.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pcielab._core import generation_of

_SOCKETS = re.compile(r"-s(\d+)-s(\d+)-s(\d+)(?:-|$)")
_SOCKET_KEYS = ("device_socket", "memory_socket", "program_socket")


@dataclass(frozen=True)
class Setup:
    """A machine and its set-up; unknown values are None.

    Attributes:
        host: Name of the host profile, or the processor.
        device: Name of the device.
        iommu: `off`, `super-pages` or `four-kib-pages`.
        sockets: Sockets of the device, of the memory of the host buffer, and of the control program.
    """

    host: str | None
    device: str | None
    iommu: str | None
    sockets: tuple[int, int, int] | None

    @property
    def memory_is_local(self) -> bool | None:
        """Whether the host buffer is on the device's own socket."""
        return None if self.sockets is None else self.sockets[0] == self.sockets[1]

    def same_machine(self, other: "Setup") -> bool:
        """Whether both have the same host and device."""
        return self.host == other.host and self.device == other.device

    def is_local_of(self, other: "Setup") -> bool:
        """Whether both are one machine, with the buffer local to the device here and remote in `other`."""
        if not self.same_machine(other) or self.iommu != other.iommu:
            return False
        return self.memory_is_local is True and other.memory_is_local is False

    def is_untranslated_of(self, other: "Setup") -> bool:
        """Whether both are one machine with the same sockets, with the IOMMU off here and on in `other`."""
        if not self.same_machine(other) or self.sockets != other.sockets:
            return False
        return self.iommu == "off" and other.iommu not in (None, "off")


def setup_of(manifest: Mapping[str, Any]) -> Setup:
    """The set-up in the manifest of a run."""
    system = manifest.get("system")
    if system:
        return _of_profile(system)
    return _of_facts(manifest) if manifest.get("backend") else _of_import(manifest)


def link_parameters(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The link with the keys of a profile's `link`; empty if the store lacks it.

    For a real device, the link negotiated before the run takes precedence over the supported one.
    """
    system = manifest.get("system") or {}
    if system.get("link"):
        return dict(system["link"])
    facts = dict((manifest.get("device") or {}).get("link") or {})
    conditions = [row for row in manifest.get("conditions_before") or () if isinstance(row, Mapping)]
    found = {row.get("metric"): row.get("value") for row in conditions}
    if lanes := found.get("link_lanes"):
        facts["lanes"] = int(lanes)
    rate_gtps = found.get("link_rate") or facts.get("rate_gtps")
    generation = generation_of(float(rate_gtps or 0))
    return {**facts, "generation": generation} if facts and generation is not None else {}


def _of_profile(system: Mapping[str, Any]) -> Setup:
    return Setup(
        host=(system.get("host") or {}).get("name"),
        device=(system.get("device") or {}).get("name"),
        iommu=system.get("iommu"),
        sockets=_sockets(system),
    )


def _of_facts(manifest: Mapping[str, Any]) -> Setup:
    host, device = manifest.get("host") or {}, manifest.get("device") or {}
    return Setup(
        host=host.get("processor") or host.get("name"),
        device=device.get("name"),
        iommu=host.get("iommu"),
        sockets=_sockets(host),
    )


def _sockets(known: Mapping[str, Any]) -> tuple[int, int, int] | None:
    sockets = [int(known[key]) for key in _SOCKET_KEYS if known.get(key) is not None]
    return (sockets[0], sockets[1], sockets[2]) if len(sockets) == len(_SOCKET_KEYS) else None


def _of_import(manifest: Mapping[str, Any]) -> Setup:
    host, device = manifest.get("host") or {}, manifest.get("device") or {}
    command_line = host.get("command_line")
    sockets = _SOCKETS.search(str((manifest.get("source") or {}).get("directory", "")))
    return Setup(
        host=host.get("processor"),
        device=device.get("name"),
        iommu=_iommu(command_line) if command_line is not None else None,
        sockets=(int(sockets[1]), int(sockets[2]), int(sockets[3])) if sockets else None,
    )


def _iommu(command_line: str) -> str:
    """The IOMMU mode of a Linux command line; off by default."""
    words = re.search(r"\bintel_iommu=(\S+)", command_line)
    modes = words[1].split(",") if words else []
    if "on" not in modes:
        return "off"
    return "four-kib-pages" if "sp_off" in modes else "super-pages"
