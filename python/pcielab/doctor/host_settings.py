"""Settings of the machine as a whole, from the kernel: nodes, IOMMU, power, hypervisor."""

import re
from pathlib import Path
from typing import Literal

from pcielab.doctor.folder import Folder
from pcielab.doctor.tree import Host

_PARAMETERS = re.compile(
    r"(?:^|\s)((?:iommu(?:\.\w+)?|intel_iommu|amd_iommu|arm-smmu[\w.-]*|pci|pcie_aspm(?:\.\w+)?|pcie_ports|"
    r"intel_idle\.\w+|processor\.max_cstate|idle|mitigations))(?:=(\S*))?"
)
_HYPERVISORS = ("QEMU", "KVM", "VMware", "VirtualBox", "Virtual Machine", "Firecracker", "Amazon EC2", "Google")
_MOST_PROCESSORS = 1 << 13
_MOST_NODES = 1 << 10
_CPUINFO_BYTES = 1 << 16


def read_host(folder: Folder, sys: Path) -> Host:
    """The settings of the machine.

    Args:
        folder: The folder to read.
        sys: Path of `/sys` in it.
    """
    nodes = sys / "devices/system/node"
    proc = folder.root / "proc"
    command_line = _command_line(folder.text(proc / "cmdline"))
    units = folder.names(sys / "class/iommu") if (sys / "class/iommu").is_dir() else None
    idle, exit_us = _deepest_idle(folder, sys / "devices/system/cpu/cpu0/cpuidle")
    return Host(
        nodes=_listed(folder.text(nodes / "has_cpu")),
        memory_nodes=_listed(folder.text(nodes / "has_memory")),
        node_sockets=_sockets(folder, sys) or None,
        command_line=command_line,
        iommu_units=None if units is None else len(units),
        iommu_pages=_pages(command_line) if units else None,
        aspm_policy=_chosen(folder.text(sys / "module/pcie_aspm/parameters/policy")),
        governor=folder.text(sys / "devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        deepest_idle=idle,
        deepest_idle_exit_us=exit_us,
        hypervisor=_hypervisor(folder, sys, proc),
    )


def nodes_of(folder: Folder, sys: Path) -> dict[int, int]:
    """The NUMA node of each processor."""
    found: dict[int, int] = {}
    nodes = sys / "devices/system/node"
    names = [name for name in folder.names(nodes) if re.fullmatch(r"node\d{1,4}", name)]
    for name in names[:_MOST_NODES]:
        for processor in _listed(folder.text(nodes / name / "cpulist")) or ():
            found[processor] = int(name.removeprefix("node"))
    return found


def _sockets(folder: Folder, sys: Path) -> dict[int, int]:
    """The socket of each NUMA node, from its first processor."""
    found: dict[int, int] = {}
    for processor, node in sorted(nodes_of(folder, sys).items()):
        if node in found:
            continue
        package = folder.text(sys / f"devices/system/cpu/cpu{processor}/topology/physical_package_id")
        if package is not None and re.fullmatch(r"\d{1,5}", package):
            found[node] = int(package)
    return found


def _command_line(text: str | None) -> dict[str, str] | None:
    """The kernel's parameters about PCI, IOMMU and power; others may be private."""
    return None if text is None else dict(_PARAMETERS.findall(text))


def _pages(command_line: dict[str, str] | None) -> Literal["super-pages", "four-kib-pages"] | None:
    options = (command_line or {}).get("intel_iommu", "").split(",")
    return "four-kib-pages" if "sp_off" in options else None


def _listed(text: str | None) -> tuple[int, ...] | None:
    """Numbers of a list in the kernel's notation, in ascending order: `0-3,8`."""
    if text is None:
        return None
    found: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", part.strip())
        # The kernel's numbers ascend: ignore a part that does not.
        if ends and (not found or int(ends[1]) > found[-1]):
            found += range(int(ends[1]), int(ends[2] or ends[1]) + 1)
    return tuple(found[:_MOST_PROCESSORS])


def _chosen(text: str | None) -> str | None:
    found = re.search(r"\[(\w+)\]", text or "")
    return found[1] if found else None


def _deepest_idle(folder: Folder, states: Path) -> tuple[str | None, float | None]:
    deepest: tuple[str | None, float | None] = (None, None)
    for name in folder.names(states):
        latency, state = folder.text(states / name / "latency"), folder.text(states / name / "name")
        if not latency or not re.fullmatch(r"\d{1,9}", latency) or folder.text(states / name / "disable") == "1":
            continue
        if deepest[1] is None or int(latency) > deepest[1]:
            deepest = (state, float(latency))
    return deepest


def _hypervisor(folder: Folder, sys: Path, proc: Path) -> str | None:
    kind = folder.text(sys / "hypervisor/type")
    if kind:
        return kind
    for name in ("product_name", "sys_vendor"):
        shown = folder.text(sys / "class/dmi/id" / name) or ""
        known = next((one for one in _HYPERVISORS if one.lower() in shown.lower()), None)
        if known:
            return known
    flags = re.search(
        r"^flags\s*:.*\bhypervisor\b", folder.text(proc / "cpuinfo", _CPUINFO_BYTES) or "", re.MULTILINE
    )
    return "hypervisor" if flags else None
