"""The checker finds wrong bytes, and ignores bytes outside the data."""

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import clocks, start


@cocotb.test()
async def wrong_bytes_are_found(dut: Any) -> None:
    """Any offset and length; one bit changed inside the data, outside, and not at all."""
    await start(dut, valid=0, data_key=0, offset=0, bytes=0, data=0)
    width = len(dut.data) // 8
    tried, before = set(), []
    for _ in range(600):
        key, offset, length = random.getrandbits(32), random.getrandbits(42), random.randint(1, 2 * width)
        lead = offset & 3
        counts = range(lead, min(width, lead + length))
        words = ((offset & ~3) + lane for lane in range(0, width, 4))
        expected = b"".join((word & 0xFFFFFFFF ^ key).to_bytes(4, "little") for word in words)
        data = bytearray(random.randbytes(width))
        data[counts.start : counts.stop] = expected[counts.start : counts.stop]
        others = [index for index in range(width) if index not in counts]
        change = random.choice(["right", "wrong", "wrong", "beside", "unasked"])
        if change in ("wrong", "unasked"):
            data[random.choice([counts[0], counts[-1], random.choice(counts)])] ^= 1 << random.randrange(8)
        if change == "beside" and others:
            data[random.choice(others)] ^= 1 << random.randrange(8)
        dut.valid.value, dut.data_key.value = int(change != "unasked"), key
        dut.offset.value, dut.bytes.value, dut.data.value = offset, length, int.from_bytes(data, "little")
        await FallingEdge(dut.clk)
        # The result of a beat comes three clocks after it.
        before.append((change, offset & 63, length))
        if len(before) > 2:
            assert bool(dut.mismatch.value) == (before[-3][0] == "wrong"), before[-3]
        tried.add((change, lead))
    assert len(tried) == 16


@cocotb.test()
async def a_reset_drops_the_beats_on_their_way(dut: Any) -> None:
    """Wrong data count only if their result comes in front of the reset."""
    await start(dut, valid=0, data_key=0, offset=0, bytes=4, data=1)
    for clocks_to_reset in range(5):
        dut.valid.value = 1
        await clocks(dut, 1)
        dut.valid.value = 0
        results = []
        for clock in range(8):
            dut.rst.value = int(clock == clocks_to_reset)
            results.append(bool(dut.mismatch.value))
            await clocks(dut, 1)
        assert sum(results) == int(clocks_to_reset >= 2), clocks_to_reset
