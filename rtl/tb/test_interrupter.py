"""The interrupter: one write for each event, none while masked, and no memory while MSI-X is off."""

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import clocks, settled, start

ADDRESS = 0xFEE0_1234_5678


async def written(dut: Any, limit: int = 20) -> int:
    """Count the writes that are offered and taken within some clocks."""
    found = 0
    for _ in range(limit):
        dut.request_ready.value = int(random.random() < 0.5)
        await settled()
        found += int(dut.request_valid.value and dut.request_ready.value)
        await FallingEdge(dut.clk)
    dut.request_ready.value = 0
    return found


async def happens(dut: Any) -> None:
    """Raise an event."""
    dut.event_happened.value = 1
    await FallingEdge(dut.clk)
    dut.event_happened.value = 0


@cocotb.test()
async def events_become_writes(dut: Any) -> None:
    """With MSI-X, function mask and vector mask on and off; several events while masked count once."""
    await start(
        dut, clear=0, event_happened=0, enable=0, function_mask=0, vector_mask=0, address=ADDRESS, request_ready=0
    )
    for enable, function, vector in ((1, 0, 0), (0, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1), (1, 0, 0)):
        dut.enable.value, dut.function_mask.value, dut.vector_mask.value = enable, function, vector
        await clocks(dut, 2)
        await happens(dut)
        goes = enable and not function and not vector
        assert await written(dut) == int(goes)
        await happens(dut)
        assert await written(dut) == int(goes)
        assert int(dut.pending.value) == int(enable and not goes)
        dut.function_mask.value, dut.vector_mask.value = 0, 0
        assert await written(dut) == int(enable and not goes)
        assert not dut.pending.value


@cocotb.test()
async def offered_write_stays_offered(dut: Any) -> None:
    """Under masks and resets; and its header is right."""
    await start(
        dut, clear=0, event_happened=0, enable=1, function_mask=0, vector_mask=0, address=ADDRESS, request_ready=0
    )
    await happens(dut)
    await clocks(dut, 2)
    assert dut.request_valid.value
    dut.clear.value, dut.vector_mask.value = 1, 1
    await clocks(dut, 2)
    dut.clear.value = 0
    assert dut.request_valid.value
    request = int(dut.request.value)
    # A write of one whole double word, without a tag and unreported: the lowest fields.
    assert request & 0xFFF == 0
    assert request >> 12 & 0xFF == 0xF0
    assert request >> 20 & 0x7FF == 1
    assert request >> 31 == 1 << 64 | ADDRESS
    assert await written(dut) == 1
    assert await written(dut) == 0
