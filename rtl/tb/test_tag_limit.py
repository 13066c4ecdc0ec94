"""The number of tags: software's limit, that of both device control registers, and 32 where neither says more."""

from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import settled, start

TAGS = 512


@cocotb.test()
async def no_more_tags_than_the_host_allows(dut: Any) -> None:
    """Every combination of the limits; a change waits for the reset."""
    await start(dut, link_tags=0, extended_tags_known=0, extended_tags=0, ten_bit_tags=0)
    await settled()
    assert int(dut.count.value) == 32
    await FallingEdge(dut.clk)
    for link_tags, known, extended, ten_bit, count, wide in (
        (0, 0, 0, 0, 32, 0), (0, 0, 1, 1, 32, 0), (0, 1, 0, 0, 32, 0), (0, 1, 1, 0, 256, 0), (0, 1, 1, 1, TAGS, 1),
        # Device Control 2 alone does not enable them.
        (0, 1, 0, 1, 32, 0),
        (5, 0, 0, 0, 5, 0), (5, 1, 0, 0, 5, 0), (5, 1, 1, 0, 5, 0), (5, 1, 1, 1, 5, 1),
        (33, 1, 0, 0, 32, 0), (33, 0, 0, 0, 33, 0), (256, 0, 0, 0, 256, 0), (257, 0, 0, 0, 257, 1),
        (257, 1, 1, 0, 256, 0), (TAGS, 0, 0, 0, TAGS, 1), (TAGS, 1, 0, 0, 32, 0), (TAGS, 1, 1, 0, 256, 0),
        (TAGS, 1, 1, 1, TAGS, 1),
    ):  # fmt: skip
        before = int(dut.count.value)
        dut.link_tags.value, dut.extended_tags_known.value = link_tags, known
        dut.extended_tags.value, dut.ten_bit_tags.value = extended, ten_bit
        for _ in range(2):
            await FallingEdge(dut.clk)
            assert int(dut.count.value) == before
        dut.rst.value = 1
        await FallingEdge(dut.clk)
        dut.rst.value = 0
        await settled()
        found = int(dut.count.value), int(dut.wide.value)
        assert found == (count, wide), (link_tags, known, extended, ten_bit)
        await FallingEdge(dut.clk)
