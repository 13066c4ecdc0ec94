"""Protocols of back ends in Python: the traits `Backend`, `Device` and `Host` of Rust.

Classes may inherit from these; methods with a default here are optional.
"""

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pcielab import _core
from pcielab._core import Stop
from pcielab.argument_types import refuses_wrong_types
from pcielab.devices.facts import Condition, DeviceFacts, HostFacts, Remarks
from pcielab.library.suites.benchmark import Parameters

LatencySlice: TypeAlias = tuple[NDArray[np.uint32], float]
"""Latencies in ticks, in order, and the time that all of them took, ns."""
BandwidthSlice: TypeAlias = tuple[int, float]
"""A number of transactions, and the time that they took, ns."""


@refuses_wrong_types
def address_offsets(test: Parameters, seed: int, position: int, first: int, count: int) -> NDArray[np.uint64]:
    """Offsets in the buffer at which the transactions of a test start: the same on every device.

    Args:
        test: The test.
        seed: Seed of the run's random numbers.
        position: Index of the test in its suite, from 0.
        first: The first transaction.
        count: Number of transactions.
    """
    found = _core.address_offsets(json.dumps(asdict(test)), seed, position, first, count)
    return np.frombuffer(found, dtype=np.uint64)


@dataclass(frozen=True)
class Start:
    """The test that comes next, and its index in the run.

    Attributes:
        position: Index in the suite, from 0.
        seed: Seed of the run's random numbers.
        test: The test.
        stop: Set when the run is to end: poll it, or wait on it.
    """

    position: int
    seed: int
    test: Parameters
    stop: Stop

    def offsets(self, first: int, count: int) -> NDArray[np.uint64]:
        """Offsets in the buffer at which the transactions of the test start."""
        return address_offsets(self.test, self.seed, self.position, first, count)


class Device(Protocol):
    """A device that runs the micro-benchmarks.

    It raises `NotSupportedError`, naming the limit, for an unsupported test and `DeviceLostError` when it is gone.
    Any other exception fails the test. A slice takes 100 ms or less, and every wait in it ends by `deadline_ms`.
    """

    def facts(self) -> DeviceFacts:
        """Facts of the device."""

    def begin(self, start: Start) -> None:
        """Announce the next test, before anything is prepared for it."""
        return

    def thrash(self) -> None:
        """Write random lines over the whole host buffer, 128 MiB of them."""
        raise _core.NotSupportedError("device-thrash: this device cannot write the buffer")

    def warm(self, window_bytes: int) -> None:
        """Write the first bytes of the host buffer, twice."""
        raise _core.NotSupportedError("device-warm: this device cannot write the buffer")

    def latency(self, test: Parameters) -> Generator[LatencySlice, None, None]:
        """Yield slices of a latency test until it is complete. Closing the generator stops it."""
        raise _core.NotSupportedError("this device measures no latencies")

    def bandwidth(self, test: Parameters) -> Generator[BandwidthSlice, None, None]:
        """Yield slices of a bandwidth test, likewise."""
        raise _core.NotSupportedError("this device measures no bandwidths")

    def conditions(self) -> Sequence[Condition]:
        """Quantities that change during use, read now."""
        return ()

    def remarks(self) -> Remarks:
        """Remarks on the test that was just done."""
        return Remarks()

    def recover(self) -> None:
        """Recover from a failure, or raise."""
        return

    def close(self) -> None:
        """Release all resources. Called once or more."""
        return


class Host(Protocol):
    """The host that holds the buffer."""

    def facts(self) -> HostFacts:
        """Facts of the host."""

    def begin(self, start: Start) -> None:
        """Announce the next test, before anything is prepared for it."""
        return

    def thrash(self) -> None:
        """Empty the caches of the socket that the program runs on."""

    def warm(self, window_bytes: int) -> None:
        """Write the first bytes of the buffer, in whole pages, four times."""

    def conditions(self) -> Sequence[Condition]:
        """Quantities that change during use, read now."""
        return ()

    def close(self) -> None:
        """Release all resources. Called once or more."""
        return


class Backend(Protocol):
    """Opens a device and its host."""

    kind: str
    """The word that chooses it."""
    origin: str
    """How its numbers come about: measured, simulated, emulated or rtl."""

    def open(self) -> tuple[Device, Host]:
        """Open both, in the thread that uses them, or raise `UnavailableError` and name the obstacle."""

    def options(self) -> Mapping[str, Any]:
        """Its options: part of the manifest and of a run's identity."""
        return {}

    def attachments(self) -> Mapping[str, str]:
        """Texts to keep in the store, by name."""
        return {}
