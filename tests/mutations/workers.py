"""Runs many cases in processes of their own, each case within limits of time and memory.

A case fails if it raises anything but a well-made InputError, takes more than a second of processor time, wants
more than 500 MB, hangs, or takes the process with it; the next ones go on in a new process. Cases are numbered,
and what a number means does not depend on the others: each can be done again by itself.
"""

import os
import random
import resource
import select
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pcielab import InputError

SECONDS_MOST = 1.0
"""Processor time of a case."""
MEMORY_MOST = 500 << 20
"""Bytes that a case may add to the address space of its process."""
_PATIENCE_SECONDS = 30.0
_MESSAGE_MOST = 6_000
_FOREIGN = ("pydantic", "Traceback", "validation error", "object at 0x", "NoneType", "panicked")
_FAILURES_MOST = 40

Case = Callable[[random.Random, Path], None]
"""Makes a changed input in a folder, and uses it."""


@dataclass(frozen=True)
class Failure:
    """A case that was neither accepted nor refused as it should be."""

    number: int
    problem: str


def attempt(kind: str, case: Case, number: int, folder: Path) -> str | None:
    """Do one case here; returns what is wrong with how it ended."""
    draw = random.Random(f"{kind} {number}")
    started = time.process_time()
    problem = None
    try:
        case(draw, folder)
    except InputError as error:
        problem = _ill_made(str(error))
    except MemoryError:
        problem = f"wants more than {MEMORY_MOST >> 20} MB: {_where()}"
    except BaseException as error:  # a panic of the compiled half is no Exception
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


def failures(kind: str, case: Case, numbers: range, folder: Path) -> Iterator[Failure | None]:
    """Do the cases of a kind in this order: None for each that ended well, and the failures."""
    at = numbers.start
    found = 0
    while at < numbers.stop and found < _FAILURES_MOST:
        for number, problem in _of_one_process(kind, case, range(at, numbers.stop), folder):
            at = number + 1
            found += problem is not None
            yield None if problem is None else Failure(number, problem)
            if found >= _FAILURES_MOST:
                break


def _of_one_process(kind: str, case: Case, numbers: range, folder: Path) -> Iterator[tuple[int, str | None]]:
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        _work(kind, case, numbers, folder, writing)
    os.close(writing)
    done = numbers.start
    rest = b""
    ended = hung = False
    try:
        while not ended:
            ready, _, _ = select.select([reading], [], [], _PATIENCE_SECONDS)
            if not ready:
                hung = True
                break
            received = os.read(reading, 1 << 16)
            ended = not received
            *lines, rest = (rest + received).split(b"\n")
            for line in lines:
                yield done, line.decode() or None
                done += 1
    finally:
        if hung or not ended:
            os.kill(process, 9)
        os.close(reading)
        _, status = os.waitpid(process, 0)
    if hung:
        yield done, f"hung for over {_PATIENCE_SECONDS:g} s"
    elif done < numbers.stop:
        yield done, f"took the process with it: exit code {os.waitstatus_to_exitcode(status)}"


def _work(kind: str, case: Case, numbers: range, folder: Path, writing: int) -> None:
    """Do cases, and write a line for each: empty, or what went wrong."""
    code = 1
    try:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        own = folder / str(os.getpid())
        own.mkdir()
        resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MEMORY_MOST,) * 2)
        for number in numbers:
            problem = attempt(kind, case, number, own)
            os.write(writing, (problem or "").replace("\n", " ").encode(errors="replace") + b"\n")
        code = 0
    finally:
        os._exit(code)


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
