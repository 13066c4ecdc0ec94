"""Messages by stores: the receiver gives the same messages as the simulation's filter, and loses nothing."""

import itertools
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cocotb
from cocotb.task import Task
from cocotb.triggers import FallingEdge

from clocking import clocks, settled, start, until

GOLDEN = Path(__file__).with_name("golden_stores.json")
"""Written by ``crates/pcie-sim/src/pio/stores/golden.rs``."""
BUFFER = 64
SLOTS = 64
QUEUES = 4
DATA, RECORDS = 0x10_0000_0000, 0x20_0000_0000
SIGNATURE = (0xDEADBEEFCAFEBEEF).to_bytes(8, "little")
IDLE = {
    "enable": 0, "stuffed": 1, "timeout": 2000, "data_address": DATA, "data_log2": 8, "records_address": RECORDS,
    "records_log2": 4, "data_taken": 0, "records_taken": 0, "bus_master": 1, "store_valid": 0, "store_sop": 0,
    "store_eop": 0, "store": 0, "store_data": 0, "out_ready": 0,
}  # fmt: skip


def packed(address: int, dwords: int, first_be: int = 15, last_be: int = 15) -> int:
    """A ``host_request_t`` that writes to BAR 2."""
    return ((((1 << 3 | 2) << 64 | address) << 11 | dwords) << 4 | first_be) << 34 | last_be << 30


@dataclass
class Record:
    """The record of a message."""

    length: int
    queue: int
    intact: bool
    overlong: bool
    head: int
    data: bytes


@dataclass
class Memory:
    """Host memory, with software that reads the rings."""

    dut: Any
    ready_percent: int = 100
    reads_percent: int = 100
    data_log2: int = 8
    records_log2: int = 4
    bytes_at: dict[int, int] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    taken: list[int] = field(default_factory=lambda: [0] * QUEUES)
    clock_before: int = 0

    async def run(self) -> None:
        """Take requests, and read new records now and then."""
        dut, width = self.dut, len(self.dut.out_data) // 8
        text, address, dwords = b"", 0, 0
        while True:
            dut.out_ready.value = int(random.randrange(100) < self.ready_percent)
            await settled()
            if dut.out_valid.value and dut.out_ready.value:
                if dut.out_sop.value:
                    request = int(dut.out_request.value)
                    text, address, dwords = b"", request >> 31 & (1 << 64) - 1, request >> 20 & 0x7FF
                    assert request >> 95 == 1, "a message is read"
                text += int(dut.out_data.value).to_bytes(width, "little")
                if dut.out_eop.value:
                    assert address // 4096 == (address + 4 * dwords - 1) // 4096
                    self.bytes_at.update(enumerate(text[: 4 * dwords], address))
            await FallingEdge(dut.clk)
            if random.randrange(100) < self.reads_percent:
                self.read()

    def held(self, address: int, length: int) -> bytes:
        """Bytes of memory."""
        return bytes(self.bytes_at.get(address + index, 0) for index in range(length))

    def read(self) -> None:
        """Read the next record, if there is one, and its message."""
        number = len(self.records)
        text = self.held(RECORDS + number % (1 << self.records_log2) * 32, 32)
        if int.from_bytes(text[16:20], "little") != number + 1:
            return
        clock = int.from_bytes(text[:8], "little")
        assert clock > self.clock_before
        self.clock_before = clock
        length, first = (int.from_bytes(text[at : at + 4], "little") for at in (8, 12))
        queue, head = (int.from_bytes(text[at : at + 4], "little") & 0xFFFF for at in (20, 24))
        overlong = bool(text[23])
        parts = min(-(-length // BUFFER), 1 << self.data_log2)
        ring = DATA + (queue << self.data_log2) * BUFFER
        slots = ((first + part) % (1 << self.data_log2) for part in range(parts))
        data = b"".join(self.held(ring + slot * BUFFER, BUFFER) for slot in slots)[:length]
        assert first == self.taken[queue], "a message does not follow the one before"
        self.records.append(Record(length, queue, bool(text[22]), overlong, head, data))
        self.taken[queue] += parts
        self.dut.records_taken.value = len(self.records)
        self.dut.data_taken.value = sum(taken << 32 * n for n, taken in enumerate(self.taken))


async def store(dut: Any, queue: int, buffer: int, first_word: int, words: bytes, limit: int = 20_000) -> None:
    """Send a store."""
    width = len(dut.store_data) // 8
    address = (queue * 2 * SLOTS + buffer % (2 * SLOTS)) * BUFFER + 8 * first_word
    for at in range(0, len(words), width):
        beat = words[at : at + width]
        dut.store_valid.value, dut.store_sop.value = 1, int(at == 0)
        dut.store_eop.value = int(at + width >= len(words))
        dut.store.value = packed(address, len(words) // 4) if at == 0 else random.getrandbits(60)
        dut.store_data.value = int.from_bytes(beat + random.randbytes(width - len(beat)), "little")
        for _ in range(limit):
            await settled()
            taken = bool(dut.store_ready.value)
            await FallingEdge(dut.clk)
            if taken:
                break
        else:
            raise AssertionError("a store is not taken")
    dut.store_valid.value = 0


async def receiver(dut: Any, stuffed: bool = True, **memory: int) -> tuple[Memory, Task[None]]:
    """Enable the receiver, and run a host."""
    host = Memory(dut, **memory)
    await start(dut, **{**IDLE, "data_log2": host.data_log2, "records_log2": host.records_log2})
    dut.stuffed.value, dut.enable.value = int(stuffed), 1
    await clocks(dut, QUEUES * SLOTS + 4)
    return host, cocotb.start_soon(host.run())


def buffers_of(message: bytes, stuffed: bool = True) -> list[bytes]:
    """The buffers that a core writes for a message."""
    words = message + bytes(-len(message) % 8) + SIGNATURE
    while stuffed and len(words) % BUFFER:
        words += SIGNATURE
    return [words[at : at + BUFFER] for at in range(0, len(words), BUFFER)]


def message_of(length: int) -> bytes:
    """A message without a signature inside."""
    return length.to_bytes(4, "little") + bytes(random.randrange(100) for _ in range(length - 4))


@cocotb.test()
async def messages_equal_those_of_the_simulation(dut: Any) -> None:
    """Stores of the simulation, in the order of its write-combining buffers."""
    for case in json.loads(GOLDEN.read_text()):
        host, reader = await receiver(
            dut, case["stuffed"], ready_percent=random.choice([100, 60]), reads_percent=random.choice([100, 5])
        )
        for queue, buffer, first_word, words in case["stores"]:
            await store(dut, queue, buffer, first_word, bytes.fromhex(words))
            if random.random() < 0.3:
                await clocks(dut, random.randrange(20))
        expected = [[(intact, bytes.fromhex(frame)) for intact, frame in queue] for queue in case["queues"]]
        count = sum(len(queue) for queue in expected)
        await until(dut, lambda host=host, count=count: len(host.records) == count)
        for queue, messages in enumerate(expected):
            found = [(record.intact, record.data) for record in host.records if record.queue == queue]
            assert found == messages, (case["stuffed"], queue)
        assert int(dut.messages.value) == count
        assert int(dut.dropped.value) == sum(not intact for queue in expected for intact, _ in queue)
        assert int(dut.stores_lost.value) == int(dut.stores_bad.value) == 0
        reader.cancel()


@cocotb.test()
async def full_ring_holds_up_stores_and_loses_none(dut: Any) -> None:
    """While the host reads nothing and a ring is full, stores wait; once it reads, all arrive."""
    for records_log2, data_log2 in ((2, 4), (4, 2)):
        await hold_up(dut, records_log2, data_log2)


async def hold_up(dut: Any, records_log2: int, data_log2: int) -> None:
    """Fill a ring of records or of data, then read everything."""
    host, reader = await receiver(dut, reads_percent=0, records_log2=records_log2, data_log2=data_log2)
    dut.timeout.value = 1_000_000
    sent = [message_of(random.randint(4, 200)) for _ in range(120)]
    parts = list(itertools.accumulate(-(-len(message) // BUFFER) for message in sent))
    fit = min(1 << records_log2, sum(part <= 1 << data_log2 for part in parts))
    buffer, held_up = 0, 0

    async def send() -> None:
        nonlocal buffer
        for message in sent:
            for words in buffers_of(message):
                await store(dut, 1, buffer, 0, words, limit=200_000)
                buffer += 1

    sender = cocotb.start_soon(send())
    for _ in range(3000):
        await settled()
        held_up += int(dut.store_valid.value and not dut.store_ready.value)
        await FallingEdge(dut.clk)
    assert held_up > 1000
    assert int(dut.messages.value) == fit
    host.reads_percent = 100
    await until(dut, lambda: len(host.records) == len(sent))
    assert sender.done()
    assert [record.data for record in host.records] == sent
    assert [record.head for record in host.records][-1] == buffer
    assert int(dut.stores_lost.value) == 0
    reader.cancel()


@cocotb.test()
async def invalid_stores_are_counted(dut: Any) -> None:
    """Partial words, across buffers, twice, outside the window, while disabled; good stores arrive."""
    host, _ = await receiver(dut)
    dut.timeout.value = 50
    for address, dwords, first_be, last_be in (
        (4, 2, 15, 15), (0, 3, 15, 15), (0, 2, 14, 15), (0, 2, 15, 7), (56, 4, 15, 15), (0, 18, 15, 15),
        (0, 1, 15, 0),
    ):  # fmt: skip
        width = len(dut.store_data) // 32
        for at in range(0, dwords, width):
            dut.store_valid.value, dut.store_sop.value = 1, int(at == 0)
            dut.store_eop.value = int(at + width >= dwords)
            dut.store.value = packed(address, dwords, first_be, last_be)
            await until(dut, lambda: bool(dut.store_ready.value))
            await FallingEdge(dut.clk)
        dut.store_valid.value = 0
    await clocks(dut, 3)
    assert (int(dut.stores_bad.value), int(dut.stores_lost.value)) == (7, 0)
    message = message_of(40)
    (words,) = buffers_of(message)
    await store(dut, 2, 0, 0, words[:32])
    await store(dut, 2, 0, 0, words[:32])
    await clocks(dut, 3)
    assert int(dut.stores_lost.value) == 1
    await store(dut, 2, SLOTS, 0, words)
    await clocks(dut, 70)
    assert int(dut.stores_lost.value) == 2
    await store(dut, 2, 0, 4, words[32:])
    await until(dut, lambda: len(host.records) == 1)
    assert host.records[0].data == message
    dut.enable.value = 0
    await clocks(dut, 3)
    await store(dut, 0, 0, 0, words)
    await clocks(dut, 3)
    assert int(dut.stores_lost.value) == 3


@cocotb.test()
async def message_longer_than_its_ring_is_marked(dut: Any) -> None:
    """It loses the rest; the next message is whole."""
    host, _ = await receiver(dut, data_log2=2)
    sent = [message_of(900), message_of(100)]
    buffer = 0
    for message in sent:
        for words in buffers_of(message):
            await store(dut, 3, buffer, 0, words)
            buffer += 1
    await until(dut, lambda: len(host.records) == 2)
    assert [record.overlong for record in host.records] == [True, False]
    assert host.records[0].data == sent[0][: 4 * BUFFER]
    assert host.records[1].data == sent[1]


@cocotb.test()
async def receiver_can_be_disabled_and_enabled(dut: Any) -> None:
    """In the middle of a message, of which nothing remains."""
    host, _ = await receiver(dut)
    for words in buffers_of(message_of(500))[:4]:
        await store(dut, 0, 0, 0, words)
    dut.enable.value = 0
    await clocks(dut, 10)
    host.bytes_at, host.records, host.taken, host.clock_before = {}, [], [0] * QUEUES, 0
    dut.records_taken.value, dut.data_taken.value = 0, 0
    dut.enable.value = 1
    await clocks(dut, QUEUES * SLOTS + 4)
    message = message_of(300)
    for buffer, words in enumerate(buffers_of(message)):
        await store(dut, 0, buffer, 0, words)
    await until(dut, lambda: len(host.records) == 1)
    assert host.records[0].data == message
