"""Runs many cases within limits of processor time and memory: a few in this process, or many in others.

A case fails if it raises anything but a well-formed InputError, takes more than 5 s of processor time or 500 MB,
hangs, or ends its process; in worker processes the next cases then run in a new one. Cases are numbered and
independent: each can be repeated alone.
"""

import os
import random
import resource
import select
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from patience import HANGS_AFTER_SECONDS
from pcielab import InputError

SECONDS_MOST = 5.0
"""Processor time of a case: a few times that of the slowest on a busy machine, far less than unlimited work."""
MEMORY_MOST = 500 << 20
"""Bytes that a case may add to the address space of its process."""
ENDS_AFTER_SECONDS = 4 * SECONDS_MOST
"""Processor time after which a case is ended: work without an end."""
_MESSAGE_MOST = 6_000
_FOREIGN = ("pydantic", "Traceback", "validation error", "object at 0x", "NoneType", "panicked")
_FAILURES_MOST = 40

Case = Callable[[random.Random, Path], None]
"""Makes a changed input in a folder, and uses it."""


@dataclass(frozen=True)
class Failure:
    """A case that was neither accepted nor refused properly."""

    number: int
    problem: str


def attempt(kind: str, case: Case, number: int, folder: Path) -> str | None:
    """Run one case in this process; returns its problem, if any."""
    draw = random.Random(f"{kind} {number}")
    started = time.process_time()
    problem = None
    try:
        case(draw, folder)
    except InputError as error:
        problem = _ill_made(str(error))
    except MemoryError:
        problem = f"wants more than {MEMORY_MOST >> 20} MB: {_where()}"
    except BaseException as error:  # a Rust panic is not an Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        problem = f"{type(error).__name__}: {str(error)[:300]} ({_where()})"
    seconds = time.process_time() - started
    if problem is None and seconds > SECONDS_MOST:
        problem = f"took {seconds:.1f} s"
    return problem


def _ill_made(message: str) -> str | None:
    if not message.strip() or len(message) > _MESSAGE_MOST:
        return f"a message of {len(message)} characters: {message[:200]}"
    if not message.replace("\n", "").isprintable():
        return f"a message with control characters: {message[:300]!r}"
    foreign = [word for word in _FOREIGN if word in message]
    return f"a message that speaks of {foreign[0]!r}: {message[:300]}" if foreign else None


def _where() -> str:
    lines = [line.strip().splitlines()[0] for line in traceback.format_exc().splitlines() if "File " in line]
    own = [line for line in lines if "pcielab" in line]
    return (own or lines or ["?"])[-1]


def failures_here(kind: str, case: Case, numbers: range, folder: Path) -> Iterator[Failure]:
    """Run the cases of a kind in this process; yields those that fail. A crash ends this process."""
    own = folder / f"{kind} here"
    own.mkdir()
    for number in numbers:
        with limited():
            problem = attempt(kind, case, number, own)
        if problem:
            yield Failure(number, problem)


@contextmanager
def limited() -> Iterator[None]:
    """Limit the memory and the processor time that this process takes from now on.

    More memory raises MemoryError, more time TimeoutError as soon as Python runs.
    """
    before, most = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGPROF, _out_of_time)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MEMORY_MOST, most))
    signal.setitimer(signal.ITIMER_PROF, ENDS_AFTER_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        resource.setrlimit(resource.RLIMIT_AS, (before, most))
        signal.signal(signal.SIGPROF, handler)


def _out_of_time(_number: int, _frame: object) -> None:
    raise TimeoutError(f"takes more than {ENDS_AFTER_SECONDS:g} s of processor time")


def failures(kind: str, case: Case, numbers: range, folder: Path, side_by_side: int = 1) -> Iterator[Failure]:
    """Run the cases of a kind in `side_by_side` processes; yields those that fail, at most a few dozen."""
    part = -(-len(numbers) // side_by_side)
    workers = [
        _Worker(kind, case, numbers[first : first + part], folder) for first in range(0, len(numbers), part)
    ]
    found = 0
    try:
        while workers:
            worker = workers.pop(0)
            for number, problem in worker.problems():
                yield Failure(number, problem)
                found += 1
                if found >= _FAILURES_MOST:
                    return
            if worker.left:
                workers.append(_Worker(kind, case, worker.left, folder))
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """A process that runs cases in order, and reports the end of each."""

    def __init__(self, kind: str, case: Case, numbers: range, folder: Path) -> None:
        self.left = numbers
        self._reading, writing = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            os.close(self._reading)
            _work(kind, case, numbers, folder, writing)
        os.close(writing)

    def problems(self) -> Iterator[tuple[int, str]]:
        """The cases that fail, in order; the last may have ended the process."""
        rest = b""
        hung = False
        try:
            while True:
                ready, _, _ = select.select([self._reading], [], [], HANGS_AFTER_SECONDS)
                hung = not ready
                received = os.read(self._reading, 1 << 16) if ready else b""
                if not received:
                    break
                *lines, rest = (rest + received).split(b"\n")
                for line in lines:
                    number, self.left = self.left[0], self.left[1:]
                    if line:
                        yield number, line.decode()
        finally:
            status = self.end()
        if self.left:
            number, self.left = self.left[0], self.left[1:]
            reason = f"hung for over {HANGS_AFTER_SECONDS:g} s" if hung else f"took its process with it: {status}"
            yield number, reason

    def end(self) -> int:
        """End the process; returns its exit code, negative for a signal."""
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        os.close(self._reading)
        return os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])


def _work(kind: str, case: Case, numbers: range, folder: Path, writing: int) -> None:
    """Run cases, and write a line for each: empty, or its problem."""
    code = 1
    try:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        own = folder / str(os.getpid())
        own.mkdir()
        resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MEMORY_MOST,) * 2)
        for number in numbers:
            # Endless work ends the process by SIGPROF; only a case that waits for something hangs.
            signal.setitimer(signal.ITIMER_PROF, ENDS_AFTER_SECONDS)
            problem = attempt(kind, case, number, own)
            os.write(writing, (problem or "").replace("\n", " ").encode(errors="replace") + b"\n")
        code = 0
    finally:
        os._exit(code)


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
