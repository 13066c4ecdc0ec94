"""A host for the core's streams: memory, and completions that are late, cut and out of order.

It checks every request of the core: none exceeds MRRS or MPS or crosses 4 KiB, byte enables are valid, no tag is
used twice, and beats add up. It is independent of any hard block.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cocotb.triggers import FallingEdge

from address_list import PAGE
from clocking import settled

RCB = 64


@dataclass
class Request:
    """A TLP that the core sent, in bytes."""

    write: bool
    address: int
    length: int
    tag: int
    first_clock: int
    last_clock: int = 0
    answered_clock: int = 0
    data: bytes = b""


@dataclass
class Completion:
    """A TLP for the core."""

    tag: int
    byte_count: int
    lower_address: int
    data: bytes
    """Whole double words."""
    status: int = 0
    poisoned: bool = False
    dwords: int | None = None
    """The length in the header, if it is wrong on purpose."""

    def beats(self, width_bytes: int) -> list[bytes]:
        """The data of each beat; one empty beat for a completion without data."""
        return [self.data[i : i + width_bytes] for i in range(0, len(self.data), width_bytes)] or [b""]


@dataclass
class Manners:
    """How the host behaves, in percent and clocks."""

    ready_percent: int = 100
    beat_percent: int = 100
    least_delay: int = 10
    most_delay: int = 10
    shuffle: bool = False
    split_percent: int = 0
    """Probability that a completion ends at each read completion boundary."""

    @classmethod
    def rude(cls) -> Manners:
        """Slow, out of order, with back-pressure."""
        return cls(
            ready_percent=random.choice([100, 70, 30]),
            beat_percent=random.choice([100, 70, 40]),
            least_delay=random.choice([0, 5, 40]),
            most_delay=random.choice([40, 80, 200]),
            shuffle=random.random() < 0.7,
            split_percent=random.choice([0, 30, 100]),
        )


@dataclass
class Host:
    """The other end of tx and rx. ``run`` it in the background."""

    dut: Any
    data_key: int = 0
    manners: Manners = field(default_factory=Manners)
    max_payload: int = 256
    max_read_request: int = 512
    pieces: list[int] = field(default_factory=lambda: [0x1_2340_0000])
    piece_bytes: int = 1 << 20
    alter: Callable[[Request, list[Completion]], list[Completion]] | None = None
    """Changes the completions of a read before they are sent, to inject faults."""
    requests: list[Request] = field(default_factory=list)
    clock: int = 0
    written: dict[int, int] = field(default_factory=dict)
    sent: list[list[tuple[int, Completion, bool]]] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.width = len(self.dut.tx_data) // 8
        self.open: dict[int, Request] = {}
        self.arriving: Request | None = None
        self.beats = b""
        self.byte_enables = (0, 0)
        self.dwords = 0
        self.sending: list[tuple[bytes, bool, bool]] = []
        self.sent_completion: Completion | None = None
        self.ends_request = False

    # ---- memory

    def offset_of(self, address: int) -> int:
        """The offset of an address in the buffer."""
        for index, base in enumerate(self.pieces):
            if base <= address < base + self.piece_bytes:
                return index * self.piece_bytes + address - base
        raise AssertionError(f"{address:#x} is not in the host buffer")

    def pattern(self, address: int, length: int) -> bytes:
        """The pattern that the core writes and expects at an address."""
        start = self.offset_of(address)
        words = range(start & ~3, start + length, 4)
        text = b"".join(((word & 0xFFFFFFFF) ^ self.data_key).to_bytes(4, "little") for word in words)
        return text[start & 3 :][:length]

    def read(self, address: int, length: int) -> bytes:
        """Bytes of memory, with the pattern in bytes that were never written."""
        text = bytearray(self.pattern(address, length))
        for i in range(length):
            text[i] = self.written.get(address + i, text[i])
        return bytes(text)

    # ---- every clock

    async def run(self) -> None:
        """Run the host until the bench ends."""
        dut = self.dut
        while True:
            dut.tx_ready.value = int(random.randrange(100) < self.manners.ready_percent)
            self.drive()
            await settled()
            if dut.tx_valid.value and dut.tx_ready.value:
                self.take_beat()
            await FallingEdge(dut.clk)
            self.clock += 1

    def take_beat(self) -> None:
        """Take a beat of a request."""
        dut = self.dut
        if dut.tx_sop.value:
            assert self.arriving is None, "a request starts in the middle of another"
            write, tag = bool(dut.tx_write.value), int(dut.tx_tag.value)
            self.arriving = Request(write, int(dut.tx_address.value), 0, tag, self.clock)
            self.beats = b""
            self.byte_enables = int(dut.tx_first_be.value), int(dut.tx_last_be.value)
            self.dwords = int(dut.tx_dwords.value)
        request = self.arriving
        assert request is not None, "a beat that belongs to no request"
        if request.write:
            self.beats += int(dut.tx_data.value).to_bytes(self.width, "little")
        if dut.tx_eop.value:
            request.last_clock = self.clock
            self.arriving = None
            self.take_request(request)

    def take_request(self, request: Request) -> None:
        """Check and carry out a whole request."""
        lead, behind = check_enables(*self.byte_enables, self.dwords)
        assert request.address % 4 == 0
        request.address += lead
        request.length = 4 * self.dwords - lead - behind
        limit = self.max_payload if request.write else self.max_read_request
        assert 0 < request.length <= limit, f"{request} is over {limit}"
        assert request.address // PAGE == (request.address + request.length - 1) // PAGE, (
            f"{request} crosses 4 KiB"
        )
        self.requests.append(request)
        self.seen["write" if request.write else "read"] += 1
        self.seen["unaligned"] += bool(lead or behind)
        if request.write:
            assert len(self.beats) == -(-4 * self.dwords // self.width) * self.width, "beats do not add up"
            request.data = self.beats[lead : lead + request.length]
            self.written.update(enumerate(request.data, request.address))
        else:
            assert request.tag not in self.open, f"tag {request.tag} is used twice"
            self.open[request.tag] = request
            self.answer(request)

    def answer(self, request: Request) -> None:
        """Make the completions of a read, with the clock at which each may leave."""
        completions = self.completions(request)
        if self.alter is not None:
            completions = self.alter(request, completions)
        due, schedule = self.clock, []
        for number, completion in enumerate(completions):
            due += (
                random.randint(self.manners.least_delay, self.manners.most_delay)
                if number == 0 or self.manners.shuffle
                else 0
            )
            schedule.append((due, completion, number == len(completions) - 1))
        self.seen["split"] += len(completions) > 1
        if schedule:
            self.sent.append(schedule)

    def completions(self, request: Request) -> list[Completion]:
        """A read's data, cut at MPS and, as the manners say, at read completion boundaries."""
        address, left, cuts = request.address, request.length, []
        while left:
            most = min(left, self.max_payload - address % RCB)
            ends = [
                end
                for end in range(RCB - address % RCB, most, RCB)
                if random.randrange(100) < self.manners.split_percent
            ]
            length = ends[0] if ends else most
            first, last = address & ~3, -(-(address + length) // 4) * 4
            lead = address - first
            text = bytes(lead) + self.read(address, length) + bytes(last - address - length)
            cuts.append(Completion(request.tag, left, address & 0x7F, text))
            address, left = address + length, left - length
        return cuts

    def drive(self) -> None:
        """Send the next beat of a completion, if one is due."""
        dut = self.dut
        if not self.sending:
            self.choose()
        if not self.sending or random.randrange(100) >= self.manners.beat_percent:
            dut.rx_valid.value = 0
            return
        data, first, last = self.sending.pop(0)
        completion = self.sent_completion
        assert completion is not None
        dut.rx_valid.value, dut.rx_sop.value, dut.rx_eop.value = 1, int(first), int(last)
        junk = random.randbytes(self.width - len(data))
        dut.rx_data.value = int.from_bytes(data + junk, "little")
        # Headers come with the first beat; later ones may be junk.
        shown = first or random.random() < 0.5
        dut.rx_tag.value = completion.tag if shown else random.getrandbits(8)
        dut.rx_status.value = completion.status if shown else random.getrandbits(3)
        # Poison comes with the last beat at least.
        dut.rx_poisoned.value = int(completion.poisoned and (last or random.random() < 0.5))
        dut.rx_byte_count.value = completion.byte_count if shown else random.getrandbits(13)
        dut.rx_lower_address.value = completion.lower_address if shown else random.getrandbits(7)
        dwords = len(completion.data) // 4 if completion.dwords is None else completion.dwords
        dut.rx_dwords.value = dwords if shown else random.getrandbits(11)
        if last and self.ends_request and completion.tag in self.open:
            self.open.pop(completion.tag).answered_clock = self.clock

    def choose(self) -> None:
        """Choose the next completion: that of a random request, or the one longest due."""
        due = [schedule for schedule in self.sent if schedule[0][0] <= self.clock]
        if not due:
            return
        schedule = random.choice(due) if self.manners.shuffle else due[0]
        self.seen["out of order"] += schedule is not due[0]
        _, completion, self.ends_request = schedule.pop(0)
        if not schedule:
            self.sent.remove(schedule)
        self.sent_completion = completion
        beats = completion.beats(self.width)
        self.sending = [(beat, n == 0, n == len(beats) - 1) for n, beat in enumerate(beats)]


def check_enables(first: int, last: int, dwords: int) -> tuple[int, int]:
    """Bytes that byte enables leave out at the start and at the end.

    Raises:
        AssertionError: The specification does not allow them for contiguous bytes.
    """
    if dwords == 1:
        assert last == 0
        assert first in (0b1111, 0b1110, 0b1100, 0b1000, 0b0111, 0b0110, 0b0100, 0b0011, 0b0010, 0b0001), (
            f"{first:04b}"
        )
        return (first & -first).bit_length() - 1, 4 - first.bit_length()
    assert first in (0b1111, 0b1110, 0b1100, 0b1000), f"{first:04b}"
    assert last in (0b1111, 0b0111, 0b0011, 0b0001), f"{last:04b}"
    return 4 - first.bit_count(), 4 - last.bit_count()
