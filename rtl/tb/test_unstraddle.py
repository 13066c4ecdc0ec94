"""Packets that start in the beat where another ends come out separate, whole, and as fast as they came in."""

import random
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import settled, start

IDLE = {"in_valid": 0, "in_starts": 0, "in_ends": 0, "in_last_dword": 0, "in_damaged": 0, "in_data": 0}
Packet = list[int]
"""Double words: three of the header, then the payload."""


@dataclass
class Beat:
    """A beat of the input: double words, segments where packets start and end, and the packets in it."""

    dwords: list[int] = field(default_factory=list)
    starts: int = 0
    ends: int = 0
    last_dword: int = 0
    packets: set[int] = field(default_factory=set)


def straddled(packets: list[Packet], segments: int, starts_at: int, full: bool) -> list[Beat]:
    """Put packets into beats; each starts at a multiple of ``starts_at`` segments, or sometimes in a new beat."""
    beats: list[Beat] = []
    at = segments
    for number, packet in enumerate(packets):
        at = -(-at // starts_at) * starts_at
        if not full and random.random() < 0.3:
            at = segments
        for first in range(0, len(packet), 4):
            if at == segments:
                beats.append(Beat([random.getrandbits(32) for _ in range(4 * segments)]))
                at = 0
            beat, part = beats[-1], packet[first : first + 4]
            beat.packets.add(number)
            beat.dwords[4 * at : 4 * at + len(part)] = part
            if first == 0:
                beat.starts |= 1 << at
            if first + 4 >= len(packet):
                beat.ends |= 1 << at
                beat.last_dword |= len(part) - 1 << 2 * at
            at += 1
    return beats


async def through(
    dut: Any, packets: list[Packet], beats: list[Beat], percent: int, damaged: int
) -> tuple[list[Packet], set[int], int]:
    """Send beats; the packets that come out, those that are damaged, and the clocks."""
    lanes = len(dut.in_data) // 32
    todo = list(enumerate(beats))
    out: list[Packet] = []
    marked = set[int]()
    for clock in range(20 * len(beats) + 20 * len(packets) + 20):
        if len(out) == len(packets) and (not out or len(out[-1]) >= len(packets[-1])):
            return [found[: len(sent)] for found, sent in zip(out, packets, strict=True)], marked, clock
        if todo and (dut.in_valid.value or random.randrange(100) < percent):
            number, beat = todo[0]
            dut.in_valid.value, dut.in_starts.value, dut.in_ends.value = 1, beat.starts, beat.ends
            dut.in_last_dword.value, dut.in_damaged.value = beat.last_dword, int(number == damaged)
            dut.in_data.value = sum(dword << 32 * lane for lane, dword in enumerate(beat.dwords))
        await settled()
        taken = bool(dut.in_valid.value and dut.in_ready.value)
        if dut.out_valid.value:
            beat_out = [int(dut.out_data.value) >> 32 * lane & 0xFFFFFFFF for lane in range(lanes)]
            if dut.out_sop.value:
                header = int(dut.out_header.value)
                out.append([header >> 32 * n & 0xFFFFFFFF for n in range(3)])
            out[-1] += beat_out
            sent = len(packets[len(out) - 1])
            assert bool(dut.out_eop.value) == (len(out[-1]) >= sent), "a packet ends early or late"
            # A packet without payload takes a beat.
            assert len(out[-1]) < max(sent, 4) + lanes
            if dut.out_damaged.value:
                marked.add(len(out) - 1)
        await FallingEdge(dut.clk)
        if taken:
            todo.pop(0)
            dut.in_valid.value = 0
    raise AssertionError(f"{len(packets) - len(out)} packets are missing")


def random_packets(count: int) -> list[Packet]:
    """Packets of all lengths, mostly short."""
    lengths = [0, 1, 2, 4, 5, 8, 12, 13, 16, 17, 20, 28, 29, 32, 33]
    return [
        [random.getrandbits(32) for _ in range(3 + random.choice([*lengths, random.randrange(130)]))]
        for _ in range(count)
    ]


@cocotb.test()
async def packets_come_out_as_they_went_in(dut: Any) -> None:
    """Every length, with starts in every segment or in every second one, with gaps and without."""
    await start(dut, **IDLE)
    segments = len(dut.in_data) // 128
    for starts_at in sorted({1, 2, segments}):
        for percent, full in ((100, True), (50, False), (100, False), (70, True)):
            packets = random_packets(80)
            beats = straddled(packets, segments, starts_at, full)
            found, marked, _ = await through(dut, packets, beats, percent, -1)
            assert found == packets
            assert not marked


@cocotb.test()
async def the_output_sets_the_pace(dut: Any) -> None:
    """One beat each clock, in or out, whichever there are more of."""
    await start(dut, **IDLE)
    segments = len(dut.in_data) // 128
    for dwords in (1, 2, 8, 16, 32, 64, 65):
        packets = [[random.getrandbits(32) for _ in range(3 + dwords)] for _ in range(60)]
        beats = straddled(packets, segments, 1, True)
        _, _, taken = await through(dut, packets, beats, 100, -1)
        out_beats = len(packets) * -(-dwords // (4 * segments))
        assert taken <= max(len(beats), out_beats) * 1.01 + 5, dwords


@cocotb.test()
async def damage_marks_the_packets_of_its_beat(dut: Any) -> None:
    """All that have a segment in the damaged beat, and no other."""
    await start(dut, **IDLE)
    segments = len(dut.in_data) // 128
    for _ in range(20):
        packets = random_packets(10)
        beats = straddled(packets, segments, 1, False)
        damaged = random.randrange(len(beats))
        _, marked, _ = await through(dut, packets, beats, 100, damaged)
        assert marked == beats[damaged].packets
