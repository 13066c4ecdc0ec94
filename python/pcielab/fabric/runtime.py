"""The primitives of the rPCIeBench paper (its table 1) for programs on a simulated fabric, every request traced.

    runtime = fabric.Runtime(fabric.load("fabrex-u55c"))
    runtime.device_init("A")
    runtime.memory_init("A", "hbm")
    source = runtime.host_memory_alloc("host1", 4096)
    target = runtime.memory_alloc("A", "hbm", 4096)
    queue = runtime.add_queue("host1", outstanding=8)
    for _ in range(100):
        runtime.h2d(queue, "A", source, target, 4096)
    runtime.run()
    runtime.trace().summary()

Time passes in `run` and `run_until` only. `crates/pcie-fabric/src/runtime.rs` lists the paper's names of table 1
beside these.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, get_args

import numpy as np
import pandas as pd

from pcielab import _core
from pcielab.fabric.simulation import requests_of
from pcielab.fabric.trace import Trace
from pcielab.library.fabrics.load import Fabric
from pcielab.library.fabrics.parts import Discipline

DeviceKind: TypeAlias = Literal["simulated", "rtl"]
PolicyName: TypeAlias = Literal["fifo", "round-robin", "shortest-first"]
POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)
Transfer: TypeAlias = tuple[int, int, int]
"""One part of a batch: two addresses and the size in bytes, in the order of the single form's arguments."""


class Waiting(Protocol):
    """The first request of a queue that may send."""

    @property
    def queue(self) -> int:
        """Its queue."""

    @property
    def host(self) -> str:
        """The host of the queue."""

    @property
    def device(self) -> str:
        """The device that executes it; for MMIO, the device that is read or written."""

    @property
    def primitive(self) -> str:
        """Its primitive, as in flows: `h2d`, `d2h`, `d2d-read`, `d2d-write`, `mmio-read`, `mmio-write`."""

    @property
    def size_bytes(self) -> int:
        """Size of its payload."""

    @property
    def submitted_ns(self) -> float:
        """When it was submitted."""

    @property
    def age_ns(self) -> float:
        """Time since its submission."""

    @property
    def in_flight(self) -> int:
        """Requests of its queue in flight."""


@dataclass(frozen=True)
class Hold:
    """Returned by a policy to hold all requests for some time."""

    for_ns: float
    """Time until the policy is asked again, above 0; sooner if a request of the host is submitted or done."""


class Policy(Protocol):
    """Chooses the next request to leave a host, or holds all back."""

    def choose(self, waiting: Sequence[Waiting]) -> int | Hold | None:
        """The index of one of `waiting`: not empty, of one host, in the order of queues.

        None holds them all back until another request of the host is submitted or done.
        """


class Runtime:
    """The host side of the paper's framework, on a simulated fabric.

    Every method raises InputError for wrong arguments; the message names the device, region, queue or address, and
    the remedy.
    """

    def __init__(
        self,
        fabric: Fabric,
        *,
        policy: PolicyName | Policy = "fifo",
        outstanding: int = 64,
        discipline: Discipline = "per-destination",
        devices: DeviceKind = "simulated",
        program: Path | None = None,
    ) -> None:
        """A runtime without initialised devices.

        Args:
            fabric: The fabric.
            policy: Chooses the next request to leave a host: a name, or an object with a method `choose`, which
                all hosts share.
            outstanding: Requests that the queues of each host together may have in flight.
            discipline: Unit that has its own credits at every port of the fabric.
            devices: `rtl`: every device is the FPGA core, simulated from its RTL. It executes `h2d`, `d2h`,
                `dev2dev_read` and `dev2dev_write`, and answers `mmio_read`; links have unlimited credits.
            program: `pcielab-rtl`, for `rtl`; None: that of the variable PCIELAB_RTL, or of `make rtl`,
                below the current folder.
        """
        self._fabric, self._discipline = fabric, discipline
        self._core = _core.FabricRuntime(
            fabric.handle, discipline, policy, outstanding, devices, program or os.environ.get("PCIELAB_RTL")
        )

    def device_init(self, device: str) -> None:
        """Initialise a device and map its BARs at the fabric's addresses."""
        self._core.device_init(device)

    def map_bar(self, device: str, region: str, address: int, size_bytes: int) -> None:
        """Map a region of an initialised device at other bus addresses; before `memory_init`."""
        self._core.map_bar(device, region, address, size_bytes)

    def memory_init(self, device: str, region: str) -> None:
        """Make the memory manager of a region: of the part that its BAR maps, or of all of it without a BAR."""
        self._core.memory_init(device, region)

    def setup_mapping(self, device: str, region: str, host: str, host_address: int) -> None:
        """Map the BAR of a region into a host's addresses: for MMIO, and as the other end of D2D transfers."""
        self._core.setup_mapping(device, region, host, host_address)

    def memory_alloc(self, device: str, region: str, size_bytes: int) -> int:
        """Allocate memory of a device and return its bus address."""
        return self._core.memory_alloc(device, region, size_bytes)

    def memory_free(self, device: str, device_address: int) -> None:
        """Free memory of a device."""
        self._core.memory_free(device, device_address)

    def memory_address(self, device: str, device_address: int, host: str) -> int:
        """The address at which a host sees mapped memory of a device."""
        return self._core.memory_address(device, device_address, host)

    def device_address(self, device: str, host_address: int, host: str) -> int:
        """The bus address of device memory that a host sees at one of its addresses."""
        return self._core.device_address(device, host_address, host)

    def write_bytes(self, node: str, address: int, content: bytes) -> None:
        """Write allocated memory of a host, or of a device at a bus address, in zero simulated time."""
        self._core.write_bytes(node, address, content)

    def read_bytes(self, node: str, address: int, size_bytes: int) -> bytes:
        """Read allocated memory of a host or device as it is now: transfers deliver their bytes TLP by TLP."""
        return self._core.read_bytes(node, address, size_bytes)

    def host_memory_alloc(self, host: str, size_bytes: int) -> int:
        """Allocate memory of a host, in huge pages, and return its address."""
        return self._core.host_memory_alloc(host, size_bytes)

    def host_memory_free(self, host: str, host_address: int) -> None:
        """Free memory of a host."""
        self._core.host_memory_free(host, host_address)

    def add_queue(self, host: str, *, socket: int = 0, outstanding: int = 1) -> int:
        """Make a queue at a socket of a host with its own limit on requests in flight; return its number."""
        return self._core.add_queue(host, socket, outstanding)

    def mmio_read(self, queue: int, device: str, host_address: int, device_address: int, size_bytes: int) -> int:
        """Read by the processor, one cache line at a time; return the request's number, as all primitives do."""
        return self.mmio_read_batch(queue, device, [(host_address, device_address, size_bytes)])

    def mmio_read_batch(self, queue: int, device: str, transfers: Iterable[Transfer]) -> int:
        """Several reads one after another, as one request."""
        return self._submit("mmio-read", queue, device, _device_first(transfers))

    def mmio_write(self, queue: int, device: str, host_address: int, device_address: int, size_bytes: int) -> int:
        """Write by the processor."""
        return self.mmio_write_batch(queue, device, [(host_address, device_address, size_bytes)])

    def mmio_write_batch(self, queue: int, device: str, transfers: Iterable[Transfer]) -> int:
        """Several writes as one request."""
        return self._submit("mmio-write", queue, device, _device_first(transfers))

    def h2d(self, queue: int, device: str, host_address: int, device_address: int, size_bytes: int) -> int:
        """Move data from the host to a device by its DMA engine."""
        return self.h2d_batch(queue, device, [(host_address, device_address, size_bytes)])

    def h2d_batch(self, queue: int, device: str, transfers: Iterable[Transfer]) -> int:
        """A scatter-gather list by one command with one completion."""
        return self._submit("h2d", queue, device, _device_first(transfers))

    def d2h(self, queue: int, device: str, host_address: int, device_address: int, size_bytes: int) -> int:
        """Move data from a device to the host by its DMA engine."""
        return self.d2h_batch(queue, device, [(host_address, device_address, size_bytes)])

    def d2h_batch(self, queue: int, device: str, transfers: Iterable[Transfer]) -> int:
        """A scatter-gather list by one command with one completion."""
        return self._submit("d2h", queue, device, _device_first(transfers))

    def dev2dev_read(
        self, queue: int, device: str, device_address: int, other_address: int, size_bytes: int
    ) -> int:
        """The engine of `device` reads from another device, whose memory is mapped at the queue's host."""
        return self.dev2dev_read_batch(queue, device, [(device_address, other_address, size_bytes)])

    def dev2dev_read_batch(self, queue: int, device: str, transfers: Iterable[Transfer]) -> int:
        """A scatter-gather list by one command with one completion."""
        return self._submit("d2d-read", queue, device, transfers)

    def dev2dev_write(
        self, queue: int, device: str, device_address: int, other_address: int, size_bytes: int
    ) -> int:
        """The engine of `device` writes to another device, whose memory is mapped at the queue's host."""
        return self.dev2dev_write_batch(queue, device, [(device_address, other_address, size_bytes)])

    def dev2dev_write_batch(self, queue: int, device: str, transfers: Iterable[Transfer]) -> int:
        """A scatter-gather list by one command with one completion."""
        return self._submit("d2d-write", queue, device, transfers)

    def _submit(self, primitive: str, queue: int, device: str, transfers: Iterable[Transfer]) -> int:
        return self._core.submit(primitive, queue, device, list(transfers))

    def run(self) -> None:
        """Advance time until every request is done."""
        self._core.run()

    def run_until(self, end_ns: float) -> None:
        """Advance time to `end_ns` after the start."""
        self._core.run_until(end_ns)

    @property
    def now_ns(self) -> float:
        """Time since the start."""
        return self._core.now_ns

    @property
    def unfinished(self) -> int:
        """Requests that are not done."""
        return self._core.unfinished

    def trace(self) -> Trace:
        """The requests that are done so far."""
        found = self._core.trace()
        who = pd.DataFrame(
            {
                "request": np.frombuffer(found.request, dtype=np.uint64),
                "primitive": found.primitive,
                "queue": np.frombuffer(found.queue, dtype=np.uint32),
                "host_name": found.host,
                "device_name": found.device,
                "peer_name": pd.Series(found.peer, dtype=object),
                "size_bytes": np.frombuffer(found.size_bytes, dtype=np.uint64),
            }
        )
        return Trace(pd.concat([who, requests_of(found.times)], axis=1), self._fabric, self._discipline)


def _device_first(transfers: Iterable[Transfer]) -> Iterator[Transfer]:
    return ((device, host, size) for host, device, size in transfers)
