"""Read a tree from sysfs: of this machine, or of a copy.

It is read-only and wakes nothing: of a function in D3cold only the kernel's files are read. Users other than root
see the first 64 bytes of a configuration space; then the kernel's files are used, and `unseen` lists the gaps.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.config_space import ConfigSpace
from pcielab.doctor.folder import Folder
from pcielab.doctor.host_settings import nodes_of, read_host
from pcielab.doctor.tree import LANES, MOST_FUNCTIONS, SPEEDS, ErrorReporting, Function, LinkEnd, Tree
from pcielab.errors import InputError

_SLOT = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_MOST_COUNTERS = 64
_MOST_INTERRUPTS = 1 << 16
"""Interrupts of the machine whose nodes are looked up."""
_CLASSES = {
    0x01: "Storage controller",
    0x02: "Network controller",
    0x03: "Display controller",
    0x05: "Memory controller",
    0x06: "Bridge",
    0x08: "System peripheral",
    0x0C: "Serial bus controller",
    0x12: "Processing accelerator",
}
_KNOWN_CLASSES = {
    0x0108: "Non-Volatile memory controller",
    0x0200: "Ethernet controller",
    0x0207: "Infiniband controller",
    0x0502: "CXL",
    0x0600: "Host bridge",
    0x0604: "PCI bridge",
}


@refuses_wrong_types
def read_sysfs(root: Path | None = None) -> Tree:
    """The tree of this machine, or of a copy.

    Args:
        root: A folder with `sys` (and `proc`) in it, or a copy of `/sys` itself; None for this machine.

    Raises:
        InputError: It has no PCI functions.
    """
    base, sys = (Path("/"), Path("/sys")) if root is None else _roots(root)
    folder = Folder(base)
    devices = sys / "bus/pci/devices"
    slots = [name for name in folder.names(devices) if _SLOT.fullmatch(name)]
    source = "this machine" if root is None else str(root)
    if not slots:
        raise InputError(_nothing(source, devices, root))
    if len(slots) > MOST_FUNCTIONS:
        raise InputError(f"{source}: {len(slots)} PCI functions: give a machine of {MOST_FUNCTIONS} at most")
    host = read_host(folder, sys)
    reader = _Reader(folder, nodes_of(folder, sys))
    functions = tuple(one for slot in slots if (one := reader.function(slot, devices / slot)) is not None)
    if not functions:
        raise InputError(_nothing(source, devices, root))
    return Tree(source=source, functions=functions, host=host, unseen=tuple(reader.unseen(len(functions))))


def _roots(root: Path) -> tuple[Path, Path]:
    if not root.is_dir():
        raise InputError(f"{root}: not a folder: give a copy of /sys, or a folder that has it as sys/")
    if (root / "bus/pci/devices").is_dir():
        return root, root
    if (root / "sys/bus/pci/devices").is_dir():
        return root, root / "sys"
    raise InputError(
        f"{root}: has no bus/pci/devices, so it is not a copy of /sys: save the tree with `pcielab doctor "
        "--save FILE`, or give the text of `sudo lspci -vvv` with --lspci"
    )


def _nothing(source: str, devices: Path, root: Path | None) -> str:
    if root is None:
        return f"{source}: the kernel shows no PCI function ({devices} is empty or missing)"
    return (
        f"{source}: no function in {devices} leads to a folder inside it: copy with links (cp -a), or use --save"
    )


class _Reader:
    """Reads functions one by one, and notes those that it cannot read fully."""

    def __init__(self, folder: Folder, nodes: Mapping[int, int]) -> None:
        self._folder = folder
        self._nodes = nodes
        self._without_capabilities = 0
        self._asleep: list[str] = []
        self._silent: list[str] = []
        self._interrupts_left = _MOST_INTERRUPTS

    def function(self, slot: str, link: Path) -> Function | None:
        """One function; None if its link leads nowhere."""
        path = self._folder.inside(link)
        if path is None or not path.is_dir():
            return None
        found = self._kernel(path)
        if found.get("power_state") == "D3cold":
            self._asleep.append(slot)
        else:
            with self._folder.opened(f"{path}/config") as read:
                space = ConfigSpace(read)
                if space.is_present:
                    known = {key: value for key, value in space.fields.items() if value is not None}
                    found = _merged(found, known)
                else:
                    found["answers"] = False
                    self._silent.append(slot)
            self._without_capabilities += not space.complete
        return Function.model_construct(slot=slot, title=_title(found), **found)

    def unseen(self, count: int) -> Iterator[str]:
        """Registers and files that could not be read, and how to show them."""
        if self._without_capabilities:
            yield (
                f"the capabilities of {self._without_capabilities} of {count} functions, which the kernel shows "
                f"to root alone: no MPS, MRRS, tags, ordering, ECRC, ACS: run it as root (it only reads)"
            )
        if self._asleep:
            yield f"{', '.join(self._asleep)}: asleep in D3cold, and not woken: use the device and read again"
        if self._silent:
            yield (
                f"{', '.join(self._silent)}: no answer, the configuration space cannot be read: the device "
                "is off, or off the bus: search the kernel's log for its slot"
            )
        if self._folder.outside:
            paths = ", ".join(str(path) for path in self._folder.outside[:3])
            yield (
                f"{paths}{' and more' if len(self._folder.outside) > 3 else ''}: a link that leads out of the "
                "folder, not followed: copy /sys/devices, too, and keep links (cp -a)"
            )

    def _kernel(self, path: Path) -> dict[str, Any]:
        """The values that the kernel shows to every user."""
        text = self._folder.text
        class_code, vendor, device = (_hex(text(f"{path}/{name}")) for name in ("class", "vendor", "device"))
        group = self._folder.inside(path / "iommu_group")
        return {
            "vendor_id": vendor,
            "device_id": device,
            "class_code": None if class_code is None else class_code >> 8,
            "is_virtual_function": (path / "physfn").is_symlink(),
            "driver": self._target(path / "driver"),
            "power_state": _state(text(f"{path}/power_state")),
            "numa_node": _decimal(text(f"{path}/numa_node")),
            "interrupt_nodes": self._interrupt_nodes(path),
            "iommu_group": _decimal(group.name) if group else None,
            "iommu_type": text(group / "type") if group else None,
            "link": self._link(path),
            "errors": self._errors(path),
        }

    def _target(self, link: Path) -> str | None:
        try:
            name = link.readlink().name
        except OSError:
            return None
        return None if name in ("", "..") else name

    def _link(self, path: Path) -> LinkEnd | None:
        text = self._folder.text
        values = {
            "max_speed_gtps": _speed(text(f"{path}/max_link_speed")),
            "max_lanes": _lanes(text(f"{path}/max_link_width")),
            "speed_gtps": _speed(text(f"{path}/current_link_speed")),
            "lanes": _lanes(text(f"{path}/current_link_width")),
        }
        if all(value is None for value in values.values()):
            return None
        states = {name: text(f"{path}/link/{name.lower()}_aspm") for name in ("L0s", "L1")}
        on = tuple(name for name, state in states.items() if state == "1")
        names = on if any(states.values()) else None
        return LinkEnd.model_construct(None, **values, aspm_enabled=names)

    def _errors(self, path: Path) -> ErrorReporting | None:
        correctable, fatal = (
            _counters(self._folder.text(f"{path}/aer_dev_{name}")) for name in ("correctable", "fatal")
        )
        if correctable is None and fatal is None:
            return None
        return ErrorReporting.model_construct(correctable=correctable, fatal=fatal)

    def _interrupt_nodes(self, path: Path) -> tuple[int, ...] | None:
        """The nodes that serve its interrupts; None if /proc was not read."""
        found: set[int] = set()
        for number in self._folder.names(path / "msi_irqs"):
            if not number.isdecimal() or self._interrupts_left == 0:
                continue
            self._interrupts_left -= 1
            served = self._folder.text(self._folder.root / "proc/irq" / number / "effective_affinity_list")
            first = re.match(r"\d{1,5}", served or "")
            node = self._nodes.get(int(first[0])) if first else None
            if node is not None:
                found.add(node)
        return tuple(sorted(found)) or None


def _merged(kernel: dict[str, Any], space: dict[str, Any]) -> dict[str, Any]:
    """Both sources as one: registers override files, except the power state and error counters."""
    merged = kernel | space
    if kernel["power_state"] is not None:
        merged["power_state"] = kernel["power_state"]
    counted, seen = kernel["errors"], space.get("errors")
    if counted is not None and seen is not None:
        merged["errors"] = counted.model_copy(update=seen.model_dump(exclude={"correctable", "fatal"}))
    return merged


def _title(found: Mapping[str, Any]) -> str:
    """Class and IDs, as lspci -nn shows them without its list of names."""
    code = found["class_code"]
    kind = _KNOWN_CLASSES.get(code) or _CLASSES.get((code or 0) >> 8) or "Device"
    vendor, device = found["vendor_id"], found["device_id"]
    ids = "" if vendor is None or device is None else f" [{vendor:04x}:{device:04x}]"
    return f"{kind}: device{ids}"


def _hex(text: str | None) -> int | None:
    return int(text, 16) if text and re.fullmatch(r"0x[0-9a-f]{1,8}", text) else None


def _decimal(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"-?\d{1,9}", text) else None


def _state(text: str | None) -> str | None:
    return text if text in ("D0", "D1", "D2", "D3hot", "D3cold") else None


def _speed(text: str | None) -> float | None:
    found = re.match(r"([\d.]{1,5}) GT/s", text or "")
    speeds = [speed for speed in SPEEDS if found and found[1] in (f"{speed:g}", f"{speed:.1f}")]
    return speeds[0] if speeds else None


def _lanes(text: str | None) -> int | None:
    lanes = _decimal(text)
    return lanes if lanes == 0 or lanes in LANES else None


def _counters(text: str | None) -> dict[str, int] | None:
    if text is None:
        return None
    found = re.finditer(r"^(\w{1,40}) (\d{1,18})$", text, re.MULTILINE)
    return {counter[1]: int(counter[2]) for counter in islice(found, _MOST_COUNTERS)}
