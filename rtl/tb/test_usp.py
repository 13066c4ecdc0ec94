"""The core behind the UltraScale+ hard block, below cocotbext-pcie's root complex: BARs, DMA, MSI-X."""

import random
from typing import Any

import cocotb
import pytest
from cocotb.triggers import Timer, with_timeout
from cocotbext.pcie.core.caps import PciCapId
from cocotbext.pcie.core.tlp import TlpType

import registers as r
from address_list import AddressList
from clocking import clocks
from commands import QUEUES, Command, Commands
from core import OPERATIONS, Core
from root import READ_REQUESTS, WAIT_US, Root
from test_message_receiver import buffers_of, message_of

EXTENDED_TAGS = 1 << 8
"""Extended Tag Enable in the device control register."""


def engine_of(root: Root, core: Core) -> Commands:
    """The commands of a core, with their notices at the start of its buffer."""
    first, memory = root.pieces[0], root.memory[0].mem
    return Commands(core, first, lambda at, length: bytes(memory[at - first :][:length]))


@cocotb.test()
async def registers_are_accessible_through_the_bar(dut: Any) -> None:
    """One and two double words, reads of single bytes, and unsupported accesses."""
    root = Root(dut)
    core = await root.start()
    assert await core.read(r.ID) == 0x42414C50
    assert await core.read(r.PARAMETERS) & r.PARAMETERS_DATA_BYTES_MASK == len(dut.s_axis_rq_tdata) // 8
    assert await core.read(r.LINK) == 1 | 2 << 4 | 1 << 8
    key = random.getrandbits(64)
    await core.bar.write_qword(r.KEY_LO, key)
    assert await with_timeout(core.bar.read_qword(r.KEY_LO), WAIT_US, "us") == key
    for first, length in ((1, 1), (2, 2), (3, 2), (3, 5), (0, 7)):
        text = await with_timeout(core.bar.read(r.KEY_LO + first, length), WAIT_US, "us")
        assert text == key.to_bytes(8, "little")[first : first + length]
    # Partial writes, and writes of more than two double words, are dropped.
    await core.bar.write(r.KEY_LO + 1, b"\x55")
    await core.bar.write(r.KEY_LO, bytes(64))
    assert await with_timeout(core.bar.read_qword(r.KEY_LO), WAIT_US, "us") == key
    with pytest.raises(Exception, match="Unsuccessful completion"):
        await with_timeout(core.bar.read(r.KEY_LO, 64), WAIT_US, "us")
    assert await core.read(r.ID) == 0x42414C50


@cocotb.test()
async def every_operation_moves_the_right_bytes(dut: Any) -> None:
    """Random sizes, aligned and not, with random limits and late, cut completions."""
    root = Root(dut, max_payload=random.choice([128, 256]))
    core = await root.start()
    root.complex.split_on_all_rcb = random.random() < 0.5
    root.delay_ns = random.choice([0, 300])
    done = set()
    limits = random.sample(READ_REQUESTS, len(READ_REQUESTS))
    for operation in OPERATIONS:
        for size in (1, 4, 64, random.randint(1, 300), random.randint(300, 4096)):
            await root.set_max_read_request(limits[0])
            limits.append(limits.pop(0))
            codes = (root.max_read_request.bit_length() - 8) << 4 | root.max_payload.bit_length() - 8
            assert await core.read(r.LINK) == 1 << 8 | codes
            root.data_key = random.getrandbits(32)
            root.fill()
            host_offset = min(random.choice([0, 0, 1, 63]), 4096 - size)
            unit = -(-(size + host_offset) // 64) * 64
            latency = operation.startswith("lat")
            wanted = AddressList(size=size, host_offset=host_offset, window=max(unit, 16384), is_latency=latency)
            root.requests = []
            count = 12
            await core.describe(wanted, operation, count, root, outstanding=random.choice([1, 32]))
            # A late root answers requests one by one: 64 tags of 300 ns are 4,800 clocks.
            await core.write(r.TIMEOUT, 50_000)
            result = await core.run()
            assert result == r.RESULT_COMPLETE, (operation, wanted, result)
            assert await core.read(r.TRANSACTIONS) == count
            await Timer(1, "us")
            moved = {
                write: sum(n for is_write, _, n in root.requests if is_write == write) for write in (False, True)
            }
            shares = {"bw-rdwr": (count // 2, count // 2), "bw-wr": (0, count), "lat-wrrd": (count, count)}
            reads, writes = shares.get(operation, (count, 0))
            assert (moved[False], moved[True]) == (size * reads, size * writes)
            for region, first in zip(root.memory, (0, root.piece_bytes), strict=True):
                for offset in range(0, 65536, 4096):
                    expected = (first + offset ^ root.data_key).to_bytes(4, "little")
                    assert region.mem[offset : offset + 4] == expected
            done.add((operation, root.max_read_request))
    # Five transfers of each operation: the limits go round four times.
    assert {operation for operation, _ in done} == set(OPERATIONS)
    assert {limit for _, limit in done} == set(READ_REQUESTS)
    assert root.dropped == 0


@cocotb.test()
async def commands_move_bytes_both_ways(dut: Any) -> None:
    """Random commands and limits: into the memory, also by stores of the host, and out of it."""
    root = Root(dut, max_payload=random.choice([128, 256]))
    core = await root.start()
    root.complex.split_on_all_rcb = random.random() < 0.5
    root.delay_ns = random.choice([0, 300])
    await root.set_max_read_request(random.choice(READ_REQUESTS))
    first, second = root.memory
    half = root.piece_bytes // 2
    first.mem[:half] = random.randbytes(half)
    engine = Commands(
        core, root.pieces[1] + half, lambda at, length: bytes(second.mem[at - root.pieces[1] :][:length])
    )
    await engine.enable()
    stored = random.randbytes(256)
    await root.function.bar_window[4].write(60 << 10, stored)
    done = 0
    for length in (1, 63, 64, 300, random.randint(1, 4096), random.randint(4097, 20_000)):
        source, memory, target = (64 * random.randrange(64) for _ in range(3))
        second.mem[:half] = bytes(half)
        await engine.submit(Command(False, root.pieces[0] + source, memory, length, random.randrange(QUEUES)))
        await engine.until_done(done + 1)
        await engine.submit(Command(True, root.pieces[1] + target, memory, length, random.randrange(QUEUES)))
        await engine.until_done(done + 2)
        await Timer(1, "us")
        expected = bytes(target) + bytes(first.mem[source : source + length])
        assert bytes(second.mem[:half]) == expected.ljust(half, b"\0"), length
        assert [notice.write for notice in await engine.take()] == [False, True]
        done += 2
    await engine.submit(Command(True, root.pieces[1], 60 << 10, len(stored)))
    await engine.until_done(done + 1)
    await Timer(1, "us")
    assert bytes(second.mem[: len(stored)]) == stored
    assert root.dropped == 0


@cocotb.test()
async def write_changes_only_its_own_bytes(dut: Any) -> None:
    """Bytes around a transfer keep what they held."""
    root = Root(dut)
    core = await root.start()
    for size, host_offset in ((1, 3), (5, 2), (64, 0), (67, 1), (700, 5)):
        root.data_key = random.getrandbits(32)
        for region in root.memory:
            region.mem[:] = bytes(root.piece_bytes)
        wanted = AddressList(size=size, host_offset=host_offset, window=8192, pattern="fixed")
        await core.describe(wanted, "bw-wr", 1, root)
        assert await core.run() == r.RESULT_COMPLETE
        await Timer(1, "us")
        words = b"".join((word ^ root.data_key).to_bytes(4, "little") for word in range(0, 8192, 4))
        expected = bytes(host_offset) + words[host_offset : host_offset + size]
        assert bytes(root.memory[0].mem[:8192]) == expected.ljust(8192, b"\0")


@cocotb.test()
async def the_end_of_a_test_interrupts(dut: Any) -> None:
    """One MSI-X after the test's writes; while the vector is masked it waits."""
    root = Root(dut)
    core = await root.start()
    await root.function.alloc_irq_vectors(1, 1)
    interrupts = 0

    async def count() -> None:
        nonlocal interrupts
        interrupts += 1

    root.function.request_irq(0, count)
    await core.describe(AddressList(size=256, window=8192), "bw-wr", 20, root)
    assert await core.run() == r.RESULT_COMPLETE
    await Timer(2, "us")
    assert interrupts == 1
    await core.write(r.VECTOR_CONTROL, 1)
    assert await core.run() == r.RESULT_COMPLETE
    await Timer(2, "us")
    assert interrupts == 1
    assert await core.read(r.VECTOR_PENDING) == 1
    await core.write(r.VECTOR_CONTROL, 0)
    await Timer(2, "us")
    assert interrupts == 2
    assert await core.read(r.VECTOR_PENDING) == 0


@cocotb.test()
async def messages_arrive_through_their_bar(dut: Any) -> None:
    """Buffers in any order, to several queues; memory has the stored messages."""
    root = Root(dut)
    core = await root.start()
    window = root.function.bar_window[2]
    data, records = root.pieces
    for register, value in (
        (r.MESSAGE_DATA_LO, data), (r.MESSAGE_DATA_HI, data >> 32), (r.MESSAGE_RECORDS_LO, records),
        (r.MESSAGE_RECORDS_HI, records >> 32), (r.MESSAGE_RINGS, 6 | 4 << r.MESSAGE_RINGS_RECORDS_LOG2_SHIFT),
        (r.MESSAGES, 3),
    ):  # fmt: skip
        await core.write(register, value & 0xFFFFFFFF)
    await clocks(core.dut, 300)
    sent = {queue: message_of(random.randint(4, 600)) for queue in range(4)}
    stores = [
        (8192 * queue + 64 * number, words)
        for queue, message in sent.items()
        for number, words in enumerate(buffers_of(message))
    ]
    random.shuffle(stores)
    for address, words in stores:
        await window.write(address, words)
    await Timer(5, "us")
    assert await core.read(r.MESSAGES_LEFT) == len(sent)
    assert await core.read(r.STORES_LOST) == await core.read(r.STORES_BAD) == 0
    for number in range(len(sent)):
        record = bytes(root.memory[1].mem[32 * number : 32 * number + 32])
        length, queue = (int.from_bytes(record[at : at + 4], "little") for at in (8, 20))
        queue &= 0xFFFF
        found = bytes(root.memory[0].mem[4096 * queue : 4096 * queue + length])
        assert (record[16], found) == (number + 1, sent.pop(queue))
    assert await core.read(r.MESSAGE_HEADS) > 0


@cocotb.test()
async def the_window_of_messages_reads_as_zeros(dut: Any) -> None:
    """At any address and length, cut only at the boundaries of an endpoint, with stores before and behind it."""
    root = Root(dut)
    await root.start()
    window = root.function.bar_window[2]
    pieces: list[tuple[int, int, int]] = []

    take = root.complex.recv_cpl

    async def watched(*arguments: Any) -> Any:
        completion = await take(*arguments)
        pieces.append((completion.lower_address, completion.byte_count, 4 * completion.length))
        return completion

    root.complex.recv_cpl = watched
    for first, length in (
        (0, 1), (3, 1), (4, 4), (0, 8), (60, 8), (124, 8), (64, 64), (0, 128), (1, 128), (127, 2), (0, 512),
        (5, 507), (126, 385), (3, 4000), (random.randrange(2000), random.randint(1, 1000)),
    ):  # fmt: skip
        pieces.clear()
        await window.write(8192 + 64, bytes(range(64)))
        assert await with_timeout(window.read(first, length), WAIT_US, "us") == bytes(length)
        assert all((at & 127 & ~3) + carried <= 128 for at, _, carried in pieces), pieces
        assert sum(carried for *_, carried in pieces) == (first + length + 3 & ~3) - (first & ~3)
    assert await with_timeout(root.function.bar_window[0].read_dword(r.ID), WAIT_US, "us") == 0x42414C50


@cocotb.test()
async def the_memory_of_commands_reads_back(dut: Any) -> None:
    """BAR 4 at any address and length, cut only at boundaries, also while commands read the memory."""
    root = Root(dut)
    core = await root.start()
    window = root.function.bar_window[4]
    pieces: list[tuple[int, int, int]] = []
    take = root.complex.recv_cpl

    async def watched(*arguments: Any) -> Any:
        completion = await take(*arguments)
        pieces.append((completion.lower_address, completion.byte_count, 4 * completion.length))
        return completion

    root.complex.recv_cpl = watched
    held = random.randbytes(8192)
    await window.write(0, held)
    await window.write(65536 - 64, held[:64])
    engine = engine_of(root, core)
    cases = [
        (0, 1), (3, 1), (4, 4), (0, 8), (60, 8), (124, 8), (28, 8), (36, 32), (64, 64), (0, 128), (1, 128),
        (127, 2), (0, 512), (5, 507), (126, 385), (3, 4000), (4092, 12),
        (random.randrange(4000), random.randint(1, 1000)),
    ]  # fmt: skip
    for busy in (False, True):
        if busy:
            await engine.enable()
            for _ in range(32):
                await engine.submit(Command(True, root.pieces[1], 0, 8192, notify=False))
        for first, length in cases:
            pieces.clear()
            assert await with_timeout(window.read(first, length), WAIT_US, "us") == held[first : first + length]
            assert all((at & 127 & ~3) + carried <= 128 for at, _, carried in pieces), pieces
            assert sum(carried for *_, carried in pieces) == (first + length + 3 & ~3) - (first & ~3)
        assert await with_timeout(window.read(65536 - 64, 64), WAIT_US, "us") == held[:64]
    await engine.until_done(32)
    assert await core.read(r.ID) == 0x42414C50


@cocotb.test()
async def commands_count_once_their_writes_are_out(dut: Any) -> None:
    """A command that writes is done when its last number comes back, not one from before a reset."""
    root = Root(dut)
    core = await root.start()
    engine = engine_of(root, core)
    await engine.enable()
    put, held = root.device.rq_seq_num.put_nowait, []

    async def give_back(count: int) -> int:
        for number in held[:count]:
            put(number)
        del held[:count]
        await Timer(1, "us")
        return await core.read(r.COMMANDS_DONE)

    async def submit() -> None:
        waiting = len(held)
        await engine.submit(Command(True, root.pieces[1], 0, 700))
        await Timer(2, "us")
        assert len(held) == waiting + 3, "the data leave before their numbers come back"
        assert await core.read(r.COMMANDS_DONE) == 0

    for reset in (False, True, False):
        root.device.rq_seq_num.put_nowait = held.append
        await submit()
        if reset:
            await engine.disable()
            await core.control(r.CONTROL_RESET_SHIFT)
            await engine.enable()
            await submit()
            assert await give_back(3) == 0, "numbers from before the reset"
        root.device.rq_seq_num.put_nowait = put
        assert await give_back(1) == 0, "the number of the first write"
        assert await give_back(2) == 1
        assert [notice.length for notice in await engine.take()] == [700]
        await engine.disable()
        await engine.enable()


@cocotb.test()
async def reads_without_credit_let_writes_pass(dut: Any) -> None:
    """With no credit for reads, none leaves, and the writes of a command do."""
    root = Root(dut)
    core = await root.start()
    root.fill()
    dut.pcie_tfc_nph_av.value = 0
    engine = engine_of(root, core)
    await engine.enable()
    root.requests = []
    await engine.submit(Command(False, root.pieces[1], 0, 512, queue=0))
    await engine.submit(Command(True, root.pieces[1] + 8192, 4096, 300, queue=1))
    await engine.until_done(1)
    await Timer(1, "us")
    assert [notice.write for notice in await engine.take()] == [True]
    assert all(write for write, *_ in root.requests)
    dut.pcie_tfc_nph_av.value = 1
    await engine.until_done(2)
    await Timer(1, "us")
    assert [notice.write for notice in await engine.take()] == [False]
    assert sum(not write for write, *_ in root.requests) == 1
    dut.pcie_tfc_nph_av.value = 15
    await engine.disable()
    await core.describe(AddressList(size=64, window=8192), "bw-rd", 100, root)
    assert await core.run() == r.RESULT_COMPLETE


@cocotb.test()
async def extended_tags_are_used_only_when_the_host_enables_them(dut: Any) -> None:
    """As the device control register says, whatever software allows, from the next test on."""
    root = Root(dut)
    core = await root.start()
    root.fill()
    tags: set[int] = set()
    take = root.take_read

    async def watched(tlp: Any) -> None:
        tags.add(tlp.tag)
        await take(tlp)

    for kind in (TlpType.MEM_READ, TlpType.MEM_READ_64):
        root.complex.register_rx_tlp_handler(kind, watched)
    # The core has not read the register yet, or reads it again: some 1,000 clocks.
    for number, (enabled, link_tags) in enumerate(((True, 0), (False, 0), (False, 64), (True, 0), (True, 64))):
        control = await root.function.capability_read_dword(PciCapId.EXP, 8)
        control = control | EXTENDED_TAGS if enabled else control & ~EXTENDED_TAGS
        await root.function.capability_write_dword(PciCapId.EXP, 8, control)
        await clocks(core.dut, 1100)
        tags.clear()
        await core.describe(AddressList(size=64, window=8192), "bw-rd", 300, root, outstanding=64)
        await core.write(r.LINK_TAGS, link_tags)
        assert await core.run() == r.RESULT_COMPLETE
        assert len(tags) > 16
        assert (max(tags) >= 32) == enabled, (number, max(tags))


@cocotb.test()
async def unmapped_address_gives_an_error_status(dut: Any) -> None:
    """The host refuses it; the core counts the error, and runs the next test."""
    root = Root(dut)
    core = await root.start()
    good, root.pieces = root.pieces, [1 << 50]
    await core.describe(AddressList(size=64, window=8192), "bw-rd", 10, root, outstanding=1)
    assert await core.run() == r.RESULT_ERROR_STATUS
    assert await core.read(r.ERROR_STATUS_COUNT) == 1
    await core.control(r.CONTROL_RESET_SHIFT)
    root.pieces = good
    root.fill()
    await core.describe(AddressList(size=64, window=8192), "bw-rd", 10, root)
    assert await core.run() == r.RESULT_COMPLETE
