"""cocotbext-pcie's root complex, with the core behind its model of the UltraScale+ block."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import cocotb
from cocotb.triggers import Timer, with_timeout
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.core.tlp import TlpType
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice

from address_list import PAGE
from clocking import clocks
from core import Core
from host import check_enables

REGISTERS_BYTES, MESSAGES_BYTES, MEMORY_BYTES = 128 << 10, 32 << 10, 64 << 10
PIECE_BYTES = 1 << 20
WAIT_US = 20
READ_REQUESTS = (128, 256, 512, 1024, 2048, 4096)
"""Every MRRS."""
MANAGEMENT = tuple(
    f"cfg_mgmt_{name}"
    for name in (
        "addr", "function_number", "write", "write_data", "byte_enable", "read", "read_data", "read_write_done",
        "debug_access",
    )
)  # fmt: skip
"""The hard block's configuration management interface."""


def quiet() -> None:
    """Silence cocotbext-pcie's log of every packet, which takes most of the time."""
    logging.getLogger("cocotb").setLevel(logging.WARNING)


@dataclass
class CoreBehindBar(Core):
    """The registers of a core, through its BAR 0."""

    bar: Any = None

    async def write(self, address: int, value: int) -> None:
        """Write a register or an entry of a memory."""
        await with_timeout(self.bar.write_dword(address, value), WAIT_US, "us")

    async def read(self, address: int) -> int:
        """Read a register or an entry of a memory."""
        return int(await with_timeout(self.bar.read_dword(address), WAIT_US, "us"))


@dataclass
class Root:
    """A root complex that checks every request, with one device below it."""

    dut: Any
    max_payload: int = 256
    first_max_read_request: int = 512
    """The MRRS that enumeration leaves; `set_max_read_request` changes it."""
    pieces: list[int] = field(default_factory=list)
    piece_bytes: int = PIECE_BYTES
    data_key: int = 0
    delay_ns: int = 0
    overlaps: bool = False
    """Reads wait at the same time, each for ``delay_ns``; else one after the other."""
    waiting: int = 0
    most_waiting: int = 0
    """The most reads that have waited at the same time."""
    requests: list[tuple[bool, int, int]] = field(default_factory=list)
    """For each request: whether it writes, address, bytes."""

    def __post_init__(self) -> None:
        quiet()
        dut = self.dut
        wide = len(dut.s_axis_rq_tdata) == 512
        straddles = bool(int(dut.RC_STRADDLE.value))
        self.complex = RootComplex()
        self.device = UltraScalePlusPcieDevice(
            pcie_generation=3,
            pcie_link_width=16 if wide else 8,
            user_clk_frequency=250e6,
            max_payload_size=1024,
            enable_extended_tag=True,
            rc_straddle=straddles,
            rc_4tlp_straddle=straddles and wide,
            user_clk=dut.user_clk,
            user_reset=dut.user_reset,
            rq_bus=AxiStreamBus.from_prefix(dut, "s_axis_rq"),
            rc_bus=AxiStreamBus.from_prefix(dut, "m_axis_rc"),
            cq_bus=AxiStreamBus.from_prefix(dut, "m_axis_cq"),
            cc_bus=AxiStreamBus.from_prefix(dut, "s_axis_cc"),
            pcie_cq_np_req=dut.pcie_cq_np_req,
            pcie_rq_seq_num0=dut.pcie_rq_seq_num0,
            pcie_rq_seq_num_vld0=dut.pcie_rq_seq_num_vld0,
            pcie_rq_seq_num1=dut.pcie_rq_seq_num1,
            pcie_rq_seq_num_vld1=dut.pcie_rq_seq_num_vld1,
            cfg_fc_ph=dut.cfg_fc_ph,
            cfg_fc_pd=dut.cfg_fc_pd,
            cfg_fc_sel=dut.cfg_fc_sel,
            cfg_max_payload=dut.cfg_max_payload,
            cfg_max_read_req=dut.cfg_max_read_req,
            cfg_function_status=dut.cfg_function_status,
            cfg_rcb_status=dut.cfg_rcb_status,
            **{name: getattr(dut, name) for name in MANAGEMENT},
            cfg_interrupt_msix_enable=dut.cfg_interrupt_msix_enable,
            cfg_interrupt_msix_mask=dut.cfg_interrupt_msix_mask,
            pf0_msix_enable=True,
            pf0_msix_table_size=0,
            pf0_msix_table_bir=0,
            pf0_msix_table_offset=0x2000,
            pf0_msix_pba_bir=0,
            pf0_msix_pba_offset=0x2800,
        )
        # The model starts its reset two clocks after power-up; the hard block is in reset from power-up on.
        dut.user_reset.value = 1
        dut.cfg_flr_in_process.value = 0
        # The model shows no credits of reads here: a bench may take them away.
        dut.pcie_tfc_nph_av.value = 15
        self.device.functions[0].configure_bar(0, REGISTERS_BYTES)
        self.device.functions[0].configure_bar(2, MESSAGES_BYTES, ext=True, prefetch=True)
        self.device.functions[0].configure_bar(4, MEMORY_BYTES, ext=True, prefetch=True)
        self.complex.max_payload_size = self.max_payload.bit_length() - 8
        self.complex.make_port().connect(self.device)
        for kind in (TlpType.MEM_READ, TlpType.MEM_READ_64):
            self.complex.register_rx_tlp_handler(kind, self.take_read)
        for kind in (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64):
            self.complex.register_rx_tlp_handler(kind, self.take_write)

    async def start(self) -> CoreBehindBar:
        """Enumerate, and give the core some of the host's memory."""
        await with_timeout(self.complex.enumerate(), 200, "us")
        self.function = self.complex.find_device(self.device.functions[0].pcie_id)
        # Enumeration sets MPS, but leaves each device's MRRS as after a reset.
        await self.set_max_read_request(self.first_max_read_request)
        await self.function.enable_device()
        await self.function.set_master()
        self.memory = [self.complex.mem_pool.alloc_region(self.piece_bytes) for _ in range(2)]
        self.pieces = [region.get_absolute_address(0) for region in self.memory]
        return CoreBehindBar(SimpleNamespace(clk=self.dut.user_clk), bar=self.function.bar_window[0])

    @property
    def max_read_request(self) -> int:
        """MRRS in the enumerated device's Device Control register."""
        return int(128 << self.device.functions[0].pcie_cap.max_read_request_size)

    async def set_max_read_request(self, limit: int) -> None:
        """Write MRRS into the device's Device Control register, as a host does."""
        await with_timeout(self.function.set_readrq(limit.bit_length() - 8), WAIT_US, "us")
        await clocks(SimpleNamespace(clk=self.dut.user_clk), 4)

    @property
    def dropped(self) -> int:
        """Completions that did not fit the hard block's buffer, since the start."""
        return int(self.device.local_error.qsize())

    def check(self, tlp: Any) -> None:
        """Check the limits of a request."""
        write = tlp.fmt_type in (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64)
        lead, behind = check_enables(tlp.first_be, tlp.last_be, tlp.length)
        address, length = tlp.address + lead, 4 * tlp.length - lead - behind
        if self.is_memory(address):
            limit = self.max_payload if write else self.max_read_request
            assert length <= limit, f"{tlp} is over {limit}"
            self.requests.append((write, address, length))
        assert address // PAGE == (address + length - 1) // PAGE, f"{tlp} crosses 4 KiB"
        assert (tlp.address >> 32 != 0) == (tlp.fmt_type in (TlpType.MEM_WRITE_64, TlpType.MEM_READ_64))

    def is_memory(self, address: int) -> bool:
        """Whether an address is in the core's buffer."""
        return any(piece <= address < piece + self.piece_bytes for piece in self.pieces)

    async def take_read(self, tlp: Any) -> None:
        """Take a read of the core."""
        self.check(tlp)
        if self.overlaps:
            cocotb.start_soon(self.answer(tlp))
        else:
            await self.answer(tlp)

    async def answer(self, tlp: Any) -> None:
        """Answer a read after ``delay_ns``."""
        self.waiting += 1
        self.most_waiting = max(self.most_waiting, self.waiting)
        if self.delay_ns:
            await Timer(self.delay_ns, "ns")
        self.waiting -= 1
        await self.complex.handle_mem_read_tlp(tlp)

    async def take_write(self, tlp: Any) -> None:
        """Take a write of the core."""
        self.check(tlp)
        await self.complex.handle_mem_write_tlp(tlp)

    def fill(self) -> None:
        """Fill the buffer with the pattern that the core expects."""
        for number, region in enumerate(self.memory):
            first = number * self.piece_bytes
            words = range(first, first + self.piece_bytes, 4)
            region.mem[:] = b"".join((word ^ self.data_key).to_bytes(4, "little") for word in words)
