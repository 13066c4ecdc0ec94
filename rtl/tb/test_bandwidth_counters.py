"""The counters of bytes, transactions and clocks, and their latch."""

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import start

IDLE = dict.fromkeys(
    ["clear", "latch", "request_starts", "read_done", "write_done", "read_bytes", "written_bytes"], 0
)


@cocotb.test()
async def latched_counters_are_consistent(dut: Any) -> None:
    """Random events; latched values do not change until the next latch."""
    await start(dut, **IDLE)
    for _ in range(20):
        for name in IDLE:
            getattr(dut, name).value = 0
        dut.clear.value = 1
        await FallingEdge(dut.clk)
        dut.clear.value = 0
        first, last = None, 0
        done = read = written = 0
        held = None
        for clock in range(random.randint(5, 60)):
            starts, reads, writes, latch = (random.random() < share for share in (0.3, 0.3, 0.2, 0.1))
            if first is None:
                reads = writes = False
                latch = False
            now_read, now_written = (random.randrange(4097) if event else 0 for event in (reads, writes))
            dut.request_starts.value, dut.latch.value = int(starts), int(latch)
            dut.read_done.value, dut.read_bytes.value = int(reads), now_read
            dut.write_done.value, dut.written_bytes.value = int(writes), now_written
            await FallingEdge(dut.clk)
            if latch:
                held = (done, last, read, written)
            if first is None and starts:
                first = clock
            done += reads + writes
            read, written = read + now_read, written + now_written
            if (reads or writes) and first is not None:
                last = clock - first
            if held is not None:
                found = (dut.transactions, dut.elapsed, dut.bytes_read, dut.bytes_written)
                assert tuple(int(value.value) for value in found) == held
