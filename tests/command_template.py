"""The process from which tests fork commands: all modules are loaded in it, and it has drawn no picture.

Drawing starts threads, which a fork does not copy: a command forked from a process that has drawn may wait for
them for ever. Therefore this process is forked while tests are collected, before any of them runs.
"""

import os
import pickle
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pcielab.library import shipped

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
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            self._socket.close()
            _serve(theirs, carry_out)
        theirs.close()

    def run(self, command: Command, stdout: int, stderr: int) -> int:
        """Run a command with these streams to its end; returns its exit code."""
        socket.send_fds(self._socket, [pickle.dumps(command)], [stdout, stderr])
        return int(self._socket.recv(16))


def _serve(requests: socket.socket, carry_out: Callable[[list[str], int, int], int]) -> None:
    code = 1
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
            _, status = os.waitpid(process, 0)
            requests.send(str(os.waitstatus_to_exitcode(status)).encode())
    finally:
        os._exit(code)


def _carried_out(command: Command, streams: list[int], carry_out: Callable[[list[str], int, int], int]) -> int:
    os.environ.clear()
    os.environ.update(command.environment)
    os.chdir(command.folder)
    shipped._ROOT = command.shipped_root
    return carry_out(command.arguments, *streams)
