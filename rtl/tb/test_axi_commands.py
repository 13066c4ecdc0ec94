"""Commands with their memory behind AXI: the tests of commands, above a slow memory, and reads behind writes."""

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import clocks
from commands import Command
from test_commands import (
    READ_END,
    a_fault_halts_until_a_reset,
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
