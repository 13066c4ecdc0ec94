"""The core requests no more than the hard block's buffer holds: no completion is dropped, no byte is wrong."""

import os
import random
from typing import Any

import cocotb
from cocotbext.pcie.core.caps import PciCapId

import registers as r
from address_list import AddressList
from root import READ_REQUESTS, CoreBehindBar, Root

BYTES = 96 << 10
"""Bytes of a test: three times the buffer."""
LINK_CONTROL, BOUNDARY_128 = 0x10, 1 << 3
LIMITS = READ_REQUESTS if "PCIELAB_RTL_TESTS" in os.environ else (512,)


async def read_all(root: Root, core: CoreBehindBar, size: int, host_offset: int) -> None:
    """Read with all tags, as fast as the link allows, and check every byte."""
    tags = await core.read(r.PARAMETERS) >> r.PARAMETERS_TAGS_SHIFT & r.PARAMETERS_TAGS_MASK
    unit = -(-(size + host_offset) // 64) * 64
    wanted = AddressList(size=size, host_offset=host_offset, window=max(64 << 10, unit))
    count = min(BYTES // size, 4 * tags)
    root.requests = []
    await core.describe(wanted, "bw-rd", count, root, outstanding=tags)
    await core.write(r.LINK_TAGS, tags)
    await core.write(r.TIMEOUT, 50_000)
    result = await core.run()
    case = f"{size} B at {host_offset}, MRRS {root.max_read_request}"
    assert root.dropped == 0, f"{case}: {root.dropped} completions are dropped"
    assert result == r.RESULT_COMPLETE, f"{case}: result {result}"
    assert await core.read_wide(r.BYTES_READ_LO) == size * count
    assert await core.read(r.DATA_MISMATCH_COUNT) == 0
    assert sum(length for _, _, length in root.requests) == size * count


@cocotb.test()
async def nothing_is_dropped(dut: Any) -> None:
    """Every MRRS, completions cut at each 64 bytes, and a host without latency."""
    root = Root(dut)
    core = await root.start()
    root.complex.split_on_all_rcb = True
    root.data_key = random.getrandbits(32)
    root.fill()
    for limit in LIMITS:
        await root.set_max_read_request(limit)
        code = await core.read(r.LINK) >> r.LINK_MAX_READ_REQUEST_SHIFT & r.LINK_MAX_READ_REQUEST_MASK
        assert 128 << code == limit
        for size, host_offset in ((limit, 0), (random.randint(1, 4096 - 63), random.choice([0, 1, 63]))):
            await read_all(root, core, size, host_offset)
    # Two completions for each tag, shorter than a beat: they arrive faster than the core takes them.
    await read_all(root, core, 8, 60)


@cocotb.test()
async def boundaries_of_128_bytes_need_half_the_headers(dut: Any) -> None:
    """The core reads the boundary from the link control register, and has more reads in flight."""
    root = Root(dut)
    core = await root.start()
    root.complex.split_on_all_rcb = True
    root.fill()
    await root.set_max_read_request(4096)
    waiting = {}
    for boundary in (64, 128):
        root.complex.read_completion_boundary = boundary == 128
        control = await root.function.capability_read_dword(PciCapId.EXP, LINK_CONTROL)
        control = control | BOUNDARY_128 if boundary == 128 else control & ~BOUNDARY_128
        await root.function.capability_write_dword(PciCapId.EXP, LINK_CONTROL, control)
        # Late enough for the budget to bind.
        root.delay_ns, root.overlaps, root.most_waiting = 2000, True, 0
        await read_all(root, core, 4096, 0)
        waiting[boundary] = root.most_waiting
    headers, space = int(dut.COMPLETION_HEADERS.value), int(dut.COMPLETION_DATA_BYTES.value)
    assert waiting == {64: min(headers // 64, space // 4096), 128: min(headers // 32, space // 4096)}
