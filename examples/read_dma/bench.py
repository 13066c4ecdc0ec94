"""The bench of read_dma: below a block of cocotbext-pcie, Xilinx's or Intel's, and a calibrated host.

`simulate.py` runs it.
"""

import json
import logging
import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, with_timeout
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.core.tlp import Tlp, TlpType
from cocotbext.pcie.intel.s10 import S10PcieDevice, S10RxBus, S10TxBus
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice

from pcielab.library.profiles import resolve
from pcielab.port import trace
from pcielab.port.cocotb_host import Host

ASKED: dict[str, Any] = json.loads(Path(os.environ["READ_DMA"]).read_text())
"""The profile, changes of it, and what to do."""
CLOCK_NS = 4


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


BLOCKS = {"read_dma": ultrascale_plus, "read_dma_s10": stratix_10}


class Bench:
    """The engine, a block, a root complex, and some of its memory."""

    def __init__(self, dut: Any) -> None:
        logging.getLogger("cocotb").setLevel(logging.WARNING)
        self.dut, self.root = dut, RootComplex()
        self.system = resolve(ASKED["profile"], ASKED["sets"])
        self.root.max_payload_size = self.system.link.mps_bytes.bit_length() - 8
        self.block = BLOCKS[ASKED["top"]](dut)
        self.root.make_port().connect(self.block)

    async def start(self) -> None:
        """Enumerate, and put the host behind the root complex."""
        self.dut.start.value = 0
        await with_timeout(self.root.enumerate(), 200, "us")
        function = self.root.find_device(self.block.functions[0].pcie_id)
        await function.set_readrq(self.system.link.mrrs_bytes.bit_length() - 8)
        await function.set_master()
        Host(self.root, self.block, self.system)
        if hasattr(self.dut, "requester"):
            self.dut.requester.value = int(self.block.functions[0].pcie_id)
        self.memory = self.root.mem_pool.alloc_region(1 << 20)
        self.base = self.memory.get_absolute_address(0)
        self.memory.mem[:] = b"".join(word.to_bytes(4, "little") for word in range(0, 1 << 20, 4))


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
            await cocotb.triggers.Timer(played[number].sent_ps - int(get_sim_time("ps")) + started, "ps")
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
    await cocotb.triggers.Timer(20, "us")
    late = [done[n] - one.done_ps for n, one in enumerate(played) if not one.write]
    Path(ASKED["output"]).write_text(json.dumps(late))
