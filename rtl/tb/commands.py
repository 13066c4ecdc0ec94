"""Commands as software submits them, over the registers of a core, and the notices that come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import registers as r
from clocking import clocks
from core import Core

NOTICE_BYTES = 32
QUEUES = 4
DEPTH = 32
ALIGNMENT = 64


@dataclass(frozen=True)
class Command:
    """Moves bytes from the bus to the core's memory, or, if it writes, from there to the bus."""

    write: bool
    bus: int
    memory: int
    length: int
    queue: int = 0
    notify: bool = True
    number: int = 0


@dataclass(frozen=True)
class Notice:
    """A notice as software reads it."""

    arrived: int
    ended: int
    waited: int
    """Clocks from its arrival to its start."""
    number: int
    length: int
    command: int
    queue: int
    write: bool


@dataclass
class Commands:
    """The command registers of a core. ``read_host`` reads host memory."""

    core: Core
    notices: int
    """Address of the ring."""
    read_host: Callable[[int, int], bytes]
    notices_log2: int = 7
    taken: int = 0

    async def enable(self, outstanding: int = 32, timeout: int = 50_000) -> None:
        """Enable commands, and wait until the core executes them."""
        core = self.core
        for address, value in (
            (r.OUTSTANDING, outstanding), (r.TIMEOUT, timeout), (r.NOTICES_LO, self.notices & 0xFFFFFFFF),
            (r.NOTICES_HI, self.notices >> 32), (r.NOTICE_RING, self.notices_log2), (r.NOTICES_TAKEN, 0),
            (r.COMMANDS, 1),
        ):  # fmt: skip
            await core.write(address, value)
        self.taken = 0
        await self.until_ready()

    async def until_ready(self) -> None:
        """Wait until the core executes commands."""
        for _ in range(100):
            if await self.core.read(r.COMMAND_STATUS) & r.COMMAND_STATUS_READY_MASK:
                return
            await clocks(self.core.dut, 16)
        raise AssertionError("the core does not execute commands")

    async def disable(self) -> None:
        """Disable commands."""
        await self.core.write(r.COMMANDS, 0)
        await clocks(self.core.dut, 10)

    async def submit(self, command: Command) -> None:
        """Submit a command."""
        core = self.core
        await core.write(r.COMMAND_BUS_LO, command.bus & 0xFFFFFFFF)
        await core.write(r.COMMAND_BUS_HI, command.bus >> 32)
        await core.write(r.COMMAND_MEMORY, command.memory)
        await core.write(r.COMMAND_LENGTH, command.length)
        word = command.write | command.notify << 1 | command.number << 16
        await core.write(r.COMMAND_SUBMIT + 4 * command.queue, word)

    async def until_done(self, count: int, limit: int = 300_000) -> None:
        """Wait until ``count`` commands are done, since commands were enabled."""
        for _ in range(limit // 40):
            if await self.core.read(r.COMMANDS_DONE) == count:
                return
            await clocks(self.core.dut, 32)
        raise AssertionError(f"{await self.core.read(r.COMMANDS_DONE)} commands are done, not {count}")

    async def take(self) -> list[Notice]:
        """The notices since the last call, whose entries are then free."""
        found = []
        while True:
            at = self.notices + self.taken % (1 << self.notices_log2) * NOTICE_BYTES
            notice = parsed(self.read_host(at, NOTICE_BYTES))
            if notice.number != self.taken + 1:
                await self.core.write(r.NOTICES_TAKEN, self.taken)
                return found
            found.append(notice)
            self.taken += 1

    async def halt(self, limit: int = 20_000) -> int:
        """Wait until a fault halts the core; the fault."""
        for _ in range(limit // 32):
            status = await self.core.read(r.COMMAND_STATUS)
            if status & r.COMMAND_STATUS_HALTED_MASK << r.COMMAND_STATUS_HALTED_SHIFT:
                return status >> r.COMMAND_STATUS_RESULT_SHIFT & r.COMMAND_STATUS_RESULT_MASK
            await clocks(self.core.dut, 32)
        raise AssertionError("the core does not halt")


def parsed(text: bytes) -> Notice:
    """A notice of the ring."""

    def field(first: int, length: int) -> int:
        return int.from_bytes(text[first : first + length], "little")

    return Notice(
        field(0, 8), field(8, 8), field(16, 4), field(20, 4), field(24, 4), field(28, 2), text[30], bool(text[31])
    )
