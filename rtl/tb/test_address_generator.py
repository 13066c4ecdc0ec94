"""Addresses equal those of the address list, for every pattern, with replays and unusable units."""

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from address_list import LIST_LENGTH, PATTERNS, AddressList
from clocking import clocks, start
from settings import packed


async def write_tables(dut: Any, units: list[int], pieces: list[int]) -> None:
    """Write the tables as software does before a test."""
    for index, unit in enumerate(units):
        dut.unit_write.value, dut.unit_address.value, dut.unit_data.value = 1, index, unit
        await FallingEdge(dut.clk)
    dut.unit_write.value = 0
    for index, half in enumerate(half for piece in pieces for half in (piece & 0xFFFFFFFF, piece >> 32)):
        dut.piece_write.value, dut.piece_address.value, dut.piece_data.value = 1, index, half
        await FallingEdge(dut.clk)
    dut.piece_write.value = 0


async def taken(dut: Any, count: int, ready_in_percent: int) -> list[tuple[int, int, int]]:
    """Take outputs: address, offset, whether in the buffer."""
    found: list[tuple[int, int, int]] = []
    for _ in range(40 * count + 1000):
        ready = random.randrange(100) < ready_in_percent
        dut.out_ready.value = int(ready)
        if ready and dut.out_valid.value:
            found.append((int(dut.out_address.value), int(dut.out_offset.value), int(dut.out_in_buffer.value)))
        await FallingEdge(dut.clk)
        if len(found) == count:
            break
    dut.out_ready.value = 0
    return found


async def check(dut: Any, wanted: AddressList, first: int, count: int, ready_in_percent: int = 100) -> None:
    """Check a test's addresses, from transaction ``first`` on."""
    shift = random.randint(20, 24)
    pieces = [random.getrandbits(40) << 20 for _ in range(-(-wanted.window >> shift) or 1)]
    await write_tables(dut, wanted.usable_in_period, pieces)
    pieces_of = {"pieces.count": len(pieces), "pieces.bytes_log2": shift}
    dut.settings.value = packed({**wanted.settings(first), **pieces_of})
    dut.start.value = 1
    await FallingEdge(dut.clk)
    dut.start.value = 0
    offsets = [wanted.offset(first + n) for n in range(count)]
    expected = [
        (pieces[offset >> shift] + (offset & (1 << shift) - 1) & (1 << 64) - 1, offset, 1) for offset in offsets
    ]
    assert await taken(dut, count, ready_in_percent) == expected, wanted


IDLE = {"start": 0, "settings": 0, "unit_write": 0, "piece_write": 0, "out_ready": 0}


@cocotb.test()
async def every_pattern_size_and_window(dut: Any) -> None:
    """Random tests, latency and bandwidth, started anywhere."""
    await start(dut, **IDLE)
    seen = set()
    for number in range(60):
        size = random.choice([1, 8, 63, 64, 65, 256, 257, 769, 1500, 2048, 4095, random.randint(1, 4096)])
        host_offset = random.choice([0, 0, 1, 63, random.randint(0, 63)])
        host_offset = min(host_offset, 4096 - size)
        unit = -(-(size + host_offset) // 64) * 64
        wanted = AddressList(
            size=size,
            host_offset=host_offset,
            window=random.choice([unit, 8192, 1 << 20, 1 << 26]) if unit <= 8192 else unit,
            pattern=PATTERNS[number % 4],
            stride=random.choice([3, 7, 1000]),
            key=random.getrandbits(64) | 1,
            transactions=random.choice([500, LIST_LENGTH, 2_000_000]),
            is_latency=number % 3 == 0,
        )
        wraps = random.random() < 0.4
        first = (wanted.transactions - random.randint(1, 20)) % LIST_LENGTH if wraps else random.randrange(400)
        if wanted.is_latency and wraps:
            first = LIST_LENGTH - random.randint(1, 20)
        seen.add((wanted.pattern, wanted.is_latency, wraps, len(wanted.usable_in_period) == wanted.period))
        await check(dut, wanted, first, 40, random.choice([100, 100, 50, 10]))
    assert len(seen) >= 16, f"too few combinations: {sorted(seen)}"


@cocotb.test()
async def sequential_and_strided_lists_go_round_the_window(dut: Any) -> None:
    """Forwards and backwards past the last unit, whatever the seed: 64 units are visited more than twice."""
    await start(dut, **IDLE)
    for pattern in ("sequential", "strided"):
        for is_latency in (True, False):
            wanted = AddressList(size=64, window=4096, pattern=pattern, stride=3, is_latency=is_latency)
            await check(dut, wanted, 0, 150)


@cocotb.test()
async def one_address_a_clock(dut: Any) -> None:
    """An always ready consumer gets an address every clock, once the pipeline is full."""
    await start(dut, **IDLE)
    await check(dut, AddressList(size=64, window=8192), 0, 1)
    await clocks(dut, 100)
    dut.out_ready.value = 1
    for _ in range(200):
        await FallingEdge(dut.clk)
        assert dut.out_valid.value


@cocotb.test()
async def addresses_outside_the_buffer_are_marked(dut: Any) -> None:
    """Beyond the last piece, and across the end of a piece."""
    await start(dut, **IDLE)
    wanted = AddressList(size=64, window=1 << 22, pattern="sequential", is_latency=True)
    await write_tables(dut, [0], [0, 0])
    settings = {**wanted.settings((1 << 15) - 1), "pieces.count": 2, "pieces.bytes_log2": 20}
    for changed, inside in (({}, [1, 1, 0, 0]), ({"host_offset": 1}, [1, 0, 0, 0])):
        dut.settings.value = packed({**settings, **changed})
        dut.start.value = 1
        await FallingEdge(dut.clk)
        dut.start.value = 0
        assert [entry[2] for entry in await taken(dut, 4, 100)] == inside
