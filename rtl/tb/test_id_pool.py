"""The pool gives no number out twice, never exceeds the limit, and loses none."""

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import settled, start, until

COUNT = 8


@cocotb.test()
async def numbers_are_given_out_once(dut: Any) -> None:
    """Random takes and returns under every limit; the longest free number comes first."""
    await start(dut, size=COUNT, limit=COUNT, take=0, give_back=0, given_back=0)
    assert not dut.valid.value
    assert await until(dut, lambda: bool(dut.filled.value), limit=COUNT + 2) <= COUNT
    free, out = list(range(COUNT)), list[int]()
    for limit in (COUNT, 1, 3, COUNT - 1):
        dut.take.value = 0
        for number in out:
            dut.give_back.value, dut.given_back.value = 1, number
            await FallingEdge(dut.clk)
        free, out = free + out, []
        dut.limit.value = limit
        most = 0
        for _ in range(300):
            returned = random.choice(out) if out and random.random() < 0.4 else None
            dut.give_back.value, dut.given_back.value = int(returned is not None), returned or 0
            dut.take.value = 0
            await settled()
            assert bool(dut.valid.value) == (len(out) < limit)
            await FallingEdge(dut.clk)
            if returned is not None:
                out.remove(returned)
                free.append(returned)
            dut.give_back.value = 0
            if len(out) < limit and random.random() < 0.6:
                dut.take.value = 1
                await settled()
                assert dut.valid.value
                assert int(dut.id.value) == free[0]
                await FallingEdge(dut.clk)
                out.append(free.pop(0))
            most = max(most, len(out))
        assert most == limit


@cocotb.test()
async def take_and_return_in_the_same_clock(dut: Any) -> None:
    """Over and over."""
    await start(dut, size=COUNT, limit=2, take=0, give_back=0, given_back=0)
    await until(dut, lambda: bool(dut.filled.value))
    out = list[int]()
    for _ in range(40):
        dut.take.value = 1
        dut.give_back.value = int(bool(out))
        dut.given_back.value = out[0] if out else 0
        await settled()
        assert dut.valid.value
        taken = int(dut.id.value)
        assert taken not in out
        await FallingEdge(dut.clk)
        out = [*out[1:], taken]
    assert len(out) == 1


@cocotb.test()
async def no_number_beyond_the_size_is_given_out(dut: Any) -> None:
    """All numbers below the size at once, and no other, however often they return."""
    for size in (1, 3, COUNT - 1):
        await start(dut, size=size, limit=size, take=0, give_back=0, given_back=0)
        assert await until(dut, lambda: bool(dut.filled.value), limit=COUNT + 2) <= size
        for _ in range(3):
            out = list[int]()
            dut.take.value = 1
            await settled()
            while dut.valid.value:
                out.append(int(dut.id.value))
                await FallingEdge(dut.clk)
                await settled()
            await FallingEdge(dut.clk)
            dut.take.value = 0
            assert sorted(out) == list(range(size))
            for number in out:
                dut.give_back.value, dut.given_back.value = 1, number
                await FallingEdge(dut.clk)
            dut.give_back.value = 0
