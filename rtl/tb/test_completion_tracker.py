"""The tracker: completions in any order, cut anywhere, and every kind of fault."""

import random
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

import registers as r
from clocking import settled, start, until

TAGS = 32
LANES = 8
"""Double words of a beat."""
RCB = 64
IDLE = {
    "timeout": 100_000, "issue": 0, "issue_tag": 0, "issue_slot": 0, "issue_parts": 1, "issue_offset": 0,
    "issue_length": 1, "rx_valid": 0, "rx_sop": 0, "rx_eop": 0, "rx_tag": 0, "rx_status": 0, "rx_poisoned": 0,
    "rx_byte_count": 0, "rx_lower_address": 0, "rx_dwords": 0,
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
    """Announce a request for one clock."""
    dut.issue.value, dut.issue_tag.value, dut.issue_slot.value = 1, tag, request.slot
    dut.issue_parts.value = request.parts
    dut.issue_offset.value, dut.issue_length.value = request.offset, request.length
    await FallingEdge(dut.clk)
    dut.issue.value = 0


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


async def send(dut: Any, header: Header) -> list[dict[str, int]]:
    """Send a completion, beat by beat, with gaps; the tracker's outputs at each beat."""
    beats, said = 1 if header.status else max(1, -(-header.dwords // LANES)), []
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
        await settled()
        names = (
            "free_tag", "freed_tag", "free_slot", "freed_slot", "transfer_done", "received_bytes",
            "expected_offset", "expected_data", "expected_bytes", "fault", "fault_kind", "space_freed",
            "space_freed_first", "space_freed_address", "space_freed_bytes",
        )  # fmt: skip
        said.append({name: int(getattr(dut, name).value) for name in names})
        await FallingEdge(dut.clk)
    dut.rx_valid.value = 0
    return said


@cocotb.test()
async def answers_count_for_their_requests(dut: Any) -> None:
    """Transfers of several requests, answered in any order, whole or cut; the expected offsets are right."""
    await start(dut, **IDLE)
    await until(dut, lambda: bool(dut.ready.value), limit=TAGS + 5)
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
            said = await send(dut, header)
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
        assert dut.quiet.value
    assert len(seen) == 6, seen


FAULTS = {
    "fewer bytes left": r.RESULT_WRONG_LENGTH,
    "more bytes left": r.RESULT_WRONG_LENGTH,
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
    await start(dut, **IDLE)
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
                await send(dut, Header(tag, 1, 0, 1))
        said = await send(dut, header)
        assert [beat["fault"] for beat in said] == [0] * (len(said) - 1) + [1], kind
        assert said[-1]["fault_kind"] == result, kind
        fits = result != r.RESULT_WRONG_LENGTH
        retired = int(not fits or kind == "retired tag")
        assert int(dut.retired_count.value) == retired, kind
        assert said[-1]["received_bytes"] == (300 if kind == "poisoned" else 0), kind
        assert bool(dut.quiet.value) == (kind not in ("free tag", "tag beyond the core")), kind
        assert not said[-1]["expected_data"], kind
        # An error status answers the whole request; a completion that does not fit may be followed by others.
        freed = 300 if kind in ("status", "poisoned") else 0
        assert said[-1]["space_freed"] * said[-1]["space_freed_bytes"] == freed, kind


@cocotb.test()
async def a_request_without_an_answer_times_out(dut: Any) -> None:
    """Not early, and soon after the limit; an answered request does not time out."""
    await start(dut, **{**IDLE, "timeout": 200})
    await until(dut, lambda: bool(dut.ready.value), limit=TAGS + 5)
    for tag in (5, 9):
        await issue(dut, tag, Open(tag, 1, 0, 64))
    for _ in range(190):
        await settled()
        assert not dut.timed_out.value
        await FallingEdge(dut.clk)
    assert (await send(dut, next_completion(5, Open(5, 1, 0, 64), cut=False)))[-1]["free_tag"]
    waited = await until(dut, lambda: int(dut.retired_count.value) == 1, limit=200)
    assert waited <= 20 + TAGS
    assert dut.quiet.value
    late = await send(dut, next_completion(9, Open(9, 1, 0, 64), cut=False))
    assert late[-1]["fault_kind"] == r.RESULT_UNKNOWN_TAG


@cocotb.test()
async def a_time_out_between_two_beats_counts_once(dut: Any) -> None:
    """The tag is retired; the rest of the completion is unknown, and no counter underflows."""
    await start(dut, **{**IDLE, "timeout": 60})
    await until(dut, lambda: bool(dut.ready.value), limit=TAGS + 5)
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
        assert dut.quiet.value
        dut.rx_valid.value, dut.rx_sop.value, dut.rx_eop.value = 1, 0, 1
        await settled()
        assert dut.fault.value
        assert int(dut.fault_kind.value) == r.RESULT_UNKNOWN_TAG
        assert not dut.free_tag.value
        assert not dut.transfer_done.value
        assert not dut.expected_data.value
        await FallingEdge(dut.clk)
        dut.rx_valid.value = 0
        await FallingEdge(dut.clk)
        assert dut.quiet.value
        assert int(dut.retired_count.value) == retired + 1
    # A request after that is counted as before.
    await issue(dut, 3, Open(3, 1, 0, 64))
    assert not dut.quiet.value
    assert (await send(dut, next_completion(3, Open(3, 1, 0, 64), cut=False)))[-1]["free_tag"]
    assert dut.quiet.value
