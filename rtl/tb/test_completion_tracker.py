"""The tracker: completions in any order, cut anywhere, and every kind of fault."""

import random
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge
from cocotb.utils import get_sim_time

import registers as r
from clocking import CLOCK_NS, settled, start, until

TAGS = 32
LANES = 8
"""Double words of a beat."""
RCB = 64
IDLE = {
    "ten_bit_tags": 0,
    "timeout": 100_000, "issue": 0, "issue_tag": 0, "issue_slot": 0, "issue_parts": 1, "issue_offset": 0,
    "issue_length": 1, "rx_valid": 0, "rx_sop": 0, "rx_eop": 0, "rx_tag": 0, "rx_status": 0, "rx_poisoned": 0,
    "rx_byte_count": 0, "rx_lower_address": 0, "rx_dwords": 0, "rx_data": 0,
}  # fmt: skip
BEAT_CLOCKS, RESULT_CLOCKS = 2, 3
"""From a beat to its expected data and to a free tag; to all other results."""
OUTPUTS = {
    "free_tag": BEAT_CLOCKS, "freed_tag": BEAT_CLOCKS, "free_slot": RESULT_CLOCKS, "freed_slot": RESULT_CLOCKS,
    "beat_data": BEAT_CLOCKS, "expected_offset": BEAT_CLOCKS, "expected_data": BEAT_CLOCKS,
    "expected_bytes": BEAT_CLOCKS, "transfer_done": RESULT_CLOCKS, "received_bytes": RESULT_CLOCKS,
    "fault": RESULT_CLOCKS, "fault_kind": RESULT_CLOCKS, "space_freed": BEAT_CLOCKS,
    "space_freed_first": BEAT_CLOCKS, "space_freed_address": BEAT_CLOCKS, "space_freed_bytes": BEAT_CLOCKS,
}  # fmt: skip


@dataclass
class Open:
    """A request in flight."""

    slot: int
    parts: int
    offset: int
    length: int
    received: int = 0


async def issue(dut: Any, tag: int, request: Open) -> None:
    """Announce a request for one clock. It leaves in the next one, and is answered later."""
    dut.issue.value, dut.issue_tag.value, dut.issue_slot.value = 1, tag, request.slot
    dut.issue_parts.value = request.parts
    dut.issue_offset.value, dut.issue_length.value = request.offset, request.length
    await FallingEdge(dut.clk)
    dut.issue.value = 0
    await FallingEdge(dut.clk)


@dataclass
class Header:
    """The header of a completion."""

    tag: int
    byte_count: int
    lower_address: int
    dwords: int
    status: int = 0
    poisoned: int = 0
    payload: int = 0


def next_completion(tag: int, request: Open, cut: bool) -> Header:
    """The next completion of a request: up to the next boundary, or the rest."""
    left, at = request.length - request.received, request.offset + request.received
    payload = min(left, RCB - at % RCB) if cut else left
    return Header(tag, left, at & 127, (at % 4 + payload + 3) // 4, payload=payload)


@dataclass
class Outputs:
    """The tracker's outputs for each beat, which come some clocks after it. ``run`` it in the background."""

    dut: Any
    found: dict[int, dict[str, int]] = field(default_factory=dict)

    @property
    def clock(self) -> int:
        """The current clock."""
        return int(get_sim_time("ns")) // CLOCK_NS

    async def run(self) -> None:
        """Watch the outputs until the bench ends: without a beat there is no result."""
        while True:
            await settled()
            for name, later in OUTPUTS.items():
                value = int(getattr(self.dut, name).value)
                self.found.setdefault(self.clock - later, {})[name] = value
            self.found.pop(self.clock - 200, None)
            await FallingEdge(self.dut.clk)

    async def of(self, beats: list[int]) -> list[dict[str, int]]:
        """The outputs for the beats of some clocks, once they are complete."""
        while self.clock <= beats[-1] + RESULT_CLOCKS:
            await FallingEdge(self.dut.clk)
        return [self.found[clock] for clock in beats]


async def tracker(dut: Any, **inputs: int) -> Outputs:
    """Reset the tracker, and watch it."""
    await start(dut, **{**IDLE, **inputs})
    outputs = Outputs(dut)
    cocotb.start_soon(outputs.run())
    await until(dut, lambda: bool(dut.ready.value), limit=TAGS + 5)
    return outputs


async def drive(outputs: Outputs, header: Header) -> list[int]:
    """Send a completion, beat by beat, with gaps; the clock of each beat."""
    dut = outputs.dut
    beats, sent = 1 if header.status else max(1, -(-header.dwords // LANES)), []
    bad_beat = random.choice([0, beats // 2])
    for beat in range(beats):
        while random.random() < 0.2:
            dut.rx_valid.value = 0
            await FallingEdge(dut.clk)
        dut.rx_valid.value, dut.rx_sop.value = 1, int(beat == 0)
        dut.rx_eop.value = int(beat == beats - 1)
        dut.rx_tag.value = header.tag if beat == 0 else random.getrandbits(8)
        dut.rx_status.value = header.status if beat == 0 else random.getrandbits(3)
        dut.rx_poisoned.value = int(header.poisoned and beat == bad_beat)
        dut.rx_byte_count.value = header.byte_count
        dut.rx_lower_address.value = header.lower_address
        dut.rx_dwords.value = header.dwords if beat == 0 else random.getrandbits(11)
        dut.rx_data.value = outputs.clock
        sent.append(outputs.clock)
        await FallingEdge(dut.clk)
    dut.rx_valid.value = 0
    return sent


async def send(outputs: Outputs, header: Header) -> list[dict[str, int]]:
    """Send a completion; the tracker's outputs for each beat."""
    sent = await drive(outputs, header)
    said = await outputs.of(sent)
    assert [beat["beat_data"] for beat in said] == sent
    return said


@cocotb.test()
async def answers_count_for_their_requests(dut: Any) -> None:
    """Transfers of several requests, answered in any order, whole or cut; the expected offsets are right."""
    outputs = await tracker(dut)
    seen = set()
    for _ in range(40):
        free_tags, free_slots = random.sample(range(TAGS), TAGS), random.sample(range(TAGS), TAGS)
        flying: dict[int, Open] = {}
        answered: dict[int, int] = {}
        for _ in range(random.randint(1, 8)):
            slot, parts = free_slots.pop(), random.choice([1, 1, 2, 3])
            for _ in range(parts):
                tag = free_tags.pop()
                flying[tag] = Open(slot, parts, random.getrandbits(40), random.choice([1, 3, 64, 200, 512]))
                await issue(dut, tag, flying[tag])
        assert not dut.quiet.value
        while flying:
            tag = random.choice(list(flying))
            request = flying[tag]
            header = next_completion(tag, request, cut=random.random() < 0.6)
            said = await send(outputs, header)
            assert not any(beat["fault"] for beat in said)
            offset = request.offset + request.received
            assert said[0]["expected_offset"] == offset
            assert said[0]["expected_bytes"] == header.payload
            for number, beat in enumerate(said):
                assert beat["expected_data"]
                if number:
                    # Later beats start at whole double words.
                    at = (offset & ~3) + 32 * number
                    assert beat["expected_offset"] == at
                    assert beat["expected_bytes"] == offset + header.payload - at
            last = said[-1]
            assert [beat["space_freed"] for beat in said] == [0] * (len(said) - 1) + [1]
            assert (last["space_freed_first"], last["space_freed_address"], last["space_freed_bytes"]) == (
                int(request.received == 0), offset & 127, header.payload,
            )  # fmt: skip
            request.received += header.payload
            done = request.received == request.length
            assert (last["received_bytes"], last["free_tag"]) == (header.payload, int(done))
            assert all(beat["received_bytes"] == 0 and not beat["free_tag"] for beat in said[:-1])
            if done:
                assert last["freed_tag"] == tag
                del flying[tag]
                answered[request.slot] = answered.get(request.slot, 0) + 1
            whole = done and answered[request.slot] == request.parts
            assert (last["transfer_done"], last["free_slot"]) == (int(whole), int(whole))
            if whole:
                assert last["freed_slot"] == request.slot
            seen.add((done, whole, len(said) > 1))
        await FallingEdge(dut.clk)
        assert dut.quiet.value
    assert len(seen) == 6, seen


FAULTS = {
    "fewer bytes left": r.RESULT_WRONG_LENGTH,
    "more bytes left": r.RESULT_WRONG_LENGTH,
    "128 bytes more left": r.RESULT_WRONG_LENGTH,
    "lower address": r.RESULT_WRONG_LENGTH,
    "no data": r.RESULT_WRONG_LENGTH,
    "too long": r.RESULT_WRONG_LENGTH,
    "off a boundary": r.RESULT_WRONG_LENGTH,
    "status": r.RESULT_ERROR_STATUS,
    "poisoned": r.RESULT_POISONED,
    "free tag": r.RESULT_UNKNOWN_TAG,
    "tag beyond the core": r.RESULT_UNKNOWN_TAG,
    "retired tag": r.RESULT_UNKNOWN_TAG,
}


@cocotb.test()
async def every_fault_has_its_kind(dut: Any) -> None:
    """Once, with the last beat; a completion that does not fit its request retires the tag until a reset."""
    outputs = await tracker(dut)
    for kind, result in FAULTS.items():
        dut.rst.value = 1
        await FallingEdge(dut.clk)
        dut.rst.value = 0
        await until(dut, lambda: bool(dut.ready.value), limit=TAGS + 5)
        tag = random.randrange(TAGS)
        request = Open(3, 1, random.getrandbits(30) & ~3, 300)
        await issue(dut, tag, request)
        header = next_completion(tag, request, cut=False)
        match kind:
            case "fewer bytes left":
                # The number of double words stays the same.
                header.byte_count -= 1
            case "more bytes left":
                header.byte_count += random.choice([1, 64])
            case "128 bytes more left":
                # The lower address stays the same, and the completion ends at a boundary.
                header = next_completion(tag, request, cut=True)
                header.byte_count += 128
            case "lower address":
                header.lower_address ^= random.choice([4, 64])
            case "no data":
                header.dwords = 0
            case "too long":
                header.dwords += 1
            case "off a boundary":
                header.dwords = 17 - request.offset % 64 // 4 + (request.offset % 64 == 0)
            case "status":
                # It carries no data.
                header.status, header.dwords = random.choice([1, 2, 4]), 0
            case "poisoned":
                header.poisoned = 1
            case "free tag":
                header.tag = (tag + 1) % TAGS
            case "tag beyond the core":
                header.tag = tag + TAGS
            case "retired tag":
                await send(outputs, Header(tag, 1, 0, 1))
        said = await send(outputs, header)
        assert [beat["fault"] for beat in said] == [0] * (len(said) - 1) + [1], kind
        assert said[-1]["fault_kind"] == result, kind
        fits = result != r.RESULT_WRONG_LENGTH
        retired = int(not fits or kind == "retired tag")
        assert int(dut.retired_count.value) == retired, kind
        assert said[-1]["received_bytes"] == (300 if kind == "poisoned" else 0), kind
        await FallingEdge(dut.clk)
        assert bool(dut.quiet.value) == (kind not in ("free tag", "tag beyond the core")), kind
        assert not said[-1]["expected_data"], kind
        # An error status answers the whole request; a completion that does not fit may be followed by others.
        freed = 300 if kind in ("status", "poisoned") else 0
        assert said[-1]["space_freed"] * said[-1]["space_freed_bytes"] == freed, kind


@cocotb.test()
async def completions_without_a_gap_count_one_by_one(dut: Any) -> None:
    """Cut completions of one request follow each other at once; what follows the last one has an unknown tag."""
    outputs = await tracker(dut)
    for _ in range(30):
        # The shorter request is answered in one beat.
        length = random.choice([512, 16])
        tag, request = random.randrange(TAGS), Open(3, 1, random.getrandbits(30) & ~63, length)
        await issue(dut, tag, request)
        headers = []
        while request.received < request.length:
            headers.append(next_completion(tag, request, cut=True))
            request.received += headers[-1].payload
        repeated = random.random() < 0.5
        ends = []
        for header in [*headers, *headers[-1:] * repeated]:
            ends.append((await drive(outputs, header))[-1])
        said = await outputs.of(ends)
        count = len(headers)
        assert [beat["received_bytes"] for beat in said] == [min(length, 64)] * count + [0] * repeated
        assert [beat["free_tag"] for beat in said] == [0] * (count - 1) + [1] + [0] * repeated
        assert [beat["fault"] for beat in said] == [0] * count + [1] * repeated
        assert said[-1]["fault_kind"] == r.RESULT_UNKNOWN_TAG or not repeated
        await FallingEdge(dut.clk)
        assert dut.quiet.value


@cocotb.test()
async def a_request_without_an_answer_times_out(dut: Any) -> None:
    """Not early, and soon after the limit; an answered request does not time out."""
    outputs = await tracker(dut, timeout=200)
    for tag in (5, 9):
        await issue(dut, tag, Open(tag, 1, 0, 64))
    for _ in range(190):
        await settled()
        assert not dut.timed_out.value
        await FallingEdge(dut.clk)
    assert (await send(outputs, next_completion(5, Open(5, 1, 0, 64), cut=False)))[-1]["free_tag"]
    waited = await until(dut, lambda: int(dut.retired_count.value) == 1, limit=200)
    assert waited <= 20 + TAGS
    await FallingEdge(dut.clk)
    assert dut.quiet.value
    late = await send(outputs, next_completion(9, Open(9, 1, 0, 64), cut=False))
    assert late[-1]["fault_kind"] == r.RESULT_UNKNOWN_TAG


@cocotb.test()
async def a_time_out_between_two_beats_counts_once(dut: Any) -> None:
    """The tag is retired; the rest of the completion is unknown, and no counter underflows."""
    outputs = await tracker(dut, timeout=60)
    for tag, malformed in ((5, False), (9, True)):
        retired = int(dut.retired_count.value)
        await issue(dut, tag, Open(tag, 1, 0, 2 * 4 * LANES))
        dut.rx_valid.value, dut.rx_sop.value, dut.rx_eop.value, dut.rx_tag.value = 1, 1, 0, tag
        dut.rx_status.value, dut.rx_byte_count.value = 0, 8 * LANES + int(malformed)
        dut.rx_lower_address.value, dut.rx_dwords.value = 0, 2 * LANES
        await FallingEdge(dut.clk)
        dut.rx_valid.value = 0
        assert not dut.quiet.value
        await until(dut, lambda before=retired: int(dut.retired_count.value) == before + 1, limit=200)
        await FallingEdge(dut.clk)
        assert dut.quiet.value
        dut.rx_valid.value, dut.rx_sop.value, dut.rx_eop.value = 1, 0, 1
        sent = outputs.clock
        await FallingEdge(dut.clk)
        dut.rx_valid.value = 0
        [said] = await outputs.of([sent])
        assert (said["fault"], said["fault_kind"]) == (1, r.RESULT_UNKNOWN_TAG)
        assert not any(said[name] for name in ("free_tag", "transfer_done", "expected_data", "space_freed"))
        assert dut.quiet.value
        assert int(dut.retired_count.value) == retired + 1
    # A request after that is counted as before.
    await issue(dut, 3, Open(3, 1, 0, 64))
    await FallingEdge(dut.clk)
    assert not dut.quiet.value
    assert (await send(outputs, next_completion(3, Open(3, 1, 0, 64), cut=False)))[-1]["free_tag"]
    await FallingEdge(dut.clk)
    assert dut.quiet.value
