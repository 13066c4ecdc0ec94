"""The budget: completions in flight fit the buffer, all of its space comes back, and parts stay in order."""

import random
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import clocks, settled, start
from test_splitter import packed

HEADERS, CREDITS = 64, 4096 // 16
"""The smallest buffer: one read of 4 KiB."""
IDLE = {
    "boundary_128": 0, "in_valid": 0, "in_part": 0, "in_first": 0, "in_last": 0, "in_parts": 0, "out_ready": 0,
    "freed": 0, "freed_first": 0, "freed_address": 0, "freed_bytes": 1,
}  # fmt: skip


def credits_of(address: int, payload: int) -> int:
    """Credits of one completion: 16 bytes of whole double words each."""
    dwords = (address % 4 + payload + 3) // 4
    return (dwords + 3) // 4


@dataclass
class Read:
    """A read in flight: from `address`, bytes left, and whether nothing has been answered yet."""

    address: int
    left: int
    first: bool = True

    def space(self, boundary: int) -> tuple[int, int]:
        """Headers and credits of its completions, if they are cut at every boundary."""
        headers, data = 0, 0
        at, left = self.address, self.left
        while left:
            payload = min(left, boundary - at % boundary)
            headers, data = headers + 1, data + credits_of(at, payload)
            at, left = at + payload, left - payload
        return headers, data

    def answer(self, boundary: int, cut_percent: int) -> int:
        """Bytes of the next completion: up to a random boundary."""
        payload = min(self.left, boundary - self.address % boundary)
        while payload < self.left and random.randrange(100) >= cut_percent:
            payload += min(self.left - payload, boundary)
        return payload


def random_part() -> tuple[bool, int, int, int]:
    """A part: write, address, offset, length; it does not cross 4 KiB."""
    length = random.choice([1, 4, 64, 65, 128, 512, 4096, random.randint(1, 4096)])
    within = random.choice([0, 0, 1, 3, 60, 64, 4096 - length, random.randrange(4096)])
    return random.random() < 0.2, random.getrandbits(40) << 12 | min(within, 4096 - length), 0, length


@cocotb.test()
async def completions_in_flight_fit_the_buffer(dut: Any) -> None:
    """Random reads, cut at random boundaries of 64 or 128 bytes and answered in any order."""
    await start(dut, **IDLE)
    for number, boundary in enumerate((64, 128, 64, 128)):
        dut.rst.value, dut.boundary_128.value = 1, int(boundary == 128)
        await FallingEdge(dut.clk)
        # It takes effect with a reset only.
        dut.rst.value, dut.boundary_128.value = 0, random.getrandbits(1)
        parts = [random_part() for _ in range(300)]
        todo, done = list(parts), 0
        flying: list[Read] = []
        fullest = 0
        for _ in range(20_000):
            if done == len(parts) and not flying:
                break
            dut.in_valid.value = int(bool(todo) and random.random() < 0.9)
            if todo:
                dut.in_part.value, dut.in_parts.value = packed(*todo[0]), todo[0][3] & 63
                dut.in_first.value, dut.in_last.value = todo[0][3] & 1, todo[0][3] >> 1 & 1
            dut.out_ready.value = int(random.random() < 0.7)
            read = random.choice(flying) if flying and random.random() < (0.9 if number > 1 else 0.2) else None
            payload = read.answer(boundary, random.choice([0, 40, 100])) if read else 1
            dut.freed.value = int(read is not None)
            if read:
                dut.freed_first.value, dut.freed_bytes.value = int(read.first), payload
                dut.freed_address.value = read.address & 127
            await settled()
            if dut.in_valid.value and dut.in_ready.value:
                todo.pop(0)
            if dut.out_valid.value and dut.out_ready.value:
                write, address, _, length = parts[done]
                assert int(dut.out_part.value) == packed(*parts[done])
                assert int(dut.out_parts.value) == length & 63
                assert int(dut.out_first.value) | int(dut.out_last.value) << 1 == length & 3
                assert dut.busy.value
                done += 1
                if not write:
                    flying.append(Read(address, length))
            spaces = [one.space(boundary) for one in flying]
            headers, data = sum(one[0] for one in spaces), sum(one[1] for one in spaces)
            assert headers <= HEADERS
            assert data <= CREDITS
            fullest = max(fullest, headers)
            await FallingEdge(dut.clk)
            if read:
                read.address, read.left, read.first = read.address + payload, read.left - payload, False
                flying = [one for one in flying if one.left]
        assert done == len(parts), f"{len(parts) - done} parts are stuck"
        assert fullest > (HEADERS if boundary == 64 else HEADERS // 2) * 0.7
        dut.in_valid.value = dut.freed.value = 0
        await clocks(dut, 4)
        assert not dut.busy.value
        assert (int(dut.headers.value), int(dut.credits.value)) == (HEADERS, CREDITS)


@cocotb.test()
async def reads_that_fit_take_one_clock_each(dut: Any) -> None:
    """As many as the buffer has headers for, without a pause; a reset drops those that wait."""
    await start(dut, **IDLE)
    dut.out_ready.value, dut.in_valid.value = 1, 1
    dut.in_part.value = packed(False, 0, 0, 64)
    left = 0
    for clock in range(HEADERS + 20):
        await settled()
        assert bool(dut.out_valid.value) == (2 <= clock < HEADERS + 2)
        left += int(dut.out_valid.value)
        await FallingEdge(dut.clk)
    assert left == HEADERS
    dut.in_valid.value, dut.rst.value = 0, 1
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    await settled()
    assert not dut.busy.value
    assert (int(dut.headers.value), int(dut.credits.value)) == (HEADERS, CREDITS)
