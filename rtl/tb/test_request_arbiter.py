"""The arbiter passes whole requests in turns, loses none, and wastes a clock only when a new source starts."""

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import settled, start

SOURCES = 3
IDLE = {
    "in_valid": 0, "in_sop": 0, "in_eop": 0, "in_request": 0, "in_data": 0, "out_ready": 0, "posted_credit": 1,
    "non_posted_credit": 1,
}  # fmt: skip


@cocotb.test()
async def requests_leave_whole_and_in_turns(dut: Any) -> None:
    """Requests of one beat and of several, offered and taken at random."""
    width, request_width = len(dut.out_data), len(dut.out_request)
    await start(dut, **IDLE)
    for busy, ready in ((100, 100), (60, 100), (100, 50), (30, 70)):
        # Beats of each source: start, end, header, data.
        todo: list[list[tuple[int, int, int, int]]] = [[], [], []]
        for source in range(SOURCES):
            for _ in range(30):
                header, beats = random.getrandbits(request_width), random.choice([1, 1, 2, 5])
                todo[source] += [
                    (int(n == 0), int(n == beats - 1), header, random.getrandbits(width)) for n in range(beats)
                ]
        left = [list(beats) for beats in todo]
        offered = [False] * SOURCES
        taken: list[list[tuple[int, int, int, int]]] = [[], [], []]
        owner, order = None, []
        served, skipped, ended, waiting = None, False, False, False
        for _ in range(4000):
            if not any(left):
                break
            for source in range(SOURCES):
                mid = bool(left[source]) and not left[source][0][0]
                offered[source] = bool(left[source]) and (offered[source] or mid or random.randrange(100) < busy)
            heads = [beats[0] if beats else (0, 0, 0, 0) for beats in left]
            dut.in_valid.value = sum(int(on) << source for source, on in enumerate(offered))
            dut.in_sop.value = sum(head[0] << source for source, head in enumerate(heads))
            dut.in_eop.value = sum(head[1] << source for source, head in enumerate(heads))
            dut.in_request.value = sum(head[2] << request_width * source for source, head in enumerate(heads))
            dut.in_data.value = sum(head[3] << width * source for source, head in enumerate(heads))
            dut.out_ready.value = int(random.randrange(100) < ready)
            await settled()
            passes = bool(dut.out_valid.value)
            if owner is not None:
                assert passes == offered[owner]
            elif not passes:
                assert not any(offered) or not skipped, "a request waits for nothing"
                assert not (served is not None and offered[served]), "the last source waits for itself"
                assert not (waiting and ended), "a gap between two requests"
            skipped = owner is None and any(offered) and not passes
            grants = int(dut.in_ready.value)
            assert grants.bit_count() <= 1
            if dut.out_valid.value and dut.out_ready.value:
                source = grants.bit_length() - 1
                assert owner is None or source == owner, "a request was interrupted"
                names = (dut.out_sop, dut.out_eop, dut.out_request, dut.out_data)
                assert tuple(int(value.value) for value in names) == heads[source]
                taken[source].append(left[source].pop(0))
                order += [source] if heads[source][0] else []
                owner, offered[source] = (None, False) if heads[source][1] else (source, True)
                served = source
            ended = passes and owner is None and bool(dut.out_ready.value)
            waiting = any(offered)
            await FallingEdge(dut.clk)
        dut.in_valid.value = 0
        assert taken == todo
        if busy == ready == 100:
            turns = order[: 3 * 29]
            assert all(set(turns[n : n + 3]) == {0, 1, 2} for n in range(0, len(turns), 3))


@cocotb.test()
async def a_request_without_credit_lets_others_pass(dut: Any) -> None:
    """The other kind passes a request without credit, and what was offered leaves whole."""
    width = len(dut.out_request)
    top = 1 << width - 1
    await start(dut, **IDLE)
    # Source 0 reads, source 1 writes two beats.
    dut.in_request.value = top << width
    dut.in_sop.value, dut.in_eop.value, dut.out_ready.value = 0b111, 0b101, 1
    dut.in_valid.value = 0b011
    for posted, source in ((0, 0), (1, 1), (0, 0), (1, 1)):
        dut.posted_credit.value, dut.non_posted_credit.value = posted, 1 - posted
        for _ in range(4):
            await settled()
            if dut.out_valid.value:
                break
            await FallingEdge(dut.clk)
        assert (int(dut.in_ready.value), int(dut.out_request.value) == top) == (1 << source, source == 1)
        await FallingEdge(dut.clk)
        if source == 1:
            # The write has begun: it needs no further credit.
            dut.posted_credit.value, dut.non_posted_credit.value = 0, 0
            dut.in_sop.value, dut.in_eop.value = 0b101, 0b111
            await settled()
            assert int(dut.in_ready.value) == 0b010
            await FallingEdge(dut.clk)
            dut.in_sop.value, dut.in_eop.value = 0b111, 0b101
    # With no credit at all, nothing leaves; without `ready`, an offered request stays offered.
    for _ in range(10):
        await settled()
        assert not dut.out_valid.value
        assert int(dut.in_ready.value) == 0
        await FallingEdge(dut.clk)
    dut.non_posted_credit.value, dut.out_ready.value = 1, 0
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.non_posted_credit.value = 0
    for _ in range(3):
        await settled()
        assert dut.out_valid.value
        await FallingEdge(dut.clk)
    dut.out_ready.value = 1
    await settled()
    assert int(dut.in_ready.value) == 0b001
