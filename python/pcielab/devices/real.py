"""Real devices through VFIO and through their BARs: listing, binding, and their options.

Binding is a separate step that needs root; running does not. Each obstacle is reported with the command that
removes it.

Options are models of pydantic, as of every device (`devices/registry.py`).
"""

import json
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from pcielab import _core
from pcielab.devices.cpu import HostOptions, PageBytes
from pcielab.library.profiles.part import Part

NVME_TITLE = "An NVMe drive as the DMA engine, by its PCI address"
E1000E_TITLE = "An Intel 82574 NIC in MAC loopback as the DMA engine, by its PCI address"
PIO_TITLE = "Stores into a prefetchable BAR, by its PCI address; for suites of messages"
HERE = Path("/")


class NvmeDevice(Part):
    """How the drive is used."""

    pointers: Literal["prp", "sgl"] = "prp"
    """How commands address memory: page by page, or as one piece."""
    completion: Literal["polled", "interrupt"] = "polled"
    """How the driver sees that a command is done."""
    queue: Literal["host", "cmb"] = "host"
    """Memory of the command queue: the host's, or the drive's controller memory buffer."""
    scratch: str | None = None
    """Blocks that may be written, as LBA+LENGTH, for example 2048+64M. They must read as zeros, and zeros are
    written. None: nothing on the drive is ever written."""
    scratch_serial: str | None = None
    """Serial number of the drive that the scratch range is on: without it, nothing is written."""
    blocks: Literal["deallocated", "written"] | None = None
    """State of the scratch blocks before a test. Most drives read deallocated blocks without their medium. None:
    deallocated if the drive can, and otherwise as they are."""


class RealHostOptions(HostOptions):
    """The host's side of a device behind an IOMMU."""

    iommu_page_bytes: PageBytes = 4096
    """Page size of the device's mappings: 4096, 2M or 1G, at most page_bytes."""

    @model_validator(mode="before")
    @classmethod
    def _iommu_is_on(cls, given: object) -> object:
        """Refuse the simulator's key for the IOMMU: VFIO maps every device through it."""
        if isinstance(given, dict) and any(str(key).partition(".")[0] == "iommu" for key in given):
            raise ValueError(
                "iommu: VFIO maps devices through the IOMMU, so a run without it cannot be measured: vary its "
                "pages with host.iommu_page_bytes"
            )
        return given


class NvmeOptions(Part):
    """Options of `--device nvme:ADDRESS`."""

    device: NvmeDevice = NvmeDevice()
    """The drive's side."""
    host: RealHostOptions = RealHostOptions()
    """The host's side."""


class HostSideOptions(Part):
    """Options of `--device e1000e:ADDRESS` and `--device fpga:ADDRESS`."""

    host: RealHostOptions = RealHostOptions()
    """The host's side."""


class PioDevice(Part):
    """The target of the stores."""

    range: str | None = None
    """Part of a prefetchable BAR, for example BAR2:0+64K; required."""


class PioHost(Part):
    """The core that stores."""

    core: int | None = Field(default=None, ge=0, le=65535)
    """Core that the program is pinned to; none: the first allowed one of the device's NUMA node."""


class PioOptions(Part):
    """Options of `--device pio:ADDRESS`."""

    device: PioDevice = PioDevice()
    """The device's side."""
    host: PioHost = PioHost()
    """The host's side."""


@dataclass(frozen=True)
class Listed:
    """A device that a back end could measure.

    Attributes:
        address: Its PCI address.
        identifiers: Vendor and device, `8086:10d3`.
        kind: The back end.
        driver: The driver that is bound to it; empty for none.
        group: Its IOMMU group.
        node: Its NUMA node.
        missing: What stands in the way, with the remedy; empty for nothing.
    """

    address: str
    identifiers: str
    kind: str
    driver: str
    group: int | None
    node: int | None
    missing: str

    @property
    def title(self) -> str:
        """Its form for `--device`, and facts: `nvme:0000:3b:00.0 (144d:a808, nvme, group 8, node 1)`."""
        group = "no group" if self.group is None else f"group {self.group}"
        node = "" if self.node is None else f", node {self.node}"
        return f"{self.kind}:{self.address} ({self.identifiers}, {self.driver or 'no driver'}, {group}{node})"


def listed(root: Path = HERE) -> list[Listed]:
    """List the devices of this machine that a back end could measure; opens none of them."""
    return [Listed(**row) for row in json.loads(_core.list_devices(root))]


@dataclass(frozen=True)
class Look:
    """One kind of use that `bind` looks for.

    Attributes:
        subject: The kind of use.
        places: The kernel's files that show it.
        holders: What holds the device, with the command that ends it, and what cannot be read; empty for nothing.
    """

    subject: str
    places: str
    holders: tuple[str, ...]


@dataclass(frozen=True)
class Survey:
    """What `bind` looks at before it takes a device.

    Attributes:
        looks: Each kind of use, in the order of the search.
        refusal: Why the device would be refused, with the remedy; None for a device that would be bound.
    """

    looks: tuple[Look, ...]
    refusal: str | None


def survey(address: str, *, unbound: bool = False, root: Path = HERE) -> Survey:
    """Look for everything that holds a device, as `bind` does; changes nothing.

    Only root sees all: what cannot be read counts as in use.

    Args:
        address: Its PCI address.
        unbound: For `pio`.
        root: Folder with `sys`, `proc`, `dev` and `etc`.

    Raises:
        InputError: There is no such device.
    """
    found = json.loads(_core.survey_device(root, address, unbound=unbound))
    looks = (
        Look(
            subject=look["subject"],
            places=look["places"],
            holders=tuple(f"{held['holder']}; {held['remedy']}" for held in look["holders"]),
        )
        for look in found["looks"]
    )
    return Survey(tuple(looks), found["refusal"])


def bind(address: str, *, unbound: bool = False, user: str | None = None, root: Path = HERE) -> None:
    """Bind a device to vfio-pci, so that it can be measured. Needs root.

    It takes only devices that are known to be free: see `survey`.

    Args:
        address: Its PCI address.
        unbound: For `pio`: leave it without a driver instead.
        user: User who may measure the device.
        root: Folder with `sys`, `proc`, `dev` and `etc`.

    Raises:
        InputError: Something stands in the way; the device is unchanged.
    """
    _core.bind_device(root, address, unbound=unbound, user=user)


def release(address: str, *, root: Path = HERE) -> None:
    """Give a device back to the driver that the kernel chooses. Needs root.

    Raises:
        InputError: A process uses it, or the kernel refuses.
    """
    _core.release_device(root, address)


def present_boards() -> list[tuple[str, str]]:
    """One entry for every board: only its registers identify the core, and they are not read here."""
    return [
        ("pcielab-fpga on a board", "give its address, fpga:ADDRESS, once it is bound: `pcielab devices bind`")
    ]


def present(kind: str) -> list[tuple[str, str]]:
    """List the devices that a kind could measure, with what stands in the way of each."""
    if platform.system() != "Linux":
        return [("a device", "devices are reached through VFIO, which needs Linux")]
    found = [(device.title, device.missing) for device in listed() if device.kind == kind]
    return found or [("a device", "this machine has none of this kind: `pcielab doctor` lists its devices")]
