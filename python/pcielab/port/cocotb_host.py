"""A simulated host for cocotbext-pcie's root complex: its memory answers when a calibrated host would.

    from pcielab import load_system
    from pcielab.port.cocotb_host import Host

    root = RootComplex()
    root.make_port().connect(device)
    await root.enumerate()
    Host(root, device, load_system("hsw2620"))

From then on reads and writes of the device take the time of the system's link, root complex, IOMMU and caches;
completions are cut and ordered as that host does. The link of cocotbext-pcie takes no time of its own.
Configuration and accesses of the host to registers stay cocotbext-pcie's. Needs `pcielab[cocotb]`.
"""

from collections import deque
from typing import TYPE_CHECKING, Any

from pcielab import _core
from pcielab.extras import needed
from pcielab.library.suites.parameters import Cache

if TYPE_CHECKING:
    from pcielab.library.profiles import ResolvedSystem

_cocotb = needed("cocotb", "cocotb")
_triggers = needed("cocotb.triggers", "cocotb")
_utils = needed("cocotb.utils", "cocotb")
_tlp = needed("cocotbext.pcie.core.tlp", "cocotb")
_NOBODY = needed("cocotbext.pcie.core.utils", "cocotb").PcieId(0, 0, 0)

_READS = (_tlp.TlpType.MEM_READ, _tlp.TlpType.MEM_READ_64)
_WRITES = (_tlp.TlpType.MEM_WRITE, _tlp.TlpType.MEM_WRITE_64)


class Host:
    """The memory side of a root complex, with one device below it.

    Addresses of the simulation wrap around the simulated host buffer, for timing only. A TLP that finds no credits
    waits, and those behind it wait with it.
    """

    def __init__(
        self,
        root: Any,
        device: Any,
        system: "ResolvedSystem",
        *,
        cache: Cache = "cold",
        window_bytes: int = 0,
        seed: int = 1,
    ) -> None:
        """Take over memory requests of an enumerated device.

        Args:
            root: The `RootComplex`.
            device: The `Device` below it, for example a model of a hard block.
            system: The host and its link.
            cache: State of the caches.
            window_bytes: Bytes that are warm, from address 0 of the buffer.
            seed: Seed of the host's draws.

        Raises:
            InputError: The system cannot be simulated.
        """
        self._root = root
        self._port = _core.HostPort(system.handle, cache, window_bytes, seed)
        self._start_ps = _now_ps()
        self._waiting: deque[Any] = deque()
        self._reads: dict[int, Any] = {}
        self._writes: deque[tuple[int, Any]] = deque()
        self._arrived = _triggers.Event()
        for link in (device.upstream_port, device.upstream_port.other):
            link.symbol_period, link.link_delay_steps, link.max_latency_timer_steps = 0, 0, 1
        for kind in (*_READS, *_WRITES):
            root.register_rx_tlp_handler(kind, self._take)
        _cocotb.start_soon(self._run())

    async def _take(self, tlp: Any) -> None:
        # The credits of the simulated host count, not those of cocotbext-pcie.
        tlp.release_fc()
        self._waiting.append(tlp)
        self._arrived.set()

    async def _run(self) -> None:
        while True:
            now = _now_ps() - self._start_ps
            self._port.advance(now)
            await self._finish_writes(now)
            while (event := self._port.take()) is not None:
                if event[0] == "completion":
                    await self._complete(*event[2:])
            while self._waiting and self._submit(self._waiting[0], now):
                self._waiting.popleft()
            self._arrived.clear()
            times = [self._writes[0][0]] if self._writes else []
            times += [self._port.next_ps] if self._port.next_ps is not None else []
            if times:
                step = _triggers.Timer(max(min(times) - now, 1), "ps")
                await _triggers.First(self._arrived.wait(), step)
            else:
                await self._arrived.wait()

    def _submit(self, tlp: Any, now: int) -> bool:
        """Submit a TLP, if tag and credits are free."""
        write = tlp.fmt_type in _WRITES
        lead = tlp.get_first_be_offset()
        address = self._port.address((tlp.address + lead) % self._port.buffer_bytes)
        assert address is not None, "an offset within the buffer has an address"
        parts = ("write" if write else "read", int(tlp.tag), address, int(tlp.get_be_byte_count()))
        if not self._port.has_room(*parts):
            return False
        _, arrived, _ = self._port.submit(*parts, now)
        if write:
            self._writes.append((arrived, tlp))
        else:
            self._reads[tlp.tag] = tlp
        return True

    async def _finish_writes(self, now: int) -> None:
        """Write what has arrived: writes pass in order."""
        while self._writes and self._writes[0][0] <= now:
            await self._root.handle_mem_write_tlp(self._writes.popleft()[1])

    async def _complete(self, tag: int, _bus: int, length: int, byte_count: int, last: bool) -> None:
        """Send a completion with the bytes that memory has now."""
        request = self._reads.pop(tag) if last else self._reads[tag]
        first = request.address + request.get_first_be_offset()
        address = first + request.get_be_byte_count() - byte_count
        start, end = address & ~3, -(-(address + length) // 4) * 4
        completion = _tlp.Tlp.create_completion_data_for_tlp(request, _NOBODY)
        completion.byte_count = byte_count
        completion.lower_address = address & 0x7F
        completion.set_data(await self._root.mem_address_space.read(start, end - start))
        await self._root.send(completion)


def _now_ps() -> int:
    return int(_utils.get_sim_time("ps"))
