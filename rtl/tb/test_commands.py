"""Commands on a rude host: bytes, notices, queues, refusals and halts."""

import os
import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

import registers as r
from address_list import AddressList
from clocking import clocks, settled
from commands import ALIGNMENT, DEPTH, QUEUES, Command, Commands
from core import Core, core_and_host
from host import Completion, Host, Manners, Request

NOTICES = 0x70_0000_0000
HOST_BYTES = 1 << 40
READ_END = 0x10_0000_0000
"""The core reads below this address, and writes from it on."""


async def engine(dut: Any) -> tuple[Core, Host, Commands]:
    """A core, a host of one large piece, and commands that are not enabled yet."""
    core, host = await core_and_host(dut)
    host.pieces, host.piece_bytes, host.data_key = [0], HOST_BYTES, random.getrandbits(32)

    def read_host(address: int, length: int) -> bytes:
        return bytes(host.written.get(address + n, 0) for n in range(length))

    return core, host, Commands(core, NOTICES, read_host)


async def store(dut: Any, address: int, text: bytes, first_be: int = 15, last_be: int = 15) -> None:
    """Store whole double words to BAR 4."""
    width, dwords = len(dut.store_data) // 8, len(text) // 4
    header = ((((1 << 3 | 4) << 64 | address) << 11 | dwords) << 4 | first_be) << 34 | last_be << 30
    for at in range(0, len(text), width):
        dut.store_valid.value = 1
        dut.store_sop.value, dut.store_eop.value = int(at == 0), int(at + width >= len(text))
        dut.store.value = header if at == 0 else random.getrandbits(len(dut.store))
        beat = text[at : at + width]
        dut.store_data.value = int.from_bytes(beat + random.randbytes(width - len(beat)), "little")
        while True:
            await settled()
            taken = bool(dut.store_ready.value)
            await FallingEdge(dut.clk)
            if taken:
                break
    dut.store_valid.value = 0


async def load(dut: Any, address: int, length: int) -> bytes:
    """Load bytes of the memory, in its beats."""
    width = len(dut.load_response_data) // 8
    first, text = address // width * width, b""
    wanted, asked = -(-(address + length - first) // width), 0
    for _ in range(20_000):
        dut.load_valid.value = int(asked < wanted)
        dut.load_address.value = first + asked * width
        await settled()
        asked += bool(dut.load_valid.value and dut.load_ready.value)
        if dut.load_response_valid.value:
            text += int(dut.load_response_data.value).to_bytes(width, "little")
        await FallingEdge(dut.clk)
        if len(text) == wanted * width:
            dut.load_valid.value = 0
            return text[address - first :][:length]
    raise AssertionError("the memory does not answer")


def layout(size: int, lengths: list[int]) -> list[int]:
    """Offsets of the lengths in a memory of a size: multiples of 64, in a random order, that do not overlap."""
    order = random.sample(range(len(lengths)), len(lengths))
    free = size - sum(-(-length // ALIGNMENT) * ALIGNMENT for length in lengths)
    assert free >= 0
    offsets, at = [0] * len(lengths), 0
    for index in order:
        gap = random.randint(0, free // ALIGNMENT) * ALIGNMENT // len(lengths)
        gap = gap // ALIGNMENT * ALIGNMENT
        offsets[index] = at + gap
        at, free = offsets[index] + -(-lengths[index] // ALIGNMENT) * ALIGNMENT, free - gap
    return offsets


def random_bus(base: int, number: int) -> int:
    """An address for a command, often right in front of a multiple of 4 KiB."""
    inside = random.choice([0, 64, 4032, random.randrange(64) * 64])
    return base + (number << 20) + inside


async def memory_bytes(core: Core) -> int:
    """Bytes of the core's memory."""
    return 1 << (await core.read(r.COMMAND_LIMITS) & r.COMMAND_LIMITS_MEMORY_BYTES_LOG2_MASK)


async def check_out(engine: Commands, host: Host, memory: int, expected: bytes, bus: int) -> None:
    """Compare a part of the core's memory, by a command that writes it to the bus."""
    done = await engine.core.read(r.COMMANDS_DONE)
    await engine.submit(Command(True, bus, memory, len(expected), notify=False))
    await engine.until_done(done + 1)
    await until(engine.core.dut, lambda: bus + len(expected) - 1 in host.written)
    assert bytes(host.written[bus + n] for n in range(len(expected))) == expected


async def until(dut: Any, condition: Callable[[], bool]) -> None:
    """Wait for the last bytes of commands without a notice, which may leave after they are counted as done."""
    for _ in range(100):
        if condition():
            return
        await clocks(dut, 20)


@cocotb.test()
async def every_command_moves_its_bytes(dut: Any) -> None:
    """Random commands in all queues, both ways at once, with all limits of requests."""
    core, host, engine_ = await engine(dut)
    size = await memory_bytes(core)
    seen: Counter[str] = Counter()
    for number in range(int(os.environ.get("PCIELAB_RTL_TESTS", "4"))):
        codes = random.randrange(6), random.randrange(6)
        dut.max_payload.value, dut.max_read_request.value = codes
        host.max_payload, host.max_read_request = (128 << code for code in codes)
        host.manners, host.written = Manners.rude(), {}
        engine_.notices_log2 = random.choice([0, 2, 7])
        await engine_.enable(random.choice([1, 5, 32]))
        lengths = [random.choice([1, 64, 65, random.randint(1, 300), random.randint(1, 5000)]) for _ in range(12)]
        offsets = layout(size, lengths)
        held: dict[int, bytes] = {}
        commands: list[Command] = []

        async def run(batch: list[Command], commands: list[Command] = commands) -> None:
            done = await core.read(r.COMMANDS_DONE)
            notices: list[Any] = []
            by_number = {command.number: command for command in batch}

            async def take() -> None:
                for notice in await engine_.take():
                    command = by_number[notice.command]
                    data = range(command.bus, command.bus + command.length)
                    assert not command.write or all(at in host.written for at in data), "it overtakes its data"
                    notices.append(notice)

            for command in batch:
                await engine_.submit(command)
                await take()
            for _ in range(10_000):
                await take()
                if await core.read(r.COMMANDS_DONE) == done + len(batch) and len(notices) == sum(
                    command.notify for command in batch
                ):
                    break
                await clocks(dut, 20)
            check_notices(batch, notices)
            commands += batch

        into, out = list(range(6)), list(range(6, 12))
        for turn, (filled, emptied) in enumerate(((into, []), (out, into), ([], out))):
            batch = []
            for index in filled:
                bus = random_bus(0x1_0000_0000, index)
                held[index] = host.pattern(bus, lengths[index])
                batch.append(Command(False, bus, offsets[index], lengths[index], random.randrange(QUEUES)))
            for index in emptied:
                bus = random_bus(READ_END, index)
                batch.append(Command(True, bus, offsets[index], lengths[index], random.randrange(QUEUES)))
            random.shuffle(batch)
            batch = [
                Command(
                    one.write, one.bus, one.memory, one.length, one.queue, random.random() < 0.8, turn << 8 | order
                )
                for order, one in enumerate(batch)
            ]
            await run(batch)
        expected = {
            one.bus + n: held[offsets.index(one.memory)][n]
            for one in commands
            if one.write
            for n in range(one.length)
        }
        await until(dut, lambda wanted=expected: wanted.keys() <= host.written.keys())
        written = {at: byte for at, byte in host.written.items() if READ_END <= at < NOTICES}
        assert written == expected, number
        assert await core.read(r.COMMANDS_REFUSED) == 0
        await engine_.disable()
        seen.update(
            {"crosses": sum(one.bus // 4096 != (one.bus + one.length - 1) // 4096 for one in commands)},
        )
        seen["shifted"] += sum((one.bus ^ one.memory) >> 6 & 1 for one in commands)
    assert seen["crosses"] > 0
    assert seen["shifted"] > 0


def check_notices(batch: list[Command], notices: list[Any]) -> None:
    """Every command that asks for a notice gets one with its contents; those of a queue keep their order."""
    by_number = {command.number: command for command in batch}
    assert sorted(notice.command for notice in notices) == sorted(one.number for one in batch if one.notify)
    for notice in notices:
        command = by_number[notice.command]
        found = (notice.length, notice.queue, notice.write)
        assert found == (command.length, command.queue, command.write)
        assert notice.arrived + notice.waited < notice.ended
    for queue in range(QUEUES):
        for write in (False, True):
            mine = [notice for notice in notices if (notice.queue, notice.write) == (queue, write)]
            assert [notice.command for notice in mine] == sorted(notice.command for notice in mine)
            starts = [notice.arrived + notice.waited for notice in mine]
            assert starts == sorted(starts)


@cocotb.test()
async def lengths_and_offsets_at_their_limits(dut: Any) -> None:
    """One byte, parts of words and beats, across 4 KiB, and the whole memory; bytes beside them stay."""
    core, host, engine_ = await engine(dut)
    size = await memory_bytes(core)
    await engine_.enable()
    cases = [
        (length, 0x4_0000_0000, 128) for length in (1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1023)
    ]
    cases += [
        (200, 0x4_0000_0FC0, 64),
        (200, 0x4_0000_0FC0, 0),
        (64, 0x4_0000_0FC0, 128),
        (4096, 0x4_0000_1000, 0),
        (4097, 0x4_0000_0040, 4096),
        (65, 0xFFFF_FFC0, 192),
    ]
    cases += [(size, 0x5_0000_0040, 0), (1, 0x5_0000_0000, size - 64), (64, 0x5_0000_0000, size - 64)]
    done = 0
    for length, bus, memory in cases:
        first = max(0, memory - 64)
        last = min(size, -(-(memory + length) // 64) * 64 + 64)
        before = random.randbytes(last - first)
        for at in range(0, len(before), 256):
            await store(dut, first + at, before[at : at + 256])
        await engine_.submit(Command(False, bus, memory, length))
        await engine_.until_done(done + 1)
        expected = bytearray(before)
        expected[memory - first : memory - first + length] = host.pattern(bus, length)
        await check_out(engine_, host, first, bytes(expected), READ_END)
        done += 2
    assert len(await engine_.take()) == len(cases)


@cocotb.test()
async def writes_change_only_their_own_bytes(dut: Any) -> None:
    """The bytes of a command that writes to the bus, and none beside."""
    _, host, engine_ = await engine(dut)
    await engine_.enable()
    text = random.randbytes(1024)
    for at in range(0, 1024, 256):
        await store(dut, at, text[at : at + 256])
    for done, length in enumerate((1, 2, 3, 5, 66, 255, 257, 1023), 1):
        host.written = {}
        await engine_.submit(Command(True, READ_END, 0, length, notify=False))
        await engine_.until_done(done)
        assert host.written == {READ_END + n: text[n] for n in range(length)}


@cocotb.test()
async def without_a_notice_only_the_counter_shows(dut: Any) -> None:
    """A command without notice is counted, writes no notice, and takes no number of the ring."""
    _, host, engine_ = await engine(dut)
    await engine_.enable()
    for notify in (False, True, False, True):
        await engine_.submit(Command(False, 0x1000, 0, 64, notify=notify))
    await engine_.until_done(4)
    await clocks(dut, 50)
    assert [notice.number for notice in await engine_.take()] == [1, 2]
    assert sum(request.write for request in host.requests) == 2


@cocotb.test()
async def a_full_queue_refuses(dut: Any) -> None:
    """A queue holds 32 commands behind the two that its executor has; others are refused and counted."""
    core, host, engine_ = await engine(dut)
    await engine_.enable()
    host.manners.ready_percent = 0
    for number in range(DEPTH + 5):
        await engine_.submit(Command(True, READ_END, 0, 4096, queue=2, number=number))
    assert await core.read(r.COMMANDS_WAITING + 8) == DEPTH
    assert await core.read(r.COMMANDS_WAITING) == 0
    assert await core.read(r.COMMANDS_REFUSED) == 3
    host.manners.ready_percent = 100
    await engine_.until_done(DEPTH + 2)
    await clocks(dut, 50)
    assert [notice.command for notice in await engine_.take()] == list(range(DEPTH + 2))


@cocotb.test()
async def queues_take_turns(dut: Any) -> None:
    """No queue waits for all commands of another."""
    _, host, engine_ = await engine(dut)
    await engine_.enable()
    host.manners.ready_percent = 0
    for queue in range(QUEUES):
        for _ in range(4):
            await engine_.submit(Command(True, READ_END, 0, 512, queue=queue))
    host.manners.ready_percent = 100
    await engine_.until_done(16)
    await clocks(dut, 50)
    order = [notice.queue for notice in await engine_.take()]
    # The executor holds some commands when the last ones arrive.
    assert all(one != next_one for one, next_one in pairwise(order[6:14])), "".join(map(str, order))


@cocotb.test()
async def impossible_commands_are_refused(dut: Any) -> None:
    """No bytes, an end outside the memory, and commands before they are enabled."""
    core, _, engine_ = await engine(dut)
    size = await memory_bytes(core)
    await engine_.submit(Command(False, 0x1000, 0, 64))
    await engine_.enable()
    wrong = [(0, 0), (0, size + 1), (size, 1), (size - 64, 65), (1 << 24, 64), (1 << 31, 64)]
    for memory, length in wrong:
        await engine_.submit(Command(False, 0x1000, memory, length))
    assert await core.read(r.COMMANDS_REFUSED) == len(wrong)
    await engine_.submit(Command(False, 0x1000, size - 64, 64))
    await engine_.until_done(1)
    assert await core.read(r.COMMANDS_REFUSED) == len(wrong)


@cocotb.test()
async def unread_notices_are_not_overwritten(dut: Any) -> None:
    """With a full ring the core waits until software has read a notice."""
    core, host, engine_ = await engine(dut)
    engine_.notices_log2 = 1
    await engine_.enable()
    for number in range(5):
        await engine_.submit(Command(False, 0x1000, 0, 64, number=number))
    await clocks(dut, 300)
    assert sum(request.write for request in host.requests) == 2
    assert [notice.command for notice in await engine_.take()] == [0, 1]
    await clocks(dut, 100)
    assert [notice.command for notice in await engine_.take()] == [2, 3]
    await engine_.until_done(5)
    await clocks(dut, 100)
    assert [notice.command for notice in await engine_.take()] == [4]
    assert await core.read(r.COMMANDS_DONE) == 5


def spoiled(kind: str) -> Any:
    """Spoils the last completion of a request: its status, its data, or its length; or loses it."""

    def alter(_: Request, completions: list[Completion]) -> list[Completion]:
        last = completions[-1]
        if kind == "error":
            last.status, last.data = 1, b""
        elif kind == "poison":
            last.poisoned = True
        elif kind == "length":
            last.byte_count += 4
        else:
            completions.pop()
        return completions

    return alter


@cocotb.test()
async def a_fault_halts_until_a_reset(dut: Any) -> None:
    """Each fault halts the core with its result and without a notice; after a reset it works again."""
    core, host, engine_ = await engine(dut)
    results = {"error": r.RESULT_ERROR_STATUS, "poison": r.RESULT_POISONED, "length": r.RESULT_WRONG_LENGTH}
    for kind, result in {**results, "lost": r.RESULT_TIMED_OUT}.items():
        await engine_.enable(timeout=500)
        host.alter, host.written = spoiled(kind), {}
        for queue in range(QUEUES):
            await engine_.submit(Command(False, 0x1000, 0, 2000, queue=queue))
        assert await engine_.halt() == result, kind
        await clocks(dut, 600)
        left = len(host.requests)
        await engine_.submit(Command(True, READ_END, 0, 64))
        await clocks(dut, 100)
        assert len(host.requests) == left, "a request leaves a halted core"
        assert await core.read(r.COMMANDS_DONE) == 0
        assert await engine_.take() == []
        host.alter = None
        host.open.clear()
        await core.control(r.CONTROL_RESET_SHIFT)
        await engine_.until_ready()
        await engine_.submit(Command(False, 0x1000, 0, 2000))
        await engine_.until_done(1)
        await clocks(dut, 50)
        assert len(await engine_.take()) == 1
        await check_out(engine_, host, 0, host.pattern(0x1000, 2000), READ_END)
        await engine_.disable()


@cocotb.test()
async def without_bus_mastering_nothing_leaves(dut: Any) -> None:
    """The request that is being sent leaves whole; the core halts."""
    _, host, engine_ = await engine(dut)
    await engine_.enable()
    host.manners.ready_percent = 40
    for write in (True, False) * 4:
        await engine_.submit(Command(write, READ_END, 0, 8192))
    await clocks(dut, random.randrange(1, 60))
    dut.bus_master.value = 0
    assert await engine_.halt() == r.RESULT_BUS_MASTER_OFF
    await clocks(dut, 200)
    left = len(host.requests)
    assert host.arriving is None
    await clocks(dut, 300)
    assert len(host.requests) == left
    dut.bus_master.value = 1


@cocotb.test()
async def a_reset_ends_commands_at_any_time(dut: Any) -> None:
    """Requests leave whole, answers that are late change nothing, and the core works again."""
    core, host, engine_ = await engine(dut)
    for _ in range(8):
        await engine_.enable()
        host.manners.ready_percent = random.choice([30, 100])
        for write in (True, False) * 3:
            await engine_.submit(Command(write, READ_END if write else 0x2000, 0 if write else 8192, 5000))
        await clocks(dut, random.randrange(1, 200))
        await engine_.disable()
        await clocks(dut, 3000)
        assert not host.sent
        assert host.arriving is None
        await core.control(r.CONTROL_RESET_SHIFT)
        await clocks(dut, 10)
        host.open.clear()
        await engine_.enable()
        await engine_.submit(Command(False, 0x3000, 0, 700))
        await engine_.until_done(1)
        await check_out(engine_, host, 0, host.pattern(0x3000, 700), READ_END)
        await engine_.disable()


@cocotb.test()
async def a_request_that_begins_as_commands_end_leaves_whole(dut: Any) -> None:
    """Commands are disabled in each clock around that in which a write would begin.

    Without notices, so that writes were served last, and pass in the clock in which they are offered.
    """
    _, host, engine_ = await engine(dut)
    host.manners.ready_percent = 100
    for later in reversed(range(90)):
        await engine_.enable()
        await engine_.submit(Command(True, READ_END, 0, 256, notify=False))
        await clocks(dut, later)
        await engine_.disable()
        await clocks(dut, 100)
        assert host.arriving is None, f"disabled {later} clocks after the command"
    await engine_.enable()
    await engine_.submit(Command(True, READ_END, 0, 256))
    await engine_.until_done(1)
    await engine_.disable()


@cocotb.test()
async def tests_and_commands_exclude_each_other(dut: Any) -> None:
    """No test starts while commands are enabled; commands wait for a running test. Both work after each other."""
    core, host, engine_ = await engine(dut)
    host.piece_bytes = 1 << 32
    await core.describe(AddressList(size=64, window=4096), "bw-rd", 200, host)
    await core.start()
    await core.write(r.COMMANDS, 1)
    assert not await core.read(r.COMMAND_STATUS) & r.COMMAND_STATUS_READY_MASK
    assert await core.end() == r.RESULT_COMPLETE
    assert await core.read(r.TRANSACTIONS) == 200
    await engine_.enable()
    assert await core.run() == r.RESULT_BAD_PARAMETER
    await engine_.submit(Command(False, 0x3000, 0, 700))
    await engine_.until_done(1)
    await check_out(engine_, host, 0, host.pattern(0x3000, 700), READ_END)
    await engine_.disable()
    assert await core.run() == r.RESULT_COMPLETE
    assert await core.read(r.DATA_MISMATCH_COUNT) == 0


@cocotb.test()
async def stores_reach_the_memory_beside_answers(dut: Any) -> None:
    """Stores while the memory is being filled; misaligned ones are dropped and counted."""
    core, host, engine_ = await engine(dut)
    await engine_.enable()
    host.manners = Manners.rude()
    await engine_.submit(Command(False, 0x1000, 0, 16384))
    text = random.randbytes(16384)
    at = 0
    while at < len(text):
        length = min(random.choice([64, 128, 256]), len(text) - at)
        await store(dut, 16384 + at, text[at : at + length])
        at += length
    await store(dut, 16384 + 4, bytes(64))
    await store(dut, 16384, bytes(64), first_be=0b1000)
    await store(dut, 32768, b"\xff" * 12, last_be=0b0011)
    await store(dut, 32768 + 64, b"\xff" * 4, first_be=0b0001, last_be=0)
    await engine_.until_done(1)
    host.manners = Manners()
    assert await core.read(r.MEMORY_STORES_BAD) == 2
    await check_out(engine_, host, 0, host.pattern(0x1000, 16384) + text, READ_END)
    for offset, length in ((32768, 10), (32768 + 64, 1)):
        await check_out(engine_, host, offset, b"\xff" * length, READ_END)


@cocotb.test()
async def loads_read_the_memory(dut: Any) -> None:
    """Any bytes of it, while commands fill and read other parts."""
    _, host, engine_ = await engine(dut)
    await engine_.enable()
    host.manners = Manners.rude()
    text = random.randbytes(8192)
    for at in range(0, len(text), 256):
        await store(dut, at, text[at : at + 256])
    for number in range(12):
        await engine_.submit(
            Command(number % 2 == 1, READ_END if number % 2 else 0x1000, 16384, 8192, notify=False)
        )
    for _ in range(60):
        at, length = random.randrange(8000), random.choice([1, 4, 64, 128])
        assert await load(dut, at, length) == text[at : at + length]
    await engine_.until_done(12)
    assert await load(dut, 16384, 8192) == host.pattern(0x1000, 8192)


@cocotb.test()
async def a_reset_loses_no_store_and_no_load(dut: Any) -> None:
    """The host goes on while software resets the core: the memory takes and answers everything."""
    core, _, engine_ = await engine(dut)
    await engine_.enable()
    for _ in range(4):
        text = random.randbytes(2048)
        for reach in (store(dut, 4096, text), load(dut, 4096, len(text))):
            running = cocotb.start_soon(reach)
            while not running.done():
                await core.control(r.CONTROL_RESET_SHIFT)
            loaded = await running
        assert loaded == text
