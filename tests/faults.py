"""Kills a command at one of the system calls that change files, or makes that call fail.

The command is forked from this process, where all modules are loaded, and traced with ptrace(2). Only calls that
change files below a folder count. A kill strikes as the command enters the call; to make a call fail, an invalid
call replaces it, and the error its result.
"""

import ctypes
import errno
import os
import platform
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TRACEME, GETREGS, SETREGS, SYSCALL, SETOPTIONS, GET_SYSCALL_INFO = 0, 12, 13, 24, 0x4200, 0x420E
SYSGOOD, FORK, VFORK, CLONE, EXITKILL = 1, 2, 4, 8, 0x100000
ENTRY, EXIT = 1, 2
STOP_AT_CALL = signal.SIGTRAP | 0x80
ALL_THREADS = 0x40000000

# Numbers of x86-64.
BY_DESCRIPTOR = {
    1: "write", 18: "pwrite64", 20: "writev", 74: "fsync", 75: "fdatasync", 77: "ftruncate", 91: "fchmod",
    285: "fallocate",
}  # fmt: skip
"""Calls whose first argument is the descriptor of the file."""
SYNCS = ("fsync", "fdatasync")
BY_PATH = {
    83: ("mkdir", 0), 258: ("mkdirat", 1), 82: ("rename", 0), 264: ("renameat", 1), 316: ("renameat2", 1),
    87: ("unlink", 0), 263: ("unlinkat", 1), 84: ("rmdir", 0), 86: ("link", 0), 265: ("linkat", 1),
    90: ("chmod", 0), 268: ("fchmodat", 1), 85: ("creat", 0),
}  # fmt: skip
"""Name, and index of the path among the arguments; the argument before it, if any, is its folder's descriptor."""
OPENS = {2: ("open", 0, 1), 257: ("openat", 1, 2)}
"""Name, and indices of the path and the flags: counted where a file may be created."""
AT_WORKING_DIRECTORY = 0xFFFF_FF9C

ORIG_RAX, RAX = 15, 10
"""Indices of registers, in the order of <sys/user.h>."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class _Info(ctypes.Structure):
    """struct ptrace_syscall_info of <linux/ptrace.h>."""

    _fields_ = (
        ("op", ctypes.c_uint8),
        ("pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("instruction_pointer", ctypes.c_uint64),
        ("stack_pointer", ctypes.c_uint64),
        ("nr", ctypes.c_uint64),
        ("args", ctypes.c_uint64 * 6),
    )


@dataclass(frozen=True)
class Fault:
    """An error or a kill at one of the calls that change files.

    Attributes:
        index: Index of the call, from 0, among all of them, or among the syncs of `synced` if that is given.
        error: The error number; None for a kill.
        synced: Name of a file or folder. The number of calls before one of its syncs varies between runs, because
            the number of SQLite's writes depends on the path of the folder.
    """

    index: int
    error: int | None = None
    synced: str | None = None

    def __str__(self) -> str:
        call = f"sync {self.index} of {self.synced}" if self.synced else f"call {self.index}"
        return f"{errno.errorcode[self.error] if self.error else 'SIGKILL'} at {call}"


@dataclass(frozen=True)
class Traced:
    """How a traced command ended.

    Attributes:
        exit_code: Its exit code, or minus the signal.
        calls: The calls by which it changed files.
        synced: The file or folder that each syncing call wrote to the disk, by the index of the call.
    """

    exit_code: int
    calls: list[str]
    synced: dict[int, Path]


def is_possible() -> bool:
    """Whether this machine allows tracing, and has the system calls of this module."""
    if platform.machine() != "x86_64" or not sys.platform.startswith("linux"):
        return False
    try:
        return traced(lambda: 0, Path("/")).exit_code == 0
    except OSError:
        return False


def traced(command: Callable[[], int], folder: Path, fault: Fault | None = None) -> Traced:
    """Run a function in a separate process, with a fault."""
    child = os.fork()
    if child == 0:
        _ptrace(TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(command())
    os.waitpid(child, 0)
    _ptrace(SETOPTIONS, child, SYSGOOD | FORK | VFORK | CLONE | EXITKILL)
    _ptrace(SYSCALL, child)
    calls: list[str] = []
    synced: dict[int, Path] = {}
    failing: dict[int, int] = {}
    while True:
        thread, status = os.waitpid(-1, ALL_THREADS)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            if thread == child:
                return Traced(os.waitstatus_to_exitcode(status), calls, synced)
            continue
        passed_on = 0
        # A stopped thread may be gone by now: it was killed, or another thread has ended the process.
        with suppress(ProcessLookupError, FileNotFoundError):
            if os.WSTOPSIG(status) == STOP_AT_CALL:
                _at_call(thread, child, folder, fault, calls, synced, failing)
            elif status >> 16 == 0 and os.WSTOPSIG(status) not in (signal.SIGSTOP, signal.SIGTRAP):
                passed_on = os.WSTOPSIG(status)
            _ptrace(SYSCALL, thread, passed_on)


def _at_call(
    thread: int,
    child: int,
    folder: Path,
    fault: Fault | None,
    calls: list[str],
    synced: dict[int, Path],
    failing: dict[int, int],
) -> None:
    info = _Info()
    _ptrace(GET_SYSCALL_INFO, thread, ctypes.addressof(info), address=ctypes.sizeof(info))
    if info.op == EXIT and thread in failing:
        _set_register(thread, RAX, -failing.pop(thread))
    if info.op != ENTRY:
        return
    name = _changing(info, thread, folder)
    if name is None:
        return
    target = Path(f"/proc/{thread}/fd/{info.args[0]}").readlink() if name in SYNCS else None
    if fault is not None and _strikes(fault, target, calls, synced):
        if fault.error is None:
            os.kill(child, signal.SIGKILL)
        else:
            _set_register(thread, ORIG_RAX, -1)
            failing[thread] = fault.error
    if target is not None:
        synced[len(calls)] = target
    calls.append(name)


def _strikes(fault: Fault, target: Path | None, calls: list[str], synced: dict[int, Path]) -> bool:
    """Whether a fault strikes the call after `calls`, which syncs `target` if that is given."""
    if fault.synced is None:
        return fault.index == len(calls)
    if target is None or target.name != fault.synced:
        return False
    return fault.index == sum(earlier.name == fault.synced for earlier in synced.values())


def _changing(info: _Info, thread: int, folder: Path) -> str | None:
    """The name of the call, if it changes a file below `folder`."""
    if info.nr in BY_DESCRIPTOR:
        try:
            target = Path(f"/proc/{thread}/fd/{info.args[0]}").readlink()
        except OSError:
            return None
        return BY_DESCRIPTOR[info.nr] if target.is_relative_to(folder) else None
    if info.nr in OPENS:
        name, path, flags = OPENS[info.nr]
        if not info.args[flags] & os.O_CREAT:
            return None
    elif info.nr in BY_PATH:
        name, path = BY_PATH[info.nr]
    else:
        return None
    relative = path == 0 or info.args[path - 1] & 0xFFFF_FFFF == AT_WORKING_DIRECTORY
    start = Path(f"/proc/{thread}/cwd" if relative else f"/proc/{thread}/fd/{info.args[path - 1]}").readlink()
    return name if (start / _text(thread, info.args[path])).is_relative_to(folder) else None


def _text(thread: int, address: int) -> str:
    with Path(f"/proc/{thread}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        content = b""
        # Page by page, since the one after the text may not be there: a text may cross into the next.
        while b"\0" not in content and (page := memory.read(4096 - (address + len(content)) % 4096)):
            content += page
        return content.split(b"\0", 1)[0].decode(errors="replace")


def _set_register(thread: int, index: int, value: int) -> None:
    registers = (ctypes.c_ulonglong * 27)()
    _ptrace(GETREGS, thread, ctypes.addressof(registers))
    registers[index] = value & 0xFFFF_FFFF_FFFF_FFFF
    _ptrace(SETREGS, thread, ctypes.addressof(registers))


def _ptrace(request: int, thread: int, data: int = 0, *, address: int = 0) -> None:
    if _libc.ptrace(request, thread, address, data) == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
