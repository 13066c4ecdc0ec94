"""The queue keeps the order of entries and never exceeds its depth."""

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import settled, start

DEPTH = 4


@cocotb.test()
async def entries_leave_in_order(dut: Any) -> None:
    """Random traffic, full and empty, against a list."""
    await start(dut, in_valid=0, in_data=0, out_ready=0)
    held: deque[int] = deque()
    seen = set()
    for number in range(2000):
        busy, eager = ((90, 30), (30, 90), (60, 60))[number // 200 % 3]
        value = random.getrandbits(8)
        dut.in_valid.value, dut.in_data.value = int(random.randrange(100) < busy), value
        dut.out_ready.value = int(random.randrange(100) < eager)
        await settled()
        assert int(dut.count.value) == len(held)
        assert bool(dut.in_ready.value) == (len(held) < DEPTH)
        assert bool(dut.out_valid.value) == bool(held)
        seen.add(len(held))
        if held:
            assert int(dut.out_data.value) == held[0]
            if dut.out_ready.value:
                held.popleft()
        if dut.in_valid.value and dut.in_ready.value:
            held.append(value)
        await FallingEdge(dut.clk)
    assert seen == set(range(DEPTH + 1))
