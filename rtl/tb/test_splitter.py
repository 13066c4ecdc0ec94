"""The splitter cuts transfers at MRRS, MPS and 4 KiB, and loses no part."""

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import settled, start


def packed(write: bool, address: int, offset: int, length: int) -> int:
    """A ``transfer_t``."""
    return ((int(write) << 64 | address) << 42 | offset) << 13 | length


def unpacked(bits: int) -> tuple[bool, int, int, int]:
    """The fields of a ``transfer_t``."""
    return bool(bits >> 119 & 1), bits >> 55 & (1 << 64) - 1, bits >> 13 & (1 << 42) - 1, bits & 0x1FFF


def parts_of(write: bool, address: int, length: int, limits: tuple[int, int]) -> list[tuple[int, int]]:
    """The parts of a transfer, cut at multiples of the limit of its kind."""
    limit, cuts = limits[write], []
    while length:
        part = min(length, limit - address % limit)
        cuts.append((address, part))
        address, length = address + part, length - part
    return cuts


@cocotb.test()
async def transfers_are_cut_at_their_limits(dut: Any) -> None:
    """Random limits, addresses and lengths, under back-pressure."""
    await start(dut, in_valid=0, out_ready=0, max_payload=0, max_read_request=0)
    tried = set()
    for _ in range(60):
        codes = random.randrange(6), random.randrange(6)
        dut.max_read_request.value, dut.max_payload.value = codes
        limits = 128 << codes[0], 128 << codes[1]
        dut.in_valid.value = 0
        await FallingEdge(dut.clk)
        transfers, expected = [], []
        for _ in range(6):
            write, length = random.random() < 0.5, random.choice([1, 64, 128, 129, 4096, random.randint(1, 4096)])
            address = random.getrandbits(50) << 12 | random.randrange(4096 - length + 1)
            if random.random() < 0.3:
                address = random.getrandbits(62)
            offset = random.getrandbits(29) << 12 | address & 0xFFF
            transfers.append((write, address, offset, length))
            cuts = parts_of(write, address, length, limits)
            tried.add((codes[write], write, min(len(cuts), 3)))
            expected += [
                ((write, at, offset + at - address, part), int(n == 0), int(n == len(cuts) - 1), len(cuts))
                for n, (at, part) in enumerate(cuts)
            ]
        found: list[Any] = []
        todo, patience, ready_in_percent = list(transfers), 3000, random.choice([100, 60, 20])
        while len(found) < len(expected) and patience:
            patience -= 1
            dut.in_valid.value = int(bool(todo))
            if todo:
                dut.in_transfer.value = packed(*todo[0])
            dut.out_ready.value = int(random.randrange(100) < ready_in_percent)
            await settled()
            if dut.out_valid.value and dut.out_ready.value:
                part = unpacked(int(dut.out_part.value))
                found.append((part, int(dut.out_first.value), int(dut.out_last.value), int(dut.out_parts.value)))
            if dut.in_valid.value and dut.in_ready.value:
                todo.pop(0)
            await FallingEdge(dut.clk)
        assert found == expected
    assert len(tried) >= 20, tried


@cocotb.test()
async def a_transfer_is_cut_by_one_limit_though_limits_change(dut: Any) -> None:
    """The host changes MPS and MRRS while transfers wait and are cut."""
    await start(dut, in_valid=0, out_ready=0, max_payload=0, max_read_request=0)
    limits = [(128, 128)]
    todo, taken, parts, changed = 200, [], [], 0
    while todo or len(parts) < len(taken) or (parts and not parts[-1][-1][2]):
        if random.random() < 0.3:
            codes = random.randrange(6), random.randrange(6)
            dut.max_read_request.value, dut.max_payload.value = codes
            limits.append((128 << codes[0], 128 << codes[1]))
        else:
            limits.append(limits[-1])
        write, length = random.random() < 0.5, random.choice([64, 512, 4096, random.randint(1, 4096)])
        address = random.getrandbits(50) << 12 | random.randrange(4096 - length + 1)
        dut.in_valid.value = int(todo > 0)
        dut.in_transfer.value = packed(write, address, 0, length)
        dut.out_ready.value = int(random.random() < 0.7)
        await settled()
        if dut.out_valid.value and dut.out_ready.value:
            _, at, _, size = unpacked(int(dut.out_part.value))
            if int(dut.out_first.value):
                parts.append([])
            parts[-1].append((at, size, int(dut.out_last.value)))
        if todo and dut.in_ready.value:
            todo -= 1
            taken.append((write, address, length, limits[-2]))
        await FallingEdge(dut.clk)
    for (write, address, length, limit), found in zip(taken, parts, strict=True):
        expected = parts_of(write, address, length, limit)
        assert [(at, size) for at, size, _ in found] == expected
        changed += len(expected) > 1
    assert changed > 50
