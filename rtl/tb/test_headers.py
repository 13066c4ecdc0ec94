"""Adding and stripping headers gives the same packets, without extra clocks."""

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import settled, start

IDLE = {
    "in_valid": 0, "in_sop": 0, "in_eop": 0, "in_header": 0, "in_dwords": 0, "in_damaged": 0, "in_data": 0,
    "pass": 0, "out_ready": 0,
}  # fmt: skip

Packet = tuple[int, list[int]]
"""A header, and the double words after it."""


def number_of(dwords: list[int]) -> int:
    """Concatenate double words, the first one lowest."""
    return sum(dword << 32 * lane for lane, dword in enumerate(dwords))


async def through(dut: Any, packets: list[Packet], percent: tuple[int, int, int]) -> tuple[list[Packet], int]:
    """Send packets through both modules; the output and its clocks. Checks the stream between them."""
    lanes, header_dwords = len(dut.in_data) // 32, len(dut.in_header) // 32
    todo = [
        (header, dwords, first) for header, dwords in packets for first in range(0, max(1, len(dwords)), lanes)
    ]
    between: list[int] = []
    lengths = iter([header_dwords + len(dwords) for _, dwords in packets])
    out: list[Packet] = []
    coming: Packet | None = None
    for clock in range(40 * len(todo) + 200):
        if len(out) == len(packets):
            return out, clock
        offers = bool(todo) and random.randrange(100) < percent[0]
        if todo and (dut.in_valid.value or offers):
            header, dwords, first = todo[0]
            beat = dwords[first : first + lanes]
            dut.in_valid.value, dut.in_sop.value = 1, int(first == 0)
            dut.in_eop.value = int(first + lanes >= len(dwords))
            dut.in_header.value = header if first == 0 else random.getrandbits(32 * header_dwords)
            dut.in_dwords.value = len(dwords) if first == 0 else random.getrandbits(11)
            junk = [random.getrandbits(32) for _ in range(lanes - len(beat))]
            dut.in_data.value = number_of(beat + junk)
        else:
            dut.in_valid.value = 0
        getattr(dut, "pass").value = int(random.randrange(100) < percent[1])
        dut.out_ready.value = int(random.randrange(100) < percent[2])
        await settled()
        taken = bool(dut.in_valid.value and dut.in_ready.value)
        if dut.between_valid.value and dut.between_ready.value and getattr(dut, "pass").value:
            keep = int(dut.between_keep.value)
            assert keep & keep + 1 == 0, "double words between others are missing"
            assert bool(dut.between_first.value) == (not between)
            between.append(keep.bit_count())
            assert between[-1] == lanes or dut.between_last.value
            if dut.between_last.value:
                assert sum(between) == next(lengths)
                between = []
        if dut.out_valid.value and dut.out_ready.value:
            beat = [int(dut.out_data.value) >> 32 * lane & 0xFFFFFFFF for lane in range(lanes)]
            if dut.out_sop.value:
                assert coming is None, "a packet starts in the middle of another"
                coming = (int(dut.out_header.value), [])
            assert coming is not None, "a beat that belongs to no packet"
            coming[1].extend(beat)
            if dut.out_eop.value:
                wanted = len(packets[len(out)][1])
                assert len(coming[1]) == max(1, -(-wanted // lanes)) * lanes
                out.append((coming[0], coming[1][:wanted]))
                coming = None
        await FallingEdge(dut.clk)
        if taken:
            todo.pop(0)
            dut.in_valid.value = 0
    raise AssertionError(f"{len(packets) - len(out)} packets are missing")


def random_packets(dut: Any, count: int) -> list[Packet]:
    """Packets of all lengths, especially around the end of a beat."""
    lanes, header_dwords = len(dut.in_data) // 32, len(dut.in_header) // 32
    lengths = [0, 1, 2, lanes - header_dwords, lanes - header_dwords + 1, lanes, lanes + 1, 2 * lanes, 40]
    return [
        (
            random.getrandbits(32 * header_dwords),
            [random.getrandbits(32) for _ in range(random.choice([*lengths, random.randrange(300)]))],
        )
        for _ in range(count)
    ]


@cocotb.test()
async def packets_come_out_as_they_went_in(dut: Any) -> None:
    """Every length, with pauses at every interface; without pauses, one clock for each beat."""
    await start(dut, **IDLE)
    lanes, header_dwords = len(dut.in_data) // 32, len(dut.in_header) // 32
    for percent in ((100, 100, 100), (50, 100, 100), (100, 50, 100), (100, 100, 50), (60, 60, 60)):
        packets = random_packets(dut, 60)
        found, clocks = await through(dut, packets, percent)
        beats = sum(-(-(header_dwords + len(dwords)) // lanes) for _, dwords in packets)
        assert clocks >= beats
        assert percent != (100, 100, 100) or clocks <= beats + 2
        for got, sent in zip(found, packets, strict=True):
            assert got == sent, len(sent[1])


@cocotb.test()
async def damage_marks_its_own_packet(dut: Any) -> None:
    """In any beat, with the last one, and never with the next packet."""
    await start(dut, **IDLE)
    lanes, header_dwords = len(dut.in_data) // 32, len(dut.in_header) // 32
    getattr(dut, "pass").value, dut.out_ready.value = 1, 1
    for dwords in (0, 3, lanes, 2 * lanes - header_dwords, 3 * lanes):
        beats = -(-(dwords + header_dwords) // lanes)
        for damaged in range(beats):
            packet, marked = -1, set()
            for clock in range(2 * beats + 4):
                # Two packets without a pause between them; a flush takes no input.
                first = clock % beats * lanes
                dut.in_valid.value = int(clock < 2 * beats)
                dut.in_sop.value, dut.in_eop.value = int(first == 0), int(first + lanes >= dwords)
                dut.in_dwords.value, dut.in_damaged.value = dwords, int(clock == damaged)
                await settled()
                if dut.out_valid.value:
                    packet += int(dut.out_sop.value)
                    marked |= {packet} if dut.out_damaged.value else set()
                await FallingEdge(dut.clk)
            assert (packet, marked) == (1, {0}), (dwords, damaged)
