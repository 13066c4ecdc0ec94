"""The register keeps the order of entries, loses none, and passes one each clock."""

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import settled, start


@cocotb.test()
async def entries_pass_in_order(dut: Any) -> None:
    """Under random valid and ready; with both high, an entry leaves in every clock."""
    await start(dut, in_valid=0, in_data=0, out_ready=0)
    for valid, ready in ((100, 100), (60, 100), (100, 60), (40, 40)):
        sent, got = list[int](), list[int]()
        for _ in range(200):
            dut.in_valid.value, dut.out_ready.value = (
                int(random.randrange(100) < percent) for percent in (valid, ready)
            )
            dut.in_data.value = data = random.getrandbits(8)
            await settled()
            if dut.in_valid.value and dut.in_ready.value:
                sent.append(data)
            if dut.out_valid.value and dut.out_ready.value:
                got.append(int(dut.out_data.value))
            await FallingEdge(dut.clk)
        assert got == sent[: len(got)]
        assert len(sent) - len(got) <= 2
        if (valid, ready) == (100, 100):
            assert len(got) >= 199
        dut.in_valid.value, dut.out_ready.value = 0, 1
        for _ in range(4):
            await FallingEdge(dut.clk)


@cocotb.test()
async def ready_does_not_pass_in_the_same_clock(dut: Any) -> None:
    """Neither from the output to the input, nor does an entry."""
    await start(dut, in_valid=0, in_data=5, out_ready=0)
    dut.in_valid.value = 1
    await settled()
    assert not dut.out_valid.value
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.out_ready.value = 1
    await settled()
    assert not dut.in_ready.value
    await FallingEdge(dut.clk)
    assert dut.in_ready.value
