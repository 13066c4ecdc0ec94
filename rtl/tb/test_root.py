"""The core below cocotbext-pcie's root complex, without a hard block, is as fast as below ours."""

import json
import os
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cocotb
import pytest
from cocotb.triggers import FallingEdge, with_timeout
from cocotbext.pcie.core import Device, Endpoint, RootComplex
from cocotbext.pcie.core.dllp import Dllp
from cocotbext.pcie.core.port import SimPort
from cocotbext.pcie.core.tlp import Tlp, TlpType

import registers as r
from address_list import AddressList
from clocking import settled, start
from core import IDLE_INPUTS, Core
from host import check_enables
from root import quiet
from simulator import run_bench

RESULT = "PCIELAB_RTL_ROOT"
CLOCK_NS = 4
GENERATION, LANES, MAX_PAYLOAD, MAX_READ_REQUEST = 3, 8, 256, 512
NS_PER_BYTE = 8 / (8.0 * 128 / 130 * LANES)
CASES = [(operation, size) for operation in ("bw-rd", "bw-wr", "bw-rdwr") for size in (64, 256, 1024)]
NO_LATENCY = [
    "link.tags=64",
    "device.uplink_quantum_bytes=1",
    *(
        f"host.root_complex.{key}=0"
        for key in (
            "busy_jitter_ns", "busy_read_ns", "completion_interval_ns", "credit_return_ns", "downlink_dllp_bytes",
            "jitter_ns", "line_interval_ns", "partial_line_busy_ns", "read_ns", "request_interval_ns",
            "write_interval_ns", "write_line_ns", "write_ns",
        )
    ),
    "host.root_complex.flight_ns=10",
    "host.root_complex.completion_order=fifo",
    "host.root_complex.downlink_quantum_bytes=1",
    "host.root_complex.downlink_stretch=1",
    "host.root_complex.uplink_stretch=1",
    "host.memory.refresh.duration_ns=0",
]  # fmt: skip
"""A host that answers at once, like the other root, on a link on which only TLPs take time."""


def transactions(size: int) -> int:
    """Enough transactions to make filling and draining the link negligible."""
    return 150_000 // size + 300


class CoreDevice(Device):
    """The core's streams as a device of this root complex."""

    def __init__(self, dut: Any) -> None:
        self.default_function = Endpoint
        super().__init__()
        self.dut = dut
        self.upstream_port.max_link_speed, self.upstream_port.max_link_width = GENERATION, LANES
        self.make_function()
        self.out: deque[Tlp] = deque()
        self.beats: deque[dict[str, int]] = deque()

    async def upstream_recv(self, tlp: Any) -> None:
        """Pass completions to the core; other TLPs are for configuration."""
        if tlp.fmt_type not in (TlpType.CPL, TlpType.CPL_DATA):
            await super().upstream_recv(tlp)
            return
        tlp.release_fc()
        data, width = bytes(tlp.get_data()), len(self.dut.rx_data) // 8
        for at in range(0, max(1, len(data)), width):
            self.beats.append(
                {
                    "rx_sop": int(at == 0), "rx_eop": int(at + width >= len(data)), "rx_tag": tlp.tag,
                    "rx_status": int(tlp.status), "rx_poisoned": int(tlp.ep), "rx_byte_count": tlp.byte_count,
                    "rx_lower_address": tlp.lower_address, "rx_dwords": tlp.length,
                    "rx_data": int.from_bytes(data[at : at + width], "little"),
                }
            )  # fmt: skip

    async def send(self) -> None:
        """Send the core's requests, as fast as the link takes them."""
        while True:
            while not self.out:
                await FallingEdge(self.dut.clk)
            await self.upstream_send(self.out[0])
            self.out.popleft()

    async def run(self) -> None:
        """Drive both streams, clock by clock."""
        dut, width, text, head = self.dut, len(self.dut.tx_data) // 8, b"", SimpleNamespace()
        while True:
            beat = self.beats.popleft() if self.beats else {}
            dut.rx_valid.value = int(bool(beat))
            for name, value in beat.items():
                getattr(dut, name).value = value
            # A transmit buffer of two requests, as hard blocks have.
            dut.tx_ready.value = int(len(self.out) < 2)
            await settled()
            if dut.tx_valid.value and dut.tx_ready.value:
                if dut.tx_sop.value:
                    names = ("write", "address", "dwords", "first_be", "last_be", "tag")
                    head = SimpleNamespace(**{name: int(getattr(dut, f"tx_{name}").value) for name in names})
                    text = b""
                text += int(dut.tx_data.value).to_bytes(width, "little")
                if dut.tx_eop.value:
                    self.out.append(self.tlp(head, text[: 4 * head.dwords]))
            await FallingEdge(dut.clk)

    def tlp(self, head: Any, data: bytes) -> Tlp:
        """Convert a request to the root complex's TLP."""
        tlp = Tlp()
        tlp.fmt_type = TlpType.MEM_WRITE_64 if head.write else TlpType.MEM_READ_64
        tlp.requester_id, tlp.tag = self.functions[0].pcie_id, head.tag
        tlp.address, tlp.length = head.address, head.dwords
        tlp.first_be, tlp.last_be = head.first_be, head.last_be
        lead, behind = check_enables(head.first_be, head.last_be, head.dwords)
        assert 4 * head.dwords - lead - behind <= (MAX_PAYLOAD if head.write else MAX_READ_REQUEST)
        if head.write:
            tlp.data = bytearray(data)
        return tlp


@cocotb.test()
async def bandwidth_below_another_root(dut: Any) -> None:
    """Every operation and size, with bytes checked; the time of DLLPs is subtracted."""
    quiet()
    root = RootComplex()
    device = CoreDevice(dut)
    root.max_payload_size = MAX_PAYLOAD.bit_length() - 8
    root.make_port().connect(device)
    dllp_bytes = {device.upstream_port: 0, device.upstream_port.other: 0}
    plain = SimPort.handle_tx

    async def counted(port: SimPort, packet: Any) -> None:
        if isinstance(packet, Dllp):
            dllp_bytes[port] += packet.get_wire_size()
        await plain(port, packet)

    SimPort.handle_tx = counted
    await start(dut, **IDLE_INPUTS)
    await with_timeout(root.enumerate(), 100, "us")
    function = root.find_device(device.functions[0].pcie_id)
    # Enumeration sets MPS, but leaves each device's MRRS as after a reset.
    await function.set_readrq(MAX_READ_REQUEST.bit_length() - 8)
    await function.set_master()
    limits = device.functions[0].pcie_cap
    dut.max_payload.value, dut.max_read_request.value = limits.max_payload_size, limits.max_read_request_size
    # Above 4 GiB, so that requests have headers of 64-bit addresses.
    memory = root.mem_address_space.create_pool(1 << 40, 1 << 30).alloc_region(1 << 20)
    memory.mem[:] = b"".join(word.to_bytes(4, "little") for word in range(0, 1 << 20, 4))
    cocotb.start_soon(device.run())
    cocotb.start_soon(device.send())
    # Enumeration ends between two edges; registers are written at falling ones.
    await FallingEdge(dut.clk)
    core, found = Core(dut), {}
    host: Any = SimpleNamespace(pieces=[memory.get_absolute_address(0)], piece_bytes=1 << 20, data_key=0)
    for operation, size in CASES:
        count = transactions(size)
        await core.describe(AddressList(size=size, window=8192), operation, count, host, outstanding=64)
        before = dict(dllp_bytes)
        assert await core.run() == r.RESULT_COMPLETE
        up, down = (dllp_bytes[port] - before[port] for port in dllp_bytes)
        elapsed_ns = CLOCK_NS * await core.read_wide(r.ELAPSED_LO)
        # Alternating reads and writes: one direction counts, as in stores.
        moved = 8 * size * (count // 2 if operation == "bw-rdwr" else count)
        # Reads are bound by the downlink, writes and both by the uplink.
        busy_ns = elapsed_ns - NS_PER_BYTE * (down if operation == "bw-rd" else up)
        found[f"{operation} {size}"] = {"gbps": moved / busy_ns, "with_dllps": moved / elapsed_ns}
    SimPort.handle_tx = plain
    Path(os.environ[RESULT]).write_text(json.dumps(found))


@pytest.mark.slow
def test_both_roots_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pcielab import RunOptions, run
    from pcielab.devices.rtl import missing
    from pcielab.library.suites import single_test

    if missing():
        pytest.skip(missing())
    monkeypatch.setenv(RESULT, str(tmp_path / "root.json"))
    run_bench("pcielab_core", "test_root", {"DATA_WIDTH": 256, "TAGS": 64})
    apart = []
    for case, other in json.loads((tmp_path / "root.json").read_text()).items():
        operation, size = case.split()
        suite = single_test(
            operation, size=int(size), window="8K", cache="host-warm", transactions=transactions(int(size))
        )
        options = RunOptions(samples="full", jobs=1, overwrite=True)
        store = run(suite, "rtl", tmp_path / "ours.db", profile="snb", sets=NO_LATENCY, options=options)
        ours = float(store.scalars["bandwidth"].iloc[0])
        print(f"| {operation} | {size} | {ours:.2f} | {other['gbps']:.2f} | {other['with_dllps']:.2f} |")
        if abs(other["gbps"] / ours - 1) > 0.01:
            apart.append((case, ours, other))
    assert not apart
