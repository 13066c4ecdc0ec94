"""Clock, reset and bounded waits: what every bench needs of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

CLOCK_NS = 4


async def start(dut: Any, **inputs: int) -> None:
    """Starts the clock with the inputs set, and resets the module.

    Benches set inputs, and look at outputs, half a clock before the edge that takes them.
    """
    for name, value in inputs.items():
        getattr(dut, name).value = value
    cocotb.start_soon(Clock(dut.clk, CLOCK_NS, unit="ns").start())
    if hasattr(dut, "rst"):
        dut.rst.value = 1
        await clocks(dut, 3)
        dut.rst.value = 0
    await FallingEdge(dut.clk)


async def clocks(dut: Any, count: int) -> None:
    """Lets so many clocks pass."""
    for _ in range(count):
        await FallingEdge(dut.clk)


async def until(dut: Any, condition: Callable[[], bool], limit: int = 20_000) -> int:
    """Waits until a condition on registered outputs holds; says how many clocks it took.

    Raises:
        AssertionError: It does not within ``limit`` clocks.
    """
    for waited in range(limit):
        if condition():
            return waited
        await FallingEdge(dut.clk)
    raise AssertionError(f"nothing for {limit} clocks")


async def settled() -> None:
    """Lets outputs follow the inputs that were set, before the edge that takes them."""
    await ReadOnly()
