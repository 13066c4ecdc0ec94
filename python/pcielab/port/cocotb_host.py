"""A simulated host for cocotbext-pcie's root complex: its memory answers when a calibrated host would.

    from pcielab import load_system
    from pcielab.port.cocotb_host import Host, enumerate_devices

    system = load_system("hsw2620")
    root = RootComplex()
    root.make_port().connect(device)
    await enumerate_devices(root, device, system)
    Host(root, device, system)

From then on reads and writes of the device take the time of the system's link, root complex, IOMMU and caches;
completions are cut and ordered as that host does. The device has the credits that the host advertises, and its
transmitter is busy while the simulated link carries its TLPs. The link of cocotbext-pcie takes no time of its own.
Reads fail where a test says so. Configuration and accesses of the host to registers stay cocotbext-pcie's.
Needs `pcielab[cocotb]`.
"""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
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
_STATUS = {"unsupported": _tlp.CplStatus.UR, "aborted": _tlp.CplStatus.CA}
_MOST_HEADERS, _MOST_DATA = (1 << 11) - 1, (1 << 15) - 1
"""The most that counters of 12 and 16 bits can advertise (PCI Express Base Specification, section 2.6.1)."""


async def enumerate_devices(root: Any, device: Any, system: "ResolvedSystem") -> None:
    """Enumerate, with MPS and MRRS as the system's link has them, and let the device be a bus master.

    `RootComplex.enumerate` alone leaves MPS at 128 B and MRRS at 512 B.

    Args:
        root: The `RootComplex`.
        device: The `Device` below it.
        system: The host and its link.
    """
    link = system.system.link
    root.max_payload_size = _code(link.mps_bytes)
    await root.enumerate()
    function = root.find_device(device.functions[0].pcie_id)
    await function.set_readrq(_code(link.mrrs_bytes))
    await function.set_master()


class Host:
    """The memory side of a root complex, with one device below it.

    Addresses of the simulation wrap around the simulated host buffer, for timing only. A TLP without credits stays
    in the device, and so does one for which the simulated link has no time: of those that the device has handed
    over, one is on the link and one waits for it.
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
        outcome: Callable[[Any], str] = lambda _read: "data",
    ) -> None:
        """Take over memory requests of an enumerated device.

        Args:
            root: The `RootComplex`.
            device: The `Device` below it, for example a model of a hard block.
            system: The host and its link. What limits the system's own device does not limit this one.
            cache: State of the caches.
            window_bytes: Bytes that are warm, from address 0 of the buffer.
            seed: Seed of the host's draws.
            outcome: Called with each read, and says what becomes of it: `data`; `poisoned`, data with the EP bit;
                `unsupported` or `aborted`, a completion with the status UR or CA; `lost`, nothing.

        Raises:
            InputError: The system cannot be simulated.
        """
        self._root, self._outcome = root, outcome
        self._port = _core.HostPort(system.handle, cache, window_bytes, seed)
        self._start_ps = _now_ps()
        self._waiting: deque[Any] = deque()
        self._reads: dict[int, Any] = {}
        self._lost: set[int] = set()
        self._writes: list[tuple[int, int, Any]] = []
        self._credits: list[tuple[int, int, Any]] = []
        self._numbers = count()
        self._changed = _triggers.Event()
        self._submitted = _triggers.Event()
        self._on_link_ps = 0
        self._take_link(device.upstream_port)
        for kind in (*_READS, *_WRITES):
            root.register_rx_tlp_handler(kind, self._take)
        _cocotb.start_soon(self._run())

    @property
    def waiting(self) -> int:
        """TLPs that have arrived at the root port and that the simulated link has not taken."""
        return len(self._waiting)

    def _take_link(self, port: Any) -> None:
        """Give the device's port the credits and the time of the simulated link."""
        receiver = port.other
        for link in (port, receiver):
            link.symbol_period, link.link_delay_steps, link.max_latency_timer_steps = 0, 0, 1
        sender, self._flow = port.fc_state[0], receiver.fc_state[0]
        headers, data, reads = self._port.credits
        _advertise(sender.ph, self._flow.ph, min(headers, _MOST_HEADERS))
        _advertise(sender.pd, self._flow.pd, min(data, _MOST_DATA))
        _advertise(sender.nph, self._flow.nph, min(reads, _MOST_HEADERS))
        self._receive, self._flow.rx_process_tlp_fc = self._flow.rx_process_tlp_fc, self._receive_tlp
        self._send, port.handle_tx = port.handle_tx, self._transmit

    def _receive_tlp(self, tlp: Any) -> None:
        """Count a TLP at the root port; the credits of a memory request return when the host returns them."""
        if tlp.fmt_type in (*_READS, *_WRITES):
            self._flow.rx_consume_tlp_fc(tlp)
        else:
            self._receive(tlp)

    async def _transmit(self, packet: Any) -> None:
        """Send what the device has, and keep its transmitter busy until the TLP before has left."""
        is_request = getattr(packet, "fmt_type", None) in (*_READS, *_WRITES)
        self._submitted.clear()
        await self._send(packet)
        if is_request:
            await self._submitted.wait()
            wait_ps = self._on_link_ps - (_now_ps() - self._start_ps)
            if wait_ps > 0:
                await _triggers.Timer(wait_ps, "ps")

    async def _take(self, tlp: Any) -> None:
        self._waiting.append(tlp)
        self._changed.set()

    async def _run(self) -> None:
        while True:
            now = _now_ps() - self._start_ps
            self._port.advance(now)
            await self._finish_writes(now)
            while (event := self._port.take()) is not None:
                if event[0] == "completion":
                    await self._complete(*event[2:])
            while self._credits and self._credits[0][0] <= now:
                self._flow.rx_release_tlp_fc(heappop(self._credits)[2])
            while self._waiting and self._submit(self._waiting[0], now):
                self._waiting.popleft()
            self._changed.clear()
            times = [queue[0][0] for queue in (self._writes, self._credits) if queue]
            times += [self._port.next_ps] if self._port.next_ps is not None else []
            if times:
                step = _triggers.Timer(max(min(times) - now, 1), "ps")
                await _triggers.First(self._changed.wait(), step)
            else:
                await self._changed.wait()

    def _submit(self, tlp: Any, now: int) -> bool:
        """Submit a TLP, if tag and credits are free."""
        write = tlp.fmt_type in _WRITES
        lead = tlp.get_first_be_offset()
        address = self._port.address((tlp.address + lead) % self._port.buffer_bytes)
        assert address is not None, "an offset within the buffer has an address"
        kind = ("relaxed-write" if tlp.attr & _tlp.TlpAttr.RO else "write") if write else "read"
        parts = (kind, int(tlp.tag), address, int(tlp.get_be_byte_count()))
        if not write and tlp.tag in self._lost:
            # The device uses the tag again, so it has given up the read that was lost.
            self._port.give_up(tlp.tag)
            self._lost.remove(tlp.tag)
        if not self._port.has_room(*parts):
            return False
        self._on_link_ps = max(self._port.uplink_free_ps, now)
        outcome = "data" if write else self._outcome(tlp)
        _, arrived, credited = self._port.submit(*parts, now, outcome)
        heappush(self._credits, (credited, next(self._numbers), tlp))
        if write:
            heappush(self._writes, (arrived, next(self._numbers), tlp))
        elif outcome == "lost":
            self._lost.add(tlp.tag)
        else:
            self._reads[tlp.tag] = tlp
        self._submitted.set()
        return True

    async def _finish_writes(self, now: int) -> None:
        """Write what has arrived: relaxed writes may pass others."""
        while self._writes and self._writes[0][0] <= now:
            await self._root.handle_mem_write_tlp(heappop(self._writes)[2])

    async def _complete(self, tag: int, _bus: int, length: int, byte_count: int, last: bool, outcome: str) -> None:
        """Send a completion, with the bytes that memory has now or with an error."""
        request = self._reads.pop(tag) if last else self._reads[tag]
        if outcome in _STATUS:
            failed = _tlp.Tlp.create_completion_for_tlp(request, _NOBODY, status=_STATUS[outcome])
            failed.byte_count = byte_count
            await self._root.send(failed)
            return
        first = request.address + request.get_first_be_offset()
        address = first + request.get_be_byte_count() - byte_count
        start, end = address & ~3, -(-(address + length) // 4) * 4
        completion = _tlp.Tlp.create_completion_data_for_tlp(request, _NOBODY)
        completion.byte_count = byte_count
        completion.lower_address = address & 0x7F
        completion.ep = outcome == "poisoned"
        completion.set_data(await self._root.mem_address_space.read(start, end - start))
        await self._root.send(completion)


def _advertise(sender: Any, receiver: Any, number: int) -> None:
    """Have a receiver advertise some credits, of which none are in use."""
    used = sender.tx_credits_consumed = receiver.rx_credits_received
    receiver.rx_initial_allocation = sender.tx_initial_allocation = number
    limit = (used + number) & sender.tx_field_mask
    receiver.rx_credits_allocated = sender.tx_credit_limit = limit


def _code(size_bytes: int) -> int:
    """MPS or MRRS as the device control register encodes it: 128 B times two to this power."""
    return size_bytes.bit_length() - 8


def _now_ps() -> int:
    return int(_utils.get_sim_time("ps"))
