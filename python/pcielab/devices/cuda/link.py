"""PCI facts of a GPU and the state of its link, from sysfs and from the driver.

In a virtual machine sysfs shows the registers of an emulated port, often 2.5 GT/s; the driver, those of the GPU.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pcielab.devices.facts import Condition, LinkFacts
from pcielab.errors import InputError

_SYSFS = Path("/sys/bus/pci/devices")
_READ_SECONDS = 5e-3
"""Least time between two readings of a link: each reads registers of the GPU, over the link."""


@dataclass(frozen=True, kw_only=True)
class PciFacts:
    """The kernel's facts of a GPU and the port above it; None: unknown.

    Attributes:
        vendor_id: PCI vendor.
        device_id: PCI device.
        node: NUMA node.
        iommu: `off`, `super-pages` or `four-kib-pages`, for the GPU.
        mps_bytes: MPS in force.
        mrrs_bytes: MRRS in force.
        rate_most_gtps: Highest rate of a lane that both ends support.
        lanes_most: Lanes that both ends have.
    """

    vendor_id: int | None = None
    device_id: int | None = None
    node: int | None = None
    iommu: str | None = None
    mps_bytes: int | None = None
    mrrs_bytes: int | None = None
    rate_most_gtps: float | None = None
    lanes_most: int | None = None


@dataclass(frozen=True)
class LinkState:
    """Current rate and width of a link."""

    rate_gtps: float | None
    lanes: int | None

    def __str__(self) -> str:
        """For people, as `2.5 GT/s x16`."""
        return f"{self.rate_gtps:g} GT/s x{self.lanes}"

    @property
    def lanes_gtps(self) -> float:
        """Rate of all lanes, GT/s; 0 if unknown."""
        return (self.rate_gtps or 0.0) * (self.lanes or 0)

    def facts(self, pci: PciFacts) -> LinkFacts | None:
        """Limits of a link in this state; None if unknown."""
        if self.rate_gtps is None or self.lanes is None:
            return None
        return LinkFacts(
            rate_gtps=self.rate_gtps, lanes=self.lanes, mps_bytes=pci.mps_bytes, mrrs_bytes=pci.mrrs_bytes
        )

    def conditions(self, name: str) -> list[Condition]:
        """As conditions, whose names begin with `name`."""
        return [
            Condition(f"{name}_rate", "GT/s", self.rate_gtps),
            Condition(f"{name}_lanes", "1", None if self.lanes is None else float(self.lanes)),
        ]

    def remark(self, pci: PciFacts) -> str | None:
        """A remark if the link runs below the speed that both ends support."""
        slower = _is_below(self.rate_gtps, pci.rate_most_gtps)
        narrower = _is_below(self.lanes, pci.lanes_most)
        if not slower and not narrower:
            return None
        return (
            f"link is running at {self}; both ends support "
            f"{pci.rate_most_gtps or self.rate_gtps:g} GT/s x{pci.lanes_most or self.lanes}"
        )


UNKNOWN = LinkState(None, None)


class Link:
    """The link of a GPU, which runs at a low rate while the GPU is idle.

    Its state is the faster of those that the kernel and the driver show: neither shows more than the link has, and
    either may show less. A stated link is taken as it is.

    Attributes:
        pci: PCI facts of the GPU.
        idle: Its state before the GPU had any work.
        loaded: The fastest state under load in the current test, or before, while it has none; at first `idle`.
        fastest: The fastest of all these states, which limits what can cross the link.
    """

    def __init__(
        self,
        address: str,
        pci: PciFacts,
        of_driver: Callable[[], LinkState] = lambda: UNKNOWN,
        stated: LinkState | None = None,
    ) -> None:
        """Read the idle state of the link of the GPU at a bus address.

        Args:
            address: Its PCI function.
            pci: PCI facts of the GPU.
            of_driver: Reads the state that the driver shows.
            stated: The link that the user states; it is not read then.
        """
        self._address, self.pci = address, pci
        self._of_driver, self._stated = of_driver, stated
        self._disagreement: str | None = None
        self.idle = self.loaded = self.fastest = self._state()
        self._read_at = float("-inf")
        self._is_new_test = True

    def begin_test(self) -> None:
        """Start a test: the next reading replaces `loaded`."""
        self._is_new_test = True

    def read_under_load(self) -> None:
        """Read the state while the GPU is at work, unless it was read a moment ago."""
        now = time.monotonic()
        if now < self._read_at + _READ_SECONDS:
            return
        self._read_at = now
        state = self._state()
        if state.lanes_gtps:
            self.loaded = state if self._is_new_test else _faster(self.loaded, state)
            self.fastest = _faster(self.fastest, state)
            self._is_new_test = False

    def remark(self) -> str | None:
        """Remarks on the link under load, and on sources that differ about it."""
        found = [self.loaded.remark(self.pci), self._disagreement]
        return "; ".join(text for text in found if text) or None

    def _state(self) -> LinkState:
        if self._stated is not None:
            return self._stated
        of_kernel, of_driver = link_state(self._address), self._of_driver()
        if of_kernel.lanes_gtps and of_driver.lanes_gtps and of_kernel != of_driver:
            self._disagreement = (
                f"the link is {of_kernel} to the kernel, {of_driver} to the driver: the faster counts"
            )
        return _faster(of_kernel, of_driver)


def _faster(one: LinkState, other: LinkState) -> LinkState:
    return max(one, other, key=lambda state: state.lanes_gtps)


def _is_below(value: float | None, most: float | None) -> bool:
    return value is not None and most is not None and value < most


def link_state(address: str, root: Path = _SYSFS) -> LinkState:
    """Read the current state of the link of the GPU at a bus address."""
    return LinkState(
        _number(root / address / "current_link_speed"),
        None if (lanes := _number(root / address / "current_link_width")) is None else int(lanes) or None,
    )


def _number(path: Path) -> float | None:
    try:
        found = re.match(r"[\d.]+", path.read_text())
    except (OSError, UnicodeDecodeError):
        return None
    return float(found[0]) if found else None


def read_pci_facts(address: str, root: Path | None = None) -> PciFacts:
    """Read the facts of the GPU at a bus address.

    Args:
        address: Its PCI function, as `0000:18:00.0`.
        root: A copy of another machine's sysfs; None for this machine.
    """
    from pcielab.doctor import read_sysfs, topology

    try:
        tree = read_sysfs(root)
    except InputError:
        return PciFacts()
    # A driver may write the domain with more digits than the kernel does.
    function = next((one for one in tree.functions if one.slot[-10:] == address[-10:]), None)
    if function is None:
        return PciFacts()
    port = next((one.port for one in topology(tree).positions if function in one.functions), None)
    ends = [one.link for one in (function, port) if one is not None and one.link is not None]
    rates = [end.max_speed_gtps for end in ends if end.max_speed_gtps is not None]
    lanes = [end.max_lanes for end in ends if end.max_lanes]
    return PciFacts(
        vendor_id=function.vendor_id,
        device_id=function.device_id,
        node=function.numa_node if function.numa_node is not None and function.numa_node >= 0 else None,
        iommu=_iommu(function.iommu_type, function.iommu_group, tree.host.iommu_pages),
        mps_bytes=function.control.mps_bytes if function.control else None,
        mrrs_bytes=function.control.mrrs_bytes if function.control else None,
        rate_most_gtps=min(rates, default=None),
        lanes_most=min(lanes, default=None),
    )


def _iommu(kind: str | None, group: int | None, pages: str | None) -> str | None:
    """The IOMMU mode for a GPU: only a translated group has pages."""
    if kind == "identity":
        return "off"
    return pages if kind is not None and group is not None else None
