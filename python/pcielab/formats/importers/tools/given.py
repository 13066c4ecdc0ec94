"""Facts about the machine that a tool's file does not give, and the user may."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pcielab._core import SPEEDS_GTPS, read_width
from pcielab.errors import refusal
from pcielab.wording import shown

_ADDRESS = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?", re.ASCII)
_PAYLOADS = (128, 256, 512, 1024, 2048, 4096)


@dataclass(frozen=True, kw_only=True)
class Given:
    """What the user says about the machine; None is unknown.

    Attributes:
        link: Generation and lanes, `gen5x16`.
        mps_bytes: Maximum payload size.
        mrrs_bytes: Maximum read request size.
        numa_node: NUMA node of the host's memory that the tool used.
        address: PCI address of the device.
        machine: The links of a machine's devices by address, with the keys of a manifest's `device.link`; only
            known values.
        machine_source: Where they were read, for errors.
    """

    link: str | None = None
    mps_bytes: int | None = None
    mrrs_bytes: int | None = None
    numa_node: int | None = None
    address: str | None = None
    machine: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    machine_source: str = ""

    def host(self) -> dict[str, Any]:
        """The given facts about the host, for a manifest."""
        if self.numa_node is None:
            return {}
        if not 0 <= self.numa_node < 1 << 16:
            raise refusal("out-of-range", f"--numa {self.numa_node}: give the number of a NUMA node, from 0")
        return {"node": self.numa_node}

    def device(self, addresses: Sequence[str] = ()) -> dict[str, Any]:
        """The given facts about the device, for a manifest: its address and link.

        Args:
            addresses: Addresses of devices in the tool's file.

        Raises:
            InputError: The machine lacks the device, or contradicts an option.
        """
        asked = self._asked()
        known = self._of_machine(addresses)
        for key in sorted(known.keys() & asked.keys()):
            if known[key] != asked[key]:
                raise refusal(
                    "conflict",
                    f"{_OPTIONS[key]}: {self.machine_source} has {key} {known[key]}, not {asked[key]}: "
                    f"leave out {_OPTIONS[key]}, or give another machine",
                )
        link = {**known, **asked}
        address = self._address(addresses)
        return ({"address": address} if address else {}) | ({"link": link} if link else {})

    def _asked(self) -> dict[str, Any]:
        """The keys of the link that options give."""
        asked: dict[str, Any] = {}
        if self.link is not None:
            width = read_width(self.link, "--link")
            if width.links != 1:
                raise refusal(
                    "wrong-value", f"--link {shown(self.link)}: give the link of one device, for example gen5x16"
                )
            asked |= {"rate_gtps": SPEEDS_GTPS[width.generation - 1], "lanes": width.lanes}
        for option, key, value in (
            ("--mps", "mps_bytes", self.mps_bytes),
            ("--mrrs", "mrrs_bytes", self.mrrs_bytes),
        ):
            if value is None:
                continue
            if value not in _PAYLOADS:
                raise refusal(
                    "wrong-value", f"{option} {value}: give one of {', '.join(map(str, _PAYLOADS))} bytes"
                )
            asked[key] = value
        return asked

    def _address(self, addresses: Sequence[str]) -> str | None:
        """The device's address, if there is one only."""
        if self.address is not None:
            return full_address(self.address)
        unique = {full_address(one) for one in addresses}
        return unique.pop() if len(unique) == 1 else None

    def _of_machine(self, addresses: Sequence[str]) -> Mapping[str, Any]:
        """The link of the device in the given machine; empty without a machine."""
        if not self.machine:
            return {}
        address = self._address(addresses)
        if address is None:
            raise refusal(
                "missing",
                f"{self.machine_source}: the tool's file does not name one device: choose one with --address, "
                f"for example --address {next(iter(self.machine))}",
            )
        if address not in self.machine:
            raise refusal(
                "not-found",
                f"{self.machine_source}: has no device {address}: give the --address of one of its devices, like "
                f"{next(iter(self.machine))}",
            )
        return self.machine[address]


def full_address(text: str) -> str:
    """A PCI address in full, `0000:17:00.0`; tools leave out the domain or the function, or pad the domain.

    Raises:
        InputError: It is no address.
    """
    found = _ADDRESS.fullmatch(text.strip().lower())
    if found is None:
        raise refusal("malformed", f"{shown(text)}: not a PCI address: give one like 0000:17:00.0")
    domain, bus, device, function = found.groups(default="0")
    return f"{int(domain, 16):04x}:{bus}:{device}.{function}"


_OPTIONS = {"rate_gtps": "--link", "lanes": "--link", "mps_bytes": "--mps", "mrrs_bytes": "--mrrs"}
