"""The number of tags: software's limit, Device Control's, and 32 where neither says more."""

from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import settled, start

TAGS = 64


@cocotb.test()
async def no_more_tags_than_the_host_allows(dut: Any) -> None:
    """Every combination of the limits; a change waits for the reset."""
    await start(dut, link_tags=0, extended_tags_known=0, extended_tags=0)
    await settled()
    assert int(dut.count.value) == 32
    await FallingEdge(dut.clk)
    for link_tags, known, extended, count in (
        (0, 0, 0, 32), (0, 0, 1, 32), (0, 1, 0, 32), (0, 1, 1, TAGS),
        (5, 0, 0, 5), (5, 1, 0, 5), (5, 1, 1, 5), (33, 1, 0, 32), (33, 0, 0, 33),
        (TAGS, 0, 0, TAGS), (TAGS, 1, 0, 32), (TAGS, 1, 1, TAGS),
    ):  # fmt: skip
        before = int(dut.count.value)
        dut.link_tags.value, dut.extended_tags_known.value, dut.extended_tags.value = link_tags, known, extended
        await FallingEdge(dut.clk)
        assert int(dut.count.value) == before
        dut.rst.value = 1
        await FallingEdge(dut.clk)
        dut.rst.value = 0
        await settled()
        assert int(dut.count.value) == count, (link_tags, known, extended)
        await FallingEdge(dut.clk)
