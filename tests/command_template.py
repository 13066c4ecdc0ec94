"""The process from which tests fork commands: all modules are loaded in it, and it has drawn no picture.

Drawing starts threads, which a fork does not copy: a command forked from a process that has drawn may wait for
them for ever. Therefore this process is forked while tests are collected, before any of them runs. It has the
script of pages, which commands would each spend a second on, from another process that drew.
"""

import gc
import os
import pickle
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import vl_convert

import processor_times
from pcielab.library import shipped
from pcielab.report.html import vega_script

_LARGEST_REQUEST = 1 << 20


@dataclass(frozen=True)
class Command:
    """A command, its working folder, and the state that a test may have changed in its own process."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    shipped_root: Path


class Template:
    """The process; it ends with the one that started it."""

    def __init__(self, carry_out: Callable[[list[str], int, int], int]) -> None:
        _know_vega_script()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            self._socket.close()
            _serve(theirs, carry_out)
        theirs.close()

    def run(self, command: Command, stdout: int, stderr: int) -> int:
        """Run a command with these streams to its end; returns its exit code."""
        socket.send_fds(self._socket, [pickle.dumps(command)], [stdout, stderr])
        exit_code, seconds = self._socket.recv(64).decode().split()
        processor_times.add_forked(float(seconds))
        return int(exit_code)


def _know_vega_script() -> None:
    """Put the script of pages, bundled in a process of its own, into the cache of this one."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        with os.fdopen(writing, "w", encoding="utf-8") as pipe:
            pipe.write(vega_script())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", newline="") as pipe:
        bundle = pipe.read()
    _, status = os.waitpid(process, 0)
    assert status == 0, "the script of pages could not be bundled"
    with patch.object(vl_convert, "javascript_bundle", lambda _snippet: bundle):
        vega_script()


def _serve(requests: socket.socket, carry_out: Callable[[list[str], int, int], int]) -> None:
    code = 1
    # The loaded modules never become garbage: collections in a command neither visit them nor copy their pages.
    gc.freeze()
    try:
        while True:
            asked, streams, _, _ = socket.recv_fds(requests, _LARGEST_REQUEST, 2)
            if not asked:
                code = 0
                break
            process = os.fork()
            if process == 0:
                os._exit(_carried_out(pickle.loads(asked), streams, carry_out))
            for stream in streams:
                os.close(stream)
            _, status, usage = os.wait4(process, 0)
            seconds = usage.ru_utime + usage.ru_stime
            requests.send(f"{os.waitstatus_to_exitcode(status)} {seconds:.6f}".encode())
    finally:
        os._exit(code)


def _carried_out(command: Command, streams: list[int], carry_out: Callable[[list[str], int, int], int]) -> int:
    os.environ.clear()
    os.environ.update(command.environment)
    os.chdir(command.folder)
    shipped._ROOT = command.shipped_root
    return carry_out(command.arguments, *streams)
