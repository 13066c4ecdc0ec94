"""The real host for back ends in Python: a buffer in this machine's memory, as an array, and its caches."""

import ctypes
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcielab import _core
from pcielab.devices.cpu import HostOptions
from pcielab.devices.facts import Condition, HostFacts
from pcielab.devices.protocols import Host, Start


class RealHost(Host):
    """This machine as a host. Open it in the thread that uses it: it pins that thread to a core.

    Attributes:
        buffer: The buffer, one array of bytes; it stays mapped while the array is in use.
        address: Address of its first byte in this process, as devices use it.
    """

    buffer: NDArray[np.uint8]
    address: int

    def __init__(self, options: HostOptions | None = None, device_node: int | None = None) -> None:
        """Allocate the buffer; raises `UnavailableError` if this machine lacks something that the options need.

        Without a core in the options, the thread is pinned to one of the device's NUMA node, `device_node`.
        """
        self._host = _core.RealHost((options or HostOptions()).model_dump_json(), device_node)
        self.address = self._host.address
        memory: Any = (ctypes.c_uint8 * self._host.buffer_bytes).from_address(self.address)
        memory.owner = self._host
        self.buffer = np.frombuffer(memory, dtype=np.uint8)
        self._host.begin(self._host.buffer_bytes, _core.Stop())

    def facts(self) -> HostFacts:
        """Facts of this machine."""
        known = json.loads(self._host.facts())
        known["caches"] = tuple(known["caches"])
        if known["prefetchers_off"] is not None:
            known["prefetchers_off"] = tuple(known["prefetchers_off"])
        return HostFacts(**known)

    def begin(self, start: Start) -> None:
        """Note the window, whose lines a flush addresses, and the stop of the test."""
        self._host.begin(start.test.window_bytes, start.stop)

    def thrash(self) -> None:
        """Make the caches cold, as the options say."""
        self._host.thrash()

    def warm(self, window_bytes: int) -> None:
        """Write the first bytes of the buffer, in whole pages, four times."""
        self._host.warm(window_bytes)

    def lock(self) -> None:
        """Pin every page for devices; raises `UnavailableError` if the limit on locked memory is too small."""
        self._host.lock()

    def conditions(self) -> list[Condition]:
        """Load, clock, temperature and the share of lines that the last thrash left cold, read now."""
        return [Condition(**condition) for condition in json.loads(self._host.conditions())]
