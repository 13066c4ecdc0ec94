"""Tags of 10 bits: as many reads in flight as tags, and only when the host enables them."""

from typing import Any

import cocotb

import registers as r
from address_list import AddressList
from clocking import clocks
from core import core_and_host
from host import Completion, Manners, Request


@cocotb.test()
async def ten_bit_tags_are_used_only_when_the_host_enables_them(dut: Any) -> None:
    """As Device Control 2 says: tags from 256 on, of which none has 00 as its upper bits; else tags below 256."""
    core, host = await core_and_host(dut)
    assert await core.read(r.PARAMETERS) >> r.PARAMETERS_TAGS_SHIFT & r.PARAMETERS_TAGS_MASK == 512
    host.manners = Manners(least_delay=700, most_delay=700)
    for enabled, link_tags in ((1, 0), (0, 0), (0, 512), (1, 512), (1, 300)):
        dut.ten_bit_tags.value = enabled
        await core.describe(AddressList(size=64, window=8192), "bw-rd", 1100, host, outstanding=512)
        await core.write(r.LINK_TAGS, link_tags)
        host.requests = []
        assert await core.run() == r.RESULT_COMPLETE
        tags = {request.tag for request in host.requests}
        count = link_tags or 512
        expected = range(256, 256 + count) if enabled else range(256)
        assert tags == set(expected), (enabled, link_tags, min(tags), max(tags), len(tags))


@cocotb.test()
async def tags_without_their_upper_bits_are_unknown(dut: Any) -> None:
    """A completer that drops the upper bits answers a tag that is not in flight."""
    core, host = await core_and_host(dut)
    dut.ten_bit_tags.value = 1
    for tag in (0, 5, 255, 768, 1023):

        def alter(_: Request, completions: list[Completion], tag: int = tag) -> list[Completion]:
            for completion in completions:
                completion.tag = tag
            return completions

        host.alter = alter
        await core.describe(AddressList(size=64, window=8192), "bw-rd", 1, host)
        assert await core.run() == r.RESULT_UNKNOWN_TAG, tag
        host.alter = None
        host.open.clear()
        await clocks(dut, 10)
        await core.control(r.CONTROL_RESET_SHIFT)
        await clocks(dut, 600)
