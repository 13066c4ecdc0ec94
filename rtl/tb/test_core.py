"""The whole core: every operation, and every misbehaviour of the host."""

import itertools
import os
import random
from collections import Counter
from typing import Any

import cocotb

import registers as r
from address_list import LIST_LENGTH, PATTERNS, AddressList
from clocking import clocks, until
from core import OPERATIONS, Core, core_and_host
from host import Completion, Host, Manners, Request


def random_list(host: Host, operation: str, size: int) -> AddressList:
    """A random address list over the host's buffer."""
    host_offset = min(random.choice([0, 0, 1, 4, 63]), 4096 - size)
    unit = -(-(size + host_offset) // 64) * 64
    return AddressList(
        size=size,
        host_offset=host_offset,
        window=max(unit, random.choice([8192, len(host.pieces) * host.piece_bytes])),
        pattern=random.choice(PATTERNS),
        stride=5,
        key=random.getrandbits(64) | 1,
        transactions=random.choice([LIST_LENGTH, 999_999]),
        is_latency=operation.startswith("lat"),
    )


def transfers(wanted: AddressList, operation: str, first: int, count: int) -> list[tuple[bool, int]]:
    """The transfers of a test, in order: whether it writes, and its offset in the buffer."""
    found = []
    for n in range(first, first + count):
        writes = {"bw-wr": [True], "lat-wrrd": [True, False], "bw-rdwr": [(wanted.transactions - n) % 2 == 1]}
        found += [(write, wanted.offset(n)) for write in writes.get(operation, [False])]
    return found


def starts(host: Host, size: int) -> list[tuple[bool, int]]:
    """The transfers that arrived, reassembled from requests."""
    found: list[tuple[bool, int]] = []
    left = 0
    for request in host.requests:
        if left == 0:
            found.append((request.write, host.offset_of(request.address)))
            left = size
        left -= request.length
        assert left >= 0
    assert left == 0
    return found


async def settle(dut: Any, core: Core) -> None:
    """Reset the core after a fault, as a driver does."""
    await core.control(r.CONTROL_RESET_SHIFT)
    await clocks(dut, 10)


@cocotb.test()
async def every_operation_is_correct(dut: Any) -> None:
    """Random tests on a rude host: addresses, data, order, counts and times are right."""
    core, host = await core_and_host(dut)
    seen: Counter[str] = Counter()
    tags = await core.read(r.PARAMETERS) >> r.PARAMETERS_TAGS_SHIFT & r.PARAMETERS_TAGS_MASK
    needed = {"read", "write", "unaligned", "split", "out of order", *OPERATIONS, *PATTERNS}
    tests = int(os.environ.get("PCIELAB_RTL_TESTS", "8"))
    for number in range(10 * tests):
        missing = needed - set(+host.seen) - set(seen)
        if number >= tests and not missing:
            break
        operation = list(OPERATIONS)[number % 5]
        codes = random.randrange(6), random.randrange(6)
        dut.max_payload.value, dut.max_read_request.value = codes
        host.max_payload, host.max_read_request = (128 << code for code in codes)
        host.manners = Manners.rude()
        host.data_key = random.getrandbits(32)
        host.piece_bytes = 1 << random.choice([20, 21])
        host.pieces = [
            (1 + 8 * random.getrandbits(30) + n) * host.piece_bytes for n in range(random.randint(1, 4))
        ]
        host.requests, host.written = [], {}
        size = random.choice([1, 3, 8, 64, 65, 256, 1024, 4096, random.randint(1, 4096)])
        wanted = random_list(host, operation, size)
        # The rudest host takes 8,000 clocks for 4 KiB, with one read in flight.
        first, count, outstanding = (
            random.choice([0, 0, 1, 77]),
            random.randint(1, min(40, 20_000 // size)),
            random.choice([1, 2, 9, tags]),
        )
        link_tags, known, extended = random.choice([0, 1, 32, tags]), random.random() < 0.7, random.random() < 0.7
        dut.extended_tags_known.value, dut.extended_tags.value = int(known), int(extended)
        # Without extended tags, and without any word on them, a requester uses the first 32.
        most = tags if (extended if known else link_tags) else 32
        await core.describe(wanted, operation, count, host, first=first, outstanding=outstanding)
        await core.write(r.LINK_TAGS, link_tags)
        # A rude host may answer one read after all others: 64 of 4 KiB, at 40 % of the beats.
        await core.write(r.TIMEOUT, 50_000)
        assert await core.run() == r.RESULT_COMPLETE, (operation, wanted)
        done = transfers(wanted, operation, first, count)
        assert starts(host, size) == done, (operation, wanted)
        for request in host.requests:
            assert not request.write or request.data == host.pattern(request.address, request.length)
            assert request.write or request.tag < min(link_tags or tags, most)
        await check_results(core, host, operation, count, size, done)
        seen[operation] += 1
        seen[wanted.pattern] += 1
    assert not missing, f"not tried: {missing}"


async def check_results(
    core: Core, host: Host, operation: str, count: int, size: int, done: list[tuple[bool, int]]
) -> None:
    """Compare counters and times with the host's view."""
    assert await core.read(r.TRANSACTIONS) == count
    assert await core.read_wide(r.BYTES_READ_LO) == size * sum(not write for write, _ in done)
    assert await core.read_wide(r.BYTES_WRITTEN_LO) == size * sum(write for write, _ in done)
    last = max(
        max(request.answered_clock, request.last_clock if request.write else 0) for request in host.requests
    )
    assert await core.read_wide(r.ELAPSED_LO) == last - host.requests[0].first_clock
    if not operation.startswith("lat"):
        assert await core.read(r.SAMPLES) == 0
        return
    latencies = latencies_seen(host, operation, size, count)
    assert await core.read(r.SAMPLES) == count
    assert await core.records(count) == latencies
    assert await core.read(r.LATENCY_MIN) == min(latencies)
    assert await core.read(r.LATENCY_MAX) == max(latencies)
    assert await core.read_wide(r.LATENCY_SUM_LO) == sum(latencies)
    for bin_number, times in Counter(min(latency, 4095) for latency in latencies).items():
        assert await core.read(r.HISTOGRAM + 4 * bin_number) == times


def latencies_seen(host: Host, operation: str, size: int, count: int) -> list[int]:
    """The host's view: from the first beat of a transaction's first request to the last of its last completion."""
    found = []
    requests = iter(host.requests)
    for _ in range(count):
        mine: list[Request] = []
        for _ in range(2 if operation == "lat-wrrd" else 1):
            left = size
            while left:
                mine.append(next(requests))
                left -= mine[-1].length
        found.append(max(request.answered_clock for request in mine) - mine[0].first_clock)
    return found


@cocotb.test()
async def a_read_leaves_every_clock(dut: Any) -> None:
    """64-byte reads: one request each clock while tags last, and as many answers."""
    core, host = await core_and_host(dut)
    tags = await core.read(r.PARAMETERS) >> r.PARAMETERS_TAGS_SHIFT & r.PARAMETERS_TAGS_MASK
    beats = -(-64 // host.width)
    host.manners = Manners(least_delay=2, most_delay=2)
    await core.describe(AddressList(size=64, window=8192), "bw-rd", tags, host, outstanding=tags)
    assert await core.run() == r.RESULT_COMPLETE
    clocks_taken = [request.first_clock for request in host.requests]
    assert clocks_taken == list(range(clocks_taken[0], clocks_taken[0] + tags))
    host.requests = []
    await core.describe(AddressList(size=64, window=8192), "bw-rd", 500, host, outstanding=tags)
    assert await core.run() == r.RESULT_COMPLETE
    assert await core.read_wide(r.ELAPSED_LO) <= 500 * beats + 12


@cocotb.test()
async def outstanding_reads_are_limited(dut: Any) -> None:
    """The most transactions in flight are exactly as many as requested."""
    core, host = await core_and_host(dut)
    for size, outstanding in ((64, 1), (64, 5), (2048, 3)):
        host.requests = []
        host.manners = Manners(least_delay=150, most_delay=150)
        await core.describe(AddressList(size=size, window=1 << 20), "bw-rd", 20, host, outstanding=outstanding)
        assert await core.run() == r.RESULT_COMPLETE
        parts = -(-size // host.max_read_request)
        groups = [host.requests[i : i + parts] for i in range(0, len(host.requests), parts)]
        spans = [(group[0].first_clock, max(request.answered_clock for request in group)) for group in groups]
        most = max(sum(start <= at <= end for start, end in spans) for at, _ in spans)
        assert most == outstanding


FAULTS = {
    "error status": (r.RESULT_ERROR_STATUS, r.ERROR_STATUS_COUNT),
    "poisoned": (r.RESULT_POISONED, r.POISONED_COUNT),
    "too long": (r.RESULT_WRONG_LENGTH, r.WRONG_LENGTH_COUNT),
    "too short": (r.RESULT_WRONG_LENGTH, r.WRONG_LENGTH_COUNT),
    "byte count": (r.RESULT_WRONG_LENGTH, r.WRONG_LENGTH_COUNT),
    "lower address": (r.RESULT_WRONG_LENGTH, r.WRONG_LENGTH_COUNT),
    "beats": (r.RESULT_WRONG_LENGTH, r.WRONG_LENGTH_COUNT),
    "cut off a boundary": (r.RESULT_WRONG_LENGTH, r.WRONG_LENGTH_COUNT),
    "unknown tag": (r.RESULT_UNKNOWN_TAG, r.UNKNOWN_TAG_COUNT),
    "tag beyond the core": (r.RESULT_UNKNOWN_TAG, r.UNKNOWN_TAG_COUNT),
    "answered twice": (r.RESULT_UNKNOWN_TAG, r.UNKNOWN_TAG_COUNT),
    "silence": (r.RESULT_TIMED_OUT, r.TIMED_OUT_COUNT),
    "half an answer": (r.RESULT_TIMED_OUT, r.TIMED_OUT_COUNT),
    "wrong data": (r.RESULT_DATA_MISMATCH, r.DATA_MISMATCH_COUNT),
    "wrong last byte": (r.RESULT_DATA_MISMATCH, r.DATA_MISMATCH_COUNT),
}
RETIRES = {kind for kind, (result, _) in FAULTS.items() if result in (r.RESULT_WRONG_LENGTH, r.RESULT_TIMED_OUT)}


def spoilt(kind: str, completions: list[Completion], host: Host, tags: int) -> list[Completion]:
    """The completions of a read of 200 bytes or more, with a fault."""
    only = completions[-1]
    match kind:
        case "error status":
            return [Completion(only.tag, only.byte_count, 0, b"", status=random.choice([1, 2, 4]))]
        case "poisoned":
            only.poisoned = True
        case "too long":
            only.data += bytes(4)
        case "too short":
            only.data = only.data[:-4]
        case "byte count":
            only.byte_count += random.choice([-1, 1, 64])
        case "lower address":
            only.lower_address ^= random.choice([4, 64])
        case "beats":
            only.dwords = len(only.data) // 4
            only.data = only.data[: -host.width]
        case "cut off a boundary":
            only.data = only.data[:68]
        case "unknown tag":
            free = next(tag for tag in range(tags - 1, 0, -1) if tag not in host.open)
            return [Completion(free, 64, 0, bytes(64)), *completions]
        case "tag beyond the core":
            return [Completion(tags if tags < 256 else 0, 64, 0, bytes(64)), *completions]
        case "answered twice":
            return [*completions, only]
        case "silence":
            return []
        case "half an answer":
            first = Completion(
                only.tag, only.byte_count, only.lower_address, only.data[: 64 - only.lower_address % 64]
            )
            return [first]
        case "wrong data":
            only.data = bytes([only.data[0] ^ 1]) + only.data[1:]
        case "wrong last byte":
            only.data = only.data[:-1] + bytes([only.data[-1] ^ 0x80])
    return completions


@cocotb.test()
async def every_fault_is_counted_and_survived(dut: Any) -> None:
    """Each kind ends the test with its status and is counted once; the core then runs the next test."""
    core, host = await core_and_host(dut)
    tags = await core.read(r.PARAMETERS) >> r.PARAMETERS_TAGS_SHIFT & r.PARAMETERS_TAGS_MASK
    for kind, (result, counter) in FAULTS.items():
        if kind == "tag beyond the core" and tags == 256:
            continue
        operation = random.choice(["bw-rd", "lat-rd", "bw-rdwr"])
        host.requests, host.written, host.open = [], {}, {}
        host.manners = Manners(least_delay=3, most_delay=30)
        spoils = random.randrange(2, 8)
        reads = 0

        def alter(
            request: Request, completions: list[Completion], kind: str = kind, spoils: int = spoils
        ) -> list[Completion]:
            nonlocal reads
            reads += 1
            return spoilt(kind, completions, host, tags) if reads == spoils else completions

        host.alter = alter
        wanted = AddressList(size=256, window=1 << 16, is_latency=operation == "lat-rd")
        outstanding = 4 if kind != "unknown tag" else 1
        await core.describe(wanted, operation, 400, host, outstanding=outstanding)
        assert await core.run() == result, kind
        assert await core.read(counter) == 1, kind
        assert await core.read(r.TRANSACTIONS) < 400, kind
        host.alter = None
        retired = await core.read(r.RETIRED_TAGS)
        assert retired == (kind in RETIRES), kind
        if retired:
            # Late completions of a retired tag must not meet a new request: software decides when to reset.
            assert await core.run() == r.RESULT_BAD_PARAMETER, kind
        await settle(dut, core)
        host.requests, host.open = [], {}
        await core.describe(wanted, operation, 30, host)
        assert await core.run() == r.RESULT_COMPLETE, f"after {kind}"
        assert await core.read(r.TRANSACTIONS) == 30
        for other in range(r.ERROR_STATUS_COUNT, r.RETIRED_TAGS + 4, 4):
            assert await core.read(other) == 0


@cocotb.test()
async def a_test_can_be_ended_at_any_time(dut: Any) -> None:
    """Stop, bus master off, function-level reset and software's reset in mid-flight; the next test is right."""
    core, host = await core_and_host(dut)
    for round_number, ending in itertools.product(range(3), ["stop", "bus master", "function reset", "reset"]):
        in_a_write = round_number == 0
        operation = "bw-wr" if in_a_write else random.choice(list(OPERATIONS))
        host.requests, host.written = [], {}
        host.manners = Manners.rude()
        wanted = AddressList(size=1500, window=1 << 18, is_latency=operation.startswith("lat"))
        await core.describe(wanted, operation, 5000, host)
        await core.start()
        await clocks(dut, random.randint(0, 400))
        if in_a_write:
            await until(dut, lambda: host.arriving is not None)
        elif ending == "bus master":
            await until(dut, lambda: bool(host.requests))
        if ending == "stop":
            await core.control(r.CONTROL_STOP_SHIFT)
            assert await core.end() == r.RESULT_STOPPED
        elif ending == "bus master":
            dut.bus_master.value = 0
            sent = len(host.requests)
            if round_number == 1:
                # Off for one clock only, long before the test has ended.
                await clocks(dut, 1)
                dut.bus_master.value = 1
            assert await core.end() == r.RESULT_BUS_MASTER_OFF
            assert len(host.requests) <= sent + 2, "requests without bus mastering"
            dut.bus_master.value = 1
        elif ending == "function reset":
            dut.function_reset.value = 1
            await until(dut, lambda: bool(dut.function_reset_done.value))
            dut.function_reset.value = 0
            assert await core.read(r.SIZE) == 64
        else:
            await core.control(r.CONTROL_RESET_SHIFT)
        # The host still answers the requests of the cleared test.
        await until(dut, lambda: not host.sent and not host.sending and host.arriving is None)
        await settle(dut, core)
        host.requests, host.open, host.written = [], {}, {}
        await core.describe(wanted, operation, 20, host, first=3)
        assert await core.run() == r.RESULT_COMPLETE, f"after {ending}"
        assert starts(host, 1500) == transfers(wanted, operation, 3, 20)


@cocotb.test()
async def counters_can_be_read_while_a_test_runs(dut: Any) -> None:
    """Latched values are consistent, and grow."""
    core, host = await core_and_host(dut)
    await core.describe(AddressList(size=64, window=8192), "bw-rdwr", 3000, host)
    await core.start()
    await until(dut, lambda: len(host.requests) > 20)
    before = 0
    for _ in range(5):
        await clocks(dut, 100)
        await core.control(r.CONTROL_LATCH_SHIFT)
        done = await core.read(r.TRANSACTIONS)
        both = await core.read_wide(r.BYTES_READ_LO) + await core.read_wide(r.BYTES_WRITTEN_LO)
        assert before < done < 3000
        assert both == 64 * done
        before = done
    await core.control(r.CONTROL_STOP_SHIFT)
    assert await core.end() == r.RESULT_STOPPED


@cocotb.test()
async def values_out_of_range_are_refused(dut: Any) -> None:
    """Each register alone; nothing is sent, and the core runs the next test."""
    core, host = await core_and_host(dut)
    tags = await core.read(r.PARAMETERS) >> r.PARAMETERS_TAGS_SHIFT & r.PARAMETERS_TAGS_MASK
    wanted = AddressList(size=64, window=8192)
    bad = [
        (r.SIZE, 0), (r.SIZE, 4097), (r.COUNT, 0), (r.OUTSTANDING, 0), (r.OUTSTANDING, tags + 1), (r.OPERATION, 5),
        (r.OPERATION, 7), (r.TIMEOUT, 0), (r.USABLE, 0), (r.NTH, 128), (r.NTH_WRAP, 128), (r.STEP, 128),
        (r.PERIOD, 0x0100), (r.PERIOD, 0x4041), (r.PERIOD, 0x4140), (r.PERIOD, 0x0203), (r.UNIT_BYTES, 0),
        (r.PIECES, 20 << 16), (r.PIECES, 20 << 16 | 1025), (r.PIECES, 19 << 16 | 1), (r.PIECES, 33 << 16 | 1),
    ]  # fmt: skip
    for address, value in bad:
        await core.describe(wanted, "bw-rd", 10, host)
        await core.write(address, value)
        assert await core.run() == r.RESULT_BAD_PARAMETER, (hex(address), value)
    assert not host.requests
    host.pieces = [1 << 32]
    await core.describe(AddressList(size=64, window=1 << 21, pattern="sequential"), "bw-rd", 10, host)
    assert await core.run() == r.RESULT_OUT_OF_BUFFER
    assert not host.requests
    await core.describe(wanted, "bw-rd", 10, host)
    assert await core.run() == r.RESULT_COMPLETE


@cocotb.test()
async def more_latencies_than_records_are_kept_in_the_histogram(dut: Any) -> None:
    """Bins of eight clocks have the counts of the records."""
    core, host = await core_and_host(dut)
    host.manners = Manners(least_delay=1, most_delay=60)
    await core.describe(AddressList(size=8, window=8192, is_latency=True), "lat-rd", 200, host)
    await core.write(r.BIN_SHIFT, 3)
    assert await core.run() == r.RESULT_COMPLETE
    records = await core.records(200)
    bins = Counter(latency >> 3 for latency in records)
    assert len(bins) > 4
    for number in range(20):
        assert await core.read(r.HISTOGRAM + 4 * number) == bins[number]
