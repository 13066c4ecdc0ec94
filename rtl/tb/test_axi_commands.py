"""Commands with their memory behind AXI: the tests of commands, above a slow memory, and reads behind writes."""

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

import registers as r
from clocking import clocks
from commands import Command
from test_commands import (
    READ_END,
    a_fault_halts_until_a_reset,
    a_request_that_begins_as_commands_end_leaves_whole,
    a_reset_ends_commands_at_any_time,
    engine,
    every_command_moves_its_bytes,
    lengths_and_offsets_at_their_limits,
    load,
    loads_read_the_memory,
    store,
    stores_reach_the_memory_beside_answers,
    writes_change_only_their_own_bytes,
)

__all__ = [
    "a_fault_halts_until_a_reset",
    "a_request_that_begins_as_commands_end_leaves_whole",
    "a_reset_ends_commands_at_any_time",
    "every_command_moves_its_bytes",
    "lengths_and_offsets_at_their_limits",
    "loads_read_the_memory",
    "stores_reach_the_memory_beside_answers",
    "writes_change_only_their_own_bytes",
]


@cocotb.test()
async def a_read_comes_behind_the_writes_before_it(dut: Any) -> None:
    """A load right behind a store, and a command right behind a store, find what was stored."""
    _, host, engine_ = await engine(dut)
    await engine_.enable()
    for number in range(40):
        at, text = 64 * random.randrange(64), random.randbytes(64)
        await store(dut, at, text)
        assert await load(dut, at, 64) == text, number
    text = random.randbytes(4096)
    for at in range(0, 4096, 256):
        await store(dut, at, text[at : at + 256])
    await engine_.submit(Command(True, READ_END, 0, 4096))
    await engine_.until_done(1)
    await clocks(dut, 400)
    assert bytes(host.written[READ_END + n] for n in range(4096)) == text
    await FallingEdge(dut.clk)


@cocotb.test()
async def data_from_before_a_reset_are_dropped(dut: Any) -> None:
    """What a command has read, and the memory gives after a reset, is not what the next command sends."""
    core, host, engine_ = await engine(dut)
    assert core.memory is not None
    answers = core.memory.read_if.r_channel
    await engine_.enable()
    before, after = random.randbytes(512), random.randbytes(512)
    await store(dut, 0, before)
    await store(dut, 4096, after)
    await clocks(dut, 400)
    answers.clear_pause_generator()
    answers.pause = True
    await engine_.submit(Command(True, READ_END, 0, len(before)))
    await clocks(dut, 200)
    await engine_.disable()
    await core.control(r.CONTROL_RESET_SHIFT)
    await clocks(dut, 10)
    await engine_.enable()
    await engine_.submit(Command(True, READ_END, 4096, len(after)))
    await clocks(dut, 200)
    assert not host.written, "no data have come"
    answers.pause = False
    await engine_.until_done(1, 20_000)
    await clocks(dut, 100)
    assert bytes(host.written[READ_END + n] for n in range(len(after))) == after
