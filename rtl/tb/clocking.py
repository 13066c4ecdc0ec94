"""Clock, reset and bounded waits for all benches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

CLOCK_NS = 4


async def start(dut: Any, **inputs: int) -> None:
    """Set the inputs, start the clock, and reset the module.

    Benches set inputs and read outputs half a clock before the edge that takes them.
    """
    for name, value in inputs.items():
        getattr(dut, name).value = value
    cocotb.start_soon(Clock(dut.clk, CLOCK_NS, unit="ns").start())
    if hasattr(dut, "rst"):
        dut.rst.value = 1
        # Three edges at least: there is none at first where the random initial clock is high.
        await clocks(dut, 4)
        dut.rst.value = 0
    await FallingEdge(dut.clk)


async def clocks(dut: Any, count: int) -> None:
    """Wait for some clocks."""
    for _ in range(count):
        await FallingEdge(dut.clk)


async def until(dut: Any, condition: Callable[[], bool], limit: int = 20_000) -> int:
    """Wait until a condition on registered outputs holds; the number of clocks that it took.

    Raises:
        AssertionError: It does not hold within ``limit`` clocks.
    """
    for waited in range(limit):
        if condition():
            return waited
        await FallingEdge(dut.clk)
    raise AssertionError(f"the condition does not hold within {limit} clocks")


async def settled() -> None:
    """Let outputs follow new inputs, before the edge that takes them."""
    await ReadOnly()
