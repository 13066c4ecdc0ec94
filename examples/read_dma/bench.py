"""The bench of read_dma and write_dma, below a block of cocotbext-pcie (Xilinx's or Intel's) and a simulated host.

`simulate.py` runs it.
"""

import json
import logging
import os
import textwrap
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, Event, RisingEdge, Timer, with_timeout
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.core import Device, Endpoint, RootComplex
from cocotbext.pcie.core.tlp import Tlp, TlpType
from cocotbext.pcie.intel.ptile import PTilePcieDevice, PTileRxBus, PTileTxBus
from cocotbext.pcie.intel.s10 import S10PcieDevice, S10RxBus, S10TxBus
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice

from pcielab.errors import InputError
from pcielab.library.profiles import resolve
from pcielab.port import trace
from pcielab.port.cocotb_host import Host, enumerate_devices

ASKED: dict[str, Any] = json.loads(Path(os.environ["READ_DMA"]).read_text())
"""The profile, changes of it, and what to do."""
CLOCK_NS = 4
AHEAD = 400
"""More TLPs than tags, block, link and credits hold together: from then on each waits for one to leave."""


def ultrascale_plus(dut: Any) -> Any:
    """Xilinx's block, with 512 bits."""
    return UltraScalePlusPcieDevice(
        pcie_generation=3,
        pcie_link_width=16,
        user_clk_frequency=250e6,
        alignment="dword",
        max_payload_size=1024,
        enable_extended_tag=True,
        user_clk=dut.clk,
        user_reset=dut.rst,
        rq_bus=AxiStreamBus.from_prefix(dut, "s_axis_rq"),
        rc_bus=AxiStreamBus.from_prefix(dut, "m_axis_rc"),
    )


def stratix_10(dut: Any) -> Any:
    """Intel's block, with 256 bits."""
    return S10PcieDevice(
        pcie_generation=3,
        pcie_link_width=8,
        pld_clk_frequency=250e6,
        max_payload_size=1024,
        enable_extended_tag=True,
        coreclkout_hip=dut.clk,
        reset_status=dut.rst,
        rx_bus=S10RxBus.from_prefix(dut, "rx_st"),
        tx_bus=S10TxBus.from_prefix(dut, "tx_st"),
    )


def p_tile(dut: Any) -> Any:
    """Intel's later block, with 256 bits and headers beside the data."""
    return PTilePcieDevice(
        pcie_generation=3,
        pcie_link_width=8,
        pld_clk_frequency=250e6,
        max_payload_size=512,
        enable_extended_tag=True,
        coreclkout_hip=dut.clk,
        reset_status=dut.rst,
        rx_bus=PTileRxBus.from_prefix(dut, "rx_st"),
        tx_bus=PTileTxBus.from_prefix(dut, "tx_st"),
    )


def either_of_intel(dut: Any) -> Any:
    """The block that is asked for."""
    dut.header_beside.value = int(ASKED["p_tile"])
    return p_tile(dut) if ASKED["p_tile"] else stratix_10(dut)


def functional_model(_dut: Any) -> Any:
    """cocotbext-pcie's functional model of a device, without a block; tests call its functions."""
    return Device(Endpoint())


BLOCKS = {
    "read_dma": ultrascale_plus,
    "read_dma_s10": stratix_10,
    "write_dma": ultrascale_plus,
    "avalon_dma": either_of_intel,
}


class Bench:
    """The engine, a block, a root complex, and some of its memory."""

    def __init__(self, dut: Any) -> None:
        logging.getLogger("cocotb").setLevel(logging.WARNING)
        self.dut, self.root = dut, RootComplex()
        self.system = resolve(ASKED["profile"], ASKED["sets"])
        self.block = (functional_model if ASKED.get("model") else BLOCKS[ASKED["top"]])(dut)
        self.outcomes: dict[int, str] = {}
        self.root.make_port().connect(self.block)

    async def start(self) -> None:
        """Enumerate, and put the host behind the root complex."""
        self.dut.start.value = 0
        await with_timeout(enumerate_devices(self.root, self.block, self.system), 200, "us")
        self.host = Host(self.root, self.block, self.system, outcome=self.outcome)
        if hasattr(self.dut, "requester"):
            self.dut.requester.value = int(self.block.functions[0].pcie_id)
        self.memory = self.root.mem_pool.alloc_region(1 << 20)
        self.base = self.memory.get_absolute_address(0)
        self.memory.mem[:] = b"".join(word.to_bytes(4, "little") for word in range(0, 1 << 20, 4))

    def outcome(self, read: Any) -> str:
        """What becomes of a read, by its page."""
        return self.outcomes.get((read.address - self.base) // 4096, "data")


@cocotb.test()
async def bandwidth_over_tags(dut: Any) -> None:
    """Read with more and more tags; note the bandwidth, and check the data."""
    bench = Bench(dut)
    await bench.start()
    size, count, window, found = ASKED["size"], ASKED["reads"], 64 << 10, []
    words = sum(range(0, window, 4)) * (count * size // window) + sum(range(0, count * size % window, 4))
    for tags in ASKED["tags"]:
        for name, value in (("base", bench.base), ("count", count), ("bytes", size), ("window", window)):
            getattr(dut, name).value = value
        dut.tags.value = tags
        dut.start.value = 1
        await RisingEdge(dut.clk)
        dut.start.value = 0
        started = get_sim_time("ps")
        await RisingEdge(dut.clk)
        await with_timeout(RisingEdge(dut.done), 10, "ms")
        elapsed_ns = (get_sim_time("ps") - started) / 1000
        assert int(dut.sum.value) == words % (1 << 32), "the engine got other bytes"
        found.append({"tags": tags, "gbps": 8 * size * count / elapsed_ns})
    Path(ASKED["output"]).write_text(json.dumps(found))


@cocotb.test()
async def writes_beside_a_read(dut: Any) -> None:
    """Write sizes as fast as the block takes them, with a read now and then; note rates, waits and credits."""
    bench = Bench(dut)
    await bench.start()
    window, found = 64 << 10, []
    flow = bench.block.upstream_port.fc_state[0]
    advertised = flow.ph.tx_credits_available, flow.pd.tx_credits_available
    for size in ASKED["sizes"]:
        bench.memory.mem[:window] = bytes(window)
        for name, value in (
            ("base", bench.base), ("count", ASKED["writes"]), ("bytes", size), ("window", window),
            ("read_after", ASKED["read_after"]), ("start", 1),
        ):  # fmt: skip
            getattr(dut, name).value = value
        await RisingEdge(dut.clk)
        dut.start.value = 0
        started, left, waiting = 0.0, advertised, 0
        await ClockCycles(dut.clk, 2)
        while not int(dut.done.value):
            # From then on the block is full, and takes writes as the link carries them.
            if not started and int(dut.to_send.value) <= ASKED["writes"] - AHEAD:
                started, to_send = get_sim_time("ns"), int(dut.to_send.value)
            left = min(left[0], flow.ph.tx_credits_available), min(left[1], flow.pd.tx_credits_available)
            waiting = max(waiting, bench.host.waiting)
            await RisingEdge(dut.clk)
        elapsed_ns = get_sim_time("ns") - started
        await ClockCycles(dut.clk, 2000)
        whole = min(window, ASKED["writes"] * size) // size * size
        words = b"".join(word.to_bytes(4, "little") for word in range(whole // 4))
        assert bytes(bench.memory.mem[:whole]) == words, "memory holds other bytes"
        assert (flow.ph.tx_credits_available, flow.pd.tx_credits_available) == advertised
        found.append(
            {
                "size": size,
                "gbps": 8 * size * to_send / elapsed_ns,
                "reads": int(dut.answered.value),
                "slowest_ns": int(dut.slowest.value) * CLOCK_NS,
                "waiting": waiting,
                "least_credits": left,
                "credits": advertised,
            }
        )
    Path(ASKED["output"]).write_text(json.dumps(found))


@cocotb.test()
async def tlps_in_turn(dut: Any) -> None:
    """Send TLPs of some kinds in turn, as fast as the block's port takes them; note the rate of each kind."""
    bench = Bench(dut)
    await bench.start()
    port, kinds, found = bench.block.upstream_port, ASKED["kinds"], []
    tags = Tags(bench)
    for size in ASKED["sizes"]:
        for number in range(ASKED["tlps"]):
            tlp = Tlp()
            tlp.requester_id = bench.block.functions[0].pcie_id
            address = bench.base + number * size % (64 << 10)
            if kinds[number % len(kinds)] == "write":
                tlp.fmt_type = TlpType.MEM_WRITE
                tlp.set_addr_be_data(address, bytes(size))
            else:
                tlp.fmt_type, tlp.tag = TlpType.MEM_READ, await tags.take(size)
                tlp.set_addr_be(address, size)
            await port.send(tlp)
            if number == AHEAD - 1:
                started = get_sim_time("ns")
        elapsed_ns = get_sim_time("ns") - started
        found.append({"size": size, "gbps": 8 * size * (ASKED["tlps"] - AHEAD) / len(kinds) / elapsed_ns})
        await Timer(20, "us")
        assert len(tags.free) == bench.system.link.tags, "a read was not answered"
    Path(ASKED["output"]).write_text(json.dumps(found))


class Tags:
    """The tags of the link's device; completions free them."""

    def __init__(self, bench: Bench) -> None:
        self.free = list(range(bench.system.link.tags))
        self._freed, self._left, self._others = Event(), dict[int, int](), bench.block.upstream_recv
        bench.block.upstream_port.rx_handler = self._receive

    async def take(self, size: int) -> int:
        """A tag for a read."""
        while not self.free:
            self._freed.clear()
            await self._freed.wait()
        self._left[self.free[0]] = size
        return self.free.pop(0)

    async def _receive(self, tlp: Any) -> None:
        if tlp.fmt_type is not TlpType.CPL_DATA:
            await self._others(tlp)
            return
        tlp.release_fc()
        self._left[tlp.tag] -= 4 * tlp.length
        if not self._left[tlp.tag]:
            self.free.append(tlp.tag)
            self._freed.set()


@cocotb.test()
async def trace_takes_the_same_time(dut: Any) -> None:
    """Send a trace as TLPs; note for each transfer by how much it is later than `pcielab trace play` says."""
    bench = Bench(dut)
    await bench.start()
    lines = [line.split() for line in ASKED["trace"].splitlines() if not line.startswith("#")]
    played = trace.play(bench.system, ASKED["trace"])
    device, done = bench.block, {}
    open_reads: dict[int, int] = {}
    free_tags = list(range(256))
    started = int(get_sim_time("ps"))
    received = device.upstream_recv

    async def completed(tlp: Any) -> None:
        if tlp.fmt_type is not TlpType.CPL_DATA:
            await received(tlp)
            return
        tlp.release_fc()
        if tlp.byte_count <= 4 * tlp.length:
            done[open_reads.pop(tlp.tag)] = int(get_sim_time("ps")) - started
            free_tags.append(tlp.tag)

    device.upstream_port.rx_handler = completed
    for number, (_, kind, offset, size) in enumerate(lines):
        if played[number].sent_ps > int(get_sim_time("ps")) - started:
            await Timer(played[number].sent_ps - int(get_sim_time("ps")) + started, "ps")
        tlp = Tlp()
        tlp.fmt_type = TlpType.MEM_WRITE if kind == "write" else TlpType.MEM_READ
        tlp.requester_id = device.functions[0].pcie_id
        if kind == "write":
            tlp.set_addr_be_data(bench.base + int(offset), bytes(int(size)))
        else:
            tlp.set_addr_be(bench.base + int(offset), int(size))
            tlp.tag = free_tags.pop()
            open_reads[tlp.tag] = number
        await device.upstream_port.send(tlp)
    await Timer(20, "us")
    late = [done[n] - one.done_ps for n, one in enumerate(played) if not one.write]
    Path(ASKED["output"]).write_text(json.dumps(late))


@cocotb.test()
async def model_moves_bytes(dut: Any) -> None:
    """Read and write with the functional model's functions, many at a time; note the rates, and check the data."""
    bench = Bench(dut)
    await bench.start()
    model, size, window, found = bench.block.functions[0], ASKED["size"], 64 << 10, []
    before = bytes(bench.memory.mem[:window])
    for kinds in ASKED["kinds"]:
        left, done = ASKED["transfers"], list[float]()

        async def worker(kinds: list[str] = kinds, done: list[float] = done) -> None:
            nonlocal left
            while left > 0:
                left -= 1
                at = left * size % window
                for kind in kinds:
                    if kind == "write":
                        await model.mem_write(bench.base + window + at, before[at : at + size])
                    else:
                        assert await model.mem_read(bench.base + at, size) == before[at : at + size]
                done.append(get_sim_time("ns"))

        for task in [cocotb.start_soon(worker()) for _ in range(ASKED["workers"])]:
            await task
        await Timer(20, "us")
        middle = done[3 * len(done) // 8 : 3 * len(done) // 4]
        found.append(8 * size * (len(middle) - 1) / (middle[-1] - middle[0]))
    assert bytes(bench.memory.mem[window : 2 * window]) == before, "memory holds other bytes"
    Path(ASKED["output"]).write_text(json.dumps(found))


@cocotb.test()
async def reads_fail(dut: Any) -> None:
    """Read pages whose reads fail, each in its way; note what the device got, and read on with all tags."""
    bench = Bench(dut)
    await bench.start()
    model, seen, received = bench.block.functions[0], [], bench.block.upstream_recv
    outcomes = ["data", "poisoned", "unsupported", "aborted", "lost"]
    bench.outcomes = dict(enumerate(outcomes))

    async def note(tlp: Any) -> None:
        seen.append((tlp.fmt_type.name, tlp.status.name, bool(tlp.ep), tlp.byte_count))
        await received(tlp)

    bench.block.upstream_port.rx_handler = note
    found = {}
    for page, outcome in enumerate(outcomes):
        seen.clear()
        try:
            await model.mem_read(bench.base + 4096 * page, 64, timeout=50, timeout_unit="us")
            raised = ""
        except Exception as error:
            raised = str(error)
        found[outcome] = {"seen": list(seen), "raised": raised}
    bench.outcomes = {}
    for number in range(600):
        at = number * 64 % 4096
        assert await model.mem_read(bench.base + at, 64) == bytes(bench.memory.mem[at : at + 64])
    Path(ASKED["output"]).write_text(json.dumps(found))


@cocotb.test(expect_error=InputError)
async def tlps_too_long(dut: Any) -> None:
    """Send a TLP beyond MPS or MRRS: the host refuses it."""
    bench = Bench(dut)
    await bench.start()
    Path(ASKED["output"]).write_text(json.dumps([]))
    link, tlp = bench.system.system.link, Tlp()
    tlp.requester_id = bench.block.functions[0].pcie_id
    if ASKED["kind"] == "write":
        tlp.fmt_type = TlpType.MEM_WRITE
        tlp.set_addr_be_data(bench.base, bytes(link.mps_bytes + 4))
    else:
        tlp.fmt_type = TlpType.MEM_READ
        tlp.set_addr_be(bench.base, link.mrrs_bytes + 4)
    await bench.block.upstream_port.send(tlp)
    await Timer(20, "us")


@cocotb.test()
async def avalon_moves_bytes(dut: Any) -> None:
    """Write, read, or both in turns through a block of Intel; note the rate of each kind, and check the data."""
    bench = Bench(dut)
    await bench.start()
    size, count, window, found = ASKED["size"], ASKED["tlps"], 64 << 10, []
    for kinds in ASKED["kinds"]:
        bench.memory.mem[:window] = b"".join((7 * word).to_bytes(4, "little") for word in range(window // 4))
        for name, value in (
            ("base", bench.base), ("count", count), ("bytes", size), ("window", window),
            ("writes", "write" in kinds), ("reads", "read" in kinds), ("start", 1),
        ):  # fmt: skip
            getattr(dut, name).value = int(value)
        await RisingEdge(dut.clk)
        dut.start.value = 0
        await ClockCycles(dut.clk, 3)
        while int(dut.to_send.value) > count - AHEAD:
            await RisingEdge(dut.clk)
        started, first = get_sim_time("ns"), int(dut.to_send.value)
        while (left := int(dut.to_send.value)) > 0:
            await RisingEdge(dut.clk)
        found.append(8 * size * (first - left) / (get_sim_time("ns") - started))
        await with_timeout(RisingEdge(dut.done), 100, "us")
        await Timer(20, "us")
        if "write" in kinds:
            words = b"".join(word.to_bytes(4, "little") for word in range(window // 4))
            assert bytes(bench.memory.mem[:window]) == words, "memory holds other bytes"
        else:
            words = sum(7 * word for word in range(window // 4)) * (count * size // window)
            assert int(dut.sum.value) == words % (1 << 32), "the engine got other bytes"
    Path(ASKED["output"]).write_text(json.dumps(found))


@cocotb.test()
async def lines_of_a_guide(dut: Any) -> None:
    """Run lines that put a host behind a root complex; note what a read then takes, and the device's limits."""
    bench, names = Bench(dut), dict[str, Any]()
    body = textwrap.indent(ASKED["lines"], "    ")
    exec(f"async def run(root, device):\n{body}", names)
    await names["run"](bench.root, bench.block)
    model, started = bench.block.functions[0], get_sim_time("ns")
    await model.mem_read(bench.root.mem_pool.alloc_region(4096).get_absolute_address(0), 64)
    limits = model.pcie_cap.max_payload_size, model.pcie_cap.max_read_request_size
    found = {"read_ns": get_sim_time("ns") - started, "limits": [128 << int(code) for code in limits]}
    Path(ASKED["output"]).write_text(json.dumps(found))
