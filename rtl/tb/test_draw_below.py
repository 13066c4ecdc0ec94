"""The draws equal those of the simulation's generator, one each clock."""

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from address_list import below
from clocking import clocks, start

LATENCY = 20


@cocotb.test()
async def draws_equal_those_of_the_generator(dut: Any) -> None:
    """Random keys and bounds; a new index every clock."""
    await start(dut, key=1, index=0, bound=1)
    for _ in range(20):
        key, bound = random.getrandbits(64) | 1, random.randint(1, (1 << 26) - 1)
        dut.key.value, dut.bound.value = key, bound
        await clocks(dut, LATENCY)
        indices = [0, (1 << 20) - 1, *(random.randrange(1 << 20) for _ in range(30))]
        found = []
        for index in indices + [0] * LATENCY:
            dut.index.value = index
            await FallingEdge(dut.clk)
            found.append(int(dut.draw.value))
        assert found[LATENCY - 1 : -1] == [below(key, index, bound) for index in indices]
