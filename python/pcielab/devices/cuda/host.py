"""The host's side: this machine's buffer, mapped for the GPU and filled with the check pattern."""

import os
import resource
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pcielab import _core
from pcielab.devices.cpu import HostOptions
from pcielab.devices.cuda import pattern
from pcielab.devices.cuda.link import PciFacts
from pcielab.devices.facts import HostFacts
from pcielab.devices.host import RealHost

_SYSTEM = Path("/sys/devices/system")


class CudaHost(RealHost):
    """This machine, as the host of a GPU.

    Attributes:
        words: The buffer as words of 4 bytes.
    """

    words: NDArray[np.uint32]

    def __init__(self, options: HostOptions, pci: PciFacts) -> None:
        """Allocate the buffer and fill it."""
        super().__init__(options, pci.node)
        self._page_bytes, self._pci = options.page_bytes, pci
        self.words = self.buffer.view(np.uint32)
        pattern.fill(self.words)

    def facts(self) -> HostFacts:
        """Facts of this machine, with the GPU's socket and IOMMU mode."""
        known = super().facts()
        socket = None if self._pci.node is None else _socket_of(self._pci.node)
        return replace(known, device_socket=socket, iommu=self._pci.iommu)

    def warm(self, window_bytes: int) -> None:
        """Write the first bytes of the buffer, in whole pages, four times, without changing them."""
        for _ in range(4):
            self.restore(window_bytes)

    def restore(self, window_bytes: int) -> None:
        """Fill the first bytes of the buffer, in whole pages, with the pattern again."""
        whole = -(-window_bytes // self._page_bytes) * self._page_bytes
        if whole > self.buffer.size:
            raise _core.NotSupportedError(
                f"window_bytes is {window_bytes}: the buffer has {self.buffer.size} bytes (host.buffer_bytes)"
            )
        pattern.fill(self.words[: whole // pattern.WORD_BYTES])


def _socket_of(node: int) -> int | None:
    """Socket of a NUMA node, from the first processor on it."""
    try:
        processors = (_SYSTEM / f"node/node{node}/cpulist").read_text().strip()
        first = int(processors.replace(",", "-").split("-")[0])
        return int((_SYSTEM / f"cpu/cpu{first}/topology/physical_package_id").read_text())
    except (OSError, ValueError):
        return None


def why_not_registered(reason: str, options: HostOptions) -> str:
    """Explain why the driver may have refused to register the buffer, with the limits in force."""
    return (
        f"the CUDA driver refused to register the buffer: {reason}: {options.buffer_bytes} bytes in pages of "
        f"{options.page_bytes} (host.buffer_bytes, host.page_bytes); {', '.join(_limits())}"
    )


def _limits() -> Sequence[str]:
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    locked = "none" if soft == resource.RLIM_INFINITY else f"{soft} bytes"
    found = [f"limit on locked memory (ulimit -l): {locked}"]
    try:
        most = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        found.append(f"memory limit of the container (cgroup): {most}")
    except OSError:
        found.append("memory limit of the container: unknown")
    if not os.access("/dev/nvidia-uvm", os.R_OK | os.W_OK):
        found.append("/dev/nvidia-uvm cannot be opened: pass it into the container")
    return found
