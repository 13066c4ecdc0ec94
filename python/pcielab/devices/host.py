"""The real host for back ends in Python: a buffer of this machine's memory as an array, and its caches."""

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
    """This machine, to be opened in the thread that uses it, which it pins to a core.

    Attributes:
        buffer: The buffer, one array of bytes; it stays mapped for as long as the array is used.
        address: Address of its first byte in this process, as devices are told it.
    """

    buffer: NDArray[np.uint8]
    address: int

    def __init__(self, options: HostOptions | None = None) -> None:
        """Allocate the buffer; raises `UnavailableError` where something of the options is not there."""
        self._host = _core.RealHost((options or HostOptions()).model_dump_json())
        self.address = self._host.address
        memory: Any = (ctypes.c_uint8 * self._host.buffer_bytes).from_address(self.address)
        memory.owner = self._host
        self.buffer = np.frombuffer(memory, dtype=np.uint8)
        self._host.begin(self._host.buffer_bytes, _core.Stop())

    def facts(self) -> HostFacts:
        """What it is."""
        known = json.loads(self._host.facts())
        known["caches"] = tuple(known["caches"])
        return HostFacts(**known)

    def begin(self, start: Start) -> None:
        """Notes the window, whose lines are what a flush is for, and what would end the test."""
        self._host.begin(start.test.window_bytes, start.stop)

    def thrash(self) -> None:
        """Makes the caches cold, as the options say."""
        self._host.thrash()

    def warm(self, window_bytes: int) -> None:
        """Writes the first bytes of the buffer, in whole pages, four times."""
        self._host.warm(window_bytes)

    def lock(self) -> None:
        """Keeps every page where it is, as devices need it; `UnavailableError` where the limit is too small."""
        self._host.lock()

    def conditions(self) -> list[Condition]:
        """What changes about it, read now."""
        return [Condition(**condition) for condition in json.loads(self._host.conditions())]
