"""The rules of ``contracts.sv`` pass for a stream that keeps them, and each fires for one that breaks it."""

from typing import Any

import cocotb
import pytest
from cocotb.triggers import FallingEdge

from clocking import start
from simulator import BenchFailedError, run_bench

LENGTH = 20
"""Double words of each packet: two full beats and one of four."""
BEATS = [
    {
        "valid": 1,
        "sop": int(n == 0),
        "eop": int(n == 2),
        "last": int(n == 2),
        "payload": n,
        "keep": keep,
        "length": LENGTH,
    }
    for n, keep in enumerate((0xFF, 0xFF, 0x0F))
]
IDLE = {"valid": 0, "ready": 1, "sop": 0, "eop": 0, "last": 0, "payload": 0, "keep": 0, "length": 0}


async def send(dut: Any, *beats: dict[str, int]) -> None:
    """Drive a beat each clock, after a whole packet that keeps every rule."""
    await start(dut, **IDLE)
    for beat in (*BEATS, *beats, IDLE, IDLE):
        for name, value in (IDLE | beat).items():
            getattr(dut, name).value = value
        await FallingEdge(dut.clk)


@cocotb.test()
async def every_rule_is_kept(dut: Any) -> None:
    """Packets behind each other, with waits."""
    first, *rest = BEATS
    await send(dut, first, *rest, {**first, "ready": 0}, first, *rest)


@cocotb.test()
async def valid_falls(dut: Any) -> None:
    await send(dut, {**BEATS[0], "ready": 0}, IDLE)


@cocotb.test()
async def payload_changes(dut: Any) -> None:
    await send(dut, {**BEATS[0], "ready": 0}, {**BEATS[0], "payload": 9})


@cocotb.test()
async def packet_starts_in_another(dut: Any) -> None:
    await send(dut, BEATS[0], {**BEATS[1], "sop": 1})


@cocotb.test()
async def packet_ends_early(dut: Any) -> None:
    await send(dut, BEATS[0], {**BEATS[1], "eop": 1})


@cocotb.test()
async def tlast_comes_early(dut: Any) -> None:
    await send(dut, BEATS[0], {**BEATS[1], "last": 1})


@cocotb.test()
async def last_beat_keeps_a_lane_too_many(dut: Any) -> None:
    await send(dut, *BEATS[:2], {**BEATS[2], "keep": 0x1F})


@cocotb.test()
async def packet_has_a_gap(dut: Any) -> None:
    await send(dut, BEATS[0], IDLE, *BEATS[1:])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("breach", "rule"),
    [
        ("valid_falls", "valid fell before ready"),
        ("payload_changes", "the payload changed before ready"),
        ("packet_starts_in_another", "sop is not at the start of a packet"),
        ("packet_ends_early", "eop does not fit the header's length"),
        ("tlast_comes_early", "tlast does not fit the descriptor's length"),
        ("last_beat_keeps_a_lane_too_many", "tkeep does not fit the descriptor's length"),
        ("packet_has_a_gap", "a packet has a gap"),
    ],
)
def test_rule_fires(breach: str, rule: str) -> None:
    with pytest.raises(BenchFailedError, match=rule):
        run_bench("flat_contracts", "test_contracts", only=breach)


@pytest.mark.slow
def test_kept_rules_are_silent() -> None:
    run_bench("flat_contracts", "test_contracts", only="every_rule_is_kept")
