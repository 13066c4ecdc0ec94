"""The checker: a wrong byte is told of, and bytes that do not count are not."""

import random
from typing import Any

import cocotb
import pytest
from cocotb.triggers import FallingEdge

from clocking import start
from simulator import run_bench


@cocotb.test()
async def wrong_bytes_are_told_of(dut: Any) -> None:
    """Any place and length; one bit changed where it counts, where it does not, and not at all."""
    await start(dut, valid=0, data_key=0, offset=0, bytes=0, data=0)
    width = len(dut.data) // 8
    tried = set()
    for _ in range(600):
        key, offset, length = random.getrandbits(32), random.getrandbits(42), random.randint(1, 2 * width)
        lead = offset & 3
        counts = range(lead, min(width, lead + length))
        words = ((offset & ~3) + place for place in range(0, width, 4))
        expected = b"".join((word & 0xFFFFFFFF ^ key).to_bytes(4, "little") for word in words)
        data = bytearray(random.randbytes(width))
        data[counts.start : counts.stop] = expected[counts.start : counts.stop]
        others = [place for place in range(width) if place not in counts]
        what = random.choice(["right", "wrong", "wrong", "beside", "unasked"])
        if what in ("wrong", "unasked"):
            place = random.choice([counts[0], counts[-1], random.choice(counts)])
            data[place] ^= 1 << random.randrange(8)
        if what == "beside" and others:
            data[random.choice(others)] ^= 1 << random.randrange(8)
        dut.valid.value, dut.data_key.value = int(what != "unasked"), key
        dut.offset.value, dut.bytes.value, dut.data.value = offset, length, int.from_bytes(data, "little")
        await FallingEdge(dut.clk)
        assert bool(dut.mismatch.value) == (what == "wrong"), (what, offset & 63, length)
        tried.add((what, lead))
    assert len(tried) == 16


@pytest.mark.slow
@pytest.mark.parametrize("data_width", [256, 512])
def test_data_checker(data_width: int) -> None:
    run_bench("data_checker", "test_data_checker", {"DATA_WIDTH": data_width})
