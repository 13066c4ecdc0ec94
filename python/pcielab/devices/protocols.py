"""What a back end that is written in Python has to offer: the traits `Backend`, `Device` and `Host` of Rust.

Classes may inherit from these: what has a default here need not be written.
"""

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pcielab import _core
from pcielab._core import Stop
from pcielab.devices.facts import Condition, DeviceFacts, HostFacts, Remarks
from pcielab.library.suites.benchmark import Parameters

LatencySlice: TypeAlias = tuple[NDArray[np.uint32], float]
"""Some latencies in ticks, in order, and the time that they took altogether, ns."""
BandwidthSlice: TypeAlias = tuple[int, float]
"""So many transactions, and the time that they took, ns."""


def address_offsets(test: Parameters, seed: int, position: int, first: int, count: int) -> NDArray[np.uint64]:
    """Where in the buffer the transactions of a test start: the same on every device.

    Args:
        test: The test.
        seed: Seed of the run's random numbers.
        position: Place of the test in its suite, from 0.
        first: The first transaction.
        count: How many of them.
    """
    found = _core.address_offsets(json.dumps(asdict(test)), seed, position, first, count)
    return np.frombuffer(found, dtype=np.uint64)


@dataclass(frozen=True)
class Start:
    """Where in a run a test stands.

    Attributes:
        position: Place in the suite, from 0.
        seed: Seed of the run's random numbers.
        test: The test.
        stop: Asked for when the run is to end: to look at, or to wait with.
    """

    position: int
    seed: int
    test: Parameters
    stop: Stop

    def offsets(self, first: int, count: int) -> NDArray[np.uint64]:
        """Where the transactions of the test start."""
        return address_offsets(self.test, self.seed, self.position, first, count)


class Device(Protocol):
    """A card that can run the micro-benchmarks.

    What it lacks it refuses with `NotSupportedError`, naming the limit; when it is gone it raises
    `DeviceLostError`; any other exception is a failure of the test. A slice takes 100 ms or less, and every wait
    in it ends by the deadline of the facts.
    """

    def facts(self) -> DeviceFacts:
        """What it is."""
        ...

    def begin(self, start: Start) -> None:
        """Says which test comes next, before anything is prepared for it."""
        return

    def thrash(self) -> None:
        """Writes random lines over the whole host buffer, 128 MiB of them."""
        raise _core.NotSupportedError("device-thrash: this device cannot write the buffer")

    def warm(self, window_bytes: int) -> None:
        """Writes the first bytes of the host buffer, twice."""
        raise _core.NotSupportedError("device-warm: this device cannot write the buffer")

    def latency(self, test: Parameters) -> Generator[LatencySlice, None, None]:
        """Slices of a latency test until it is complete. That the generator is closed is the stop."""
        raise _core.NotSupportedError("this device measures no latencies")

    def bandwidth(self, test: Parameters) -> Generator[BandwidthSlice, None, None]:
        """Slices of a bandwidth test, likewise."""
        raise _core.NotSupportedError("this device measures no bandwidths")

    def conditions(self) -> Sequence[Condition]:
        """What changes about it, read now."""
        return ()

    def remarks(self) -> Remarks:
        """What is to be said of the test that was just done."""
        return Remarks()

    def recover(self) -> None:
        """Comes back after a failure, or raises."""
        return

    def close(self) -> None:
        """Gives back what it holds. Called once or more."""
        return


class Host(Protocol):
    """The host that holds the buffer."""

    def facts(self) -> HostFacts:
        """What it is."""
        ...

    def begin(self, start: Start) -> None:
        """Says which test comes next, before anything is prepared for it."""
        return

    def thrash(self) -> None:
        """Empties the caches of the socket that the program runs on."""
        ...

    def warm(self, window_bytes: int) -> None:
        """Writes the first bytes of the buffer, in whole pages, four times."""
        ...

    def conditions(self) -> Sequence[Condition]:
        """What changes about it, read now."""
        return ()

    def close(self) -> None:
        """Gives back what it holds. Called once or more."""
        return


class Backend(Protocol):
    """What opens a device and its host."""

    kind: str
    """The word that it is chosen by."""
    origin: str
    """Where its numbers come from: measured, simulated, emulated or rtl."""

    def open(self) -> tuple[Device, Host]:
        """Opens both, in the thread that uses them, or raises `UnavailableError`, saying what is missing."""
        ...

    def options(self) -> Mapping[str, Any]:
        """How it was asked to work: part of what a run is, and of the manifest."""
        return {}

    def attachments(self) -> Mapping[str, str]:
        """Texts that a reader of the store should have, by name."""
        return {}
