"""The core as software sees it, over the register stream of ``pcielab_core``: registers, tests, results."""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass
from itertools import count
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiBus, AxiRam

import registers as r
from address_list import AddressList
from clocking import clocks, settled, start
from host import Host

OPERATIONS = {"lat-rd": 0, "lat-wrrd": 1, "bw-rd": 2, "bw-wr": 3, "bw-rdwr": 4}
IDLE_INPUTS = {
    "max_payload": 1, "max_read_request": 2, "bus_master": 1, "function_reset": 0, "msix_enable": 0,
    "msix_mask": 0, "completion_boundary_128": 0, "extended_tags_known": 1, "extended_tags": 1, "tx_ready": 0,
    "rx_valid": 0, "rx_sop": 0, "rx_eop": 0, "rx_tag": 0, "rx_status": 0, "rx_poisoned": 0, "rx_byte_count": 0,
    "rx_lower_address": 0, "rx_dwords": 0, "rx_data": 0,
    "store_valid": 0, "store_sop": 0, "store_eop": 0, "store": 0, "store_data": 0,
    "reg_valid": 0, "reg_write": 0, "reg_address": 0, "reg_data": 0,
    "ten_bit_tags": 0, "posted_credit": 1, "non_posted_credit": 1, "load_valid": 0, "load_address": 0,
}  # fmt: skip


@dataclass
class Core:
    """The registers of a core, and actions on them."""

    dut: Any
    memory: AxiRam | None = None
    """The memory at its AXI port, if it has one."""

    async def write(self, address: int, value: int) -> None:
        """Write a register or an entry of a memory."""
        dut = self.dut
        dut.reg_valid.value, dut.reg_write.value = 1, 1
        dut.reg_address.value, dut.reg_data.value = address, value
        for _ in range(100):
            await settled()
            taken = bool(dut.reg_ready.value)
            await FallingEdge(dut.clk)
            if taken:
                dut.reg_valid.value = 0
                return
        raise AssertionError("a register write is not taken")

    async def read(self, address: int) -> int:
        """Read a register or an entry of a memory."""
        dut = self.dut
        dut.reg_valid.value, dut.reg_write.value, dut.reg_address.value = 1, 0, address
        for _ in range(100):
            await settled()
            taken = bool(dut.reg_ready.value)
            await FallingEdge(dut.clk)
            if taken:
                dut.reg_valid.value = 0
            if dut.reg_response_valid.value:
                return int(dut.reg_response_data.value)
        raise AssertionError("a register read is not answered")

    async def read_wide(self, address: int) -> int:
        """Read 64 bits, the lower half first."""
        return await self.read(address) | await self.read(address + 4) << 32

    async def describe(
        self, wanted: AddressList, operation: str, count: int, host: Host, *,
        first: int = 0, outstanding: int = 32, check_data: bool = True,
    ) -> None:  # fmt: skip
        """Write all settings of a test."""
        s = wanted.settings(first)
        write_first = (wanted.transactions - first) % 2 == 1
        operation_bits = (
            OPERATIONS[operation] << r.OPERATION_OPERATION_SHIFT
            | s["operation.pattern"] << r.OPERATION_PATTERN_SHIFT
            | s["operation.backwards"] << r.OPERATION_BACKWARDS_SHIFT
            | s["operation.first_twice"] << r.OPERATION_FIRST_TWICE_SHIFT
            | write_first << r.OPERATION_FIRST_WRITES_SHIFT
            | check_data << r.OPERATION_CHECK_DATA_SHIFT
        )
        period = (
            s["period.usable"]
            | s["period.length"] << r.PERIOD_LENGTH_SHIFT
            | s["period.all_usable"] << r.PERIOD_ALL_USABLE_SHIFT
        )
        pieces = len(host.pieces) | (host.piece_bytes.bit_length() - 1) << r.PIECES_BYTES_LOG2_SHIFT
        for address, value in (
            (r.OPERATION, operation_bits), (r.SIZE, s["size"]), (r.COUNT, count), (r.OUTSTANDING, outstanding),
            (r.KEY_LO, s["key"] & 0xFFFFFFFF), (r.KEY_HI, s["key"] >> 32), (r.LIST_INDEX, s["list_index"]),
            (r.USABLE, s["usable"]), (r.NTH, s["nth"]), (r.NTH_WRAP, s["nth_wrap"]), (r.STEP, s["step"]),
            (r.PERIOD, period), (r.RECIPROCAL, s["reciprocal"]), (r.UNIT_BYTES, s["unit_bytes"]),
            (r.HOST_OFFSET, s["host_offset"]), (r.PIECES, pieces), (r.DATA_KEY, host.data_key), (r.TIMEOUT, 3000),
        ):  # fmt: skip
            await self.write(address, value)
        for n, unit in enumerate(wanted.usable_in_period):
            await self.write(r.UNITS + 4 * n, unit)
        for n, piece in enumerate(host.pieces):
            await self.write(r.PIECE_TABLE + 8 * n, piece & 0xFFFFFFFF)
            await self.write(r.PIECE_TABLE + 8 * n + 4, piece >> 32)

    async def control(self, shift: int) -> None:
        """Trigger an action of the control register."""
        await self.write(r.CONTROL, 1 << shift)

    async def start(self) -> None:
        """Start the described test."""
        await self.control(r.CONTROL_START_SHIFT)
        await clocks(self.dut, 2)

    async def end(self, limit: int = 60_000) -> int:
        """Wait until no test runs; the result of the last one.

        Raises:
            AssertionError: A test still runs after ``limit`` clocks.
        """
        for _ in range(limit // 20):
            status = await self.read(r.STATUS)
            if status & r.STATUS_STATE_MASK == r.STATE_IDLE:
                return status >> r.STATUS_RESULT_SHIFT & r.STATUS_RESULT_MASK
            await clocks(self.dut, 16)
        raise AssertionError(f"the test does not end within {limit} clocks: status {status:#x}")

    async def run(self) -> int:
        """Run the described test; its result."""
        await self.start()
        return await self.end()

    async def records(self, count: int) -> list[int]:
        """The first latencies of the last test."""
        return [await self.read(r.RECORDS + 4 * n) for n in range(count)]


def axi_ram(dut: Any) -> AxiRam:
    """A slow memory at the core's AXI port, which takes addresses and data when it likes."""
    ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, size=int(dut.MEMORY_BYTES.value))
    for channel in (
        ram.write_if.aw_channel, ram.write_if.w_channel, ram.write_if.b_channel, ram.read_if.ar_channel,
        ram.read_if.r_channel,
    ):  # fmt: skip
        channel.set_pause_generator(random.random() < 0.3 for _ in count())
    return ram


async def core_and_host(dut: Any) -> tuple[Core, Host]:
    """Reset the core, and run a host."""
    memory = None
    if int(dut.MEMORY_AXI.value):
        logging.getLogger("cocotb").setLevel(logging.WARNING)
        memory = axi_ram(dut)
    await start(dut, **IDLE_INPUTS)
    host = Host(dut)
    cocotb.start_soon(host.run())
    return Core(dut, memory), host
