"""Compute points in processes of this machine.

A thread serves each process over a pipe. A process that dies is replaced, and its batch repeated.
"""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence

from pcielab.errors import RunError
from pcielab.sweeps.point import Plain

Batch = tuple[int, Sequence[Plain]]
_DEATHS_MOST = 3


class Processes:
    """Worker processes; a context manager that ends all of them."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._running: set[subprocess.Popen[str]] = set()
        self._closed = False
        self._lock = threading.Lock()

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_exception: object) -> None:
        with self._lock:
            self._closed = True
            for process in self._running:
                process.kill()

    def results(self, batches: Iterable[Batch]) -> Iterator[tuple[int, list[str]]]:
        """The results of numbered batches, in completion order."""
        asked, source = threading.Lock(), iter(batches)
        found: queue.SimpleQueue[tuple[int, list[str]] | Exception | None] = queue.SimpleQueue()

        def work() -> None:
            try:
                process: subprocess.Popen[str] | None = None
                while True:
                    with asked:
                        batch = next(source, None)
                    if batch is None:
                        break
                    process, results = self._ask(process, batch)
                    found.put((batch[0], results))
                if process is not None:
                    self._end(process)
                found.put(None)
            except Exception as error:
                found.put(error)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(self._count)]
        for thread in threads:
            thread.start()
        at_work = len(threads)
        while at_work:
            one = found.get()
            if isinstance(one, Exception):
                raise one
            if one is None:
                at_work -= 1
            else:
                yield one

    def _ask(self, process: subprocess.Popen[str] | None, batch: Batch) -> tuple[subprocess.Popen[str], list[str]]:
        for _ in range(_DEATHS_MOST):
            process = process or self._start()
            answer = _exchanged(process, json.dumps(batch[1]))
            if answer:
                results: list[str] = json.loads(answer)
                return process, results
            self._end(process)
            process = None
        raise RunError(f"{_DEATHS_MOST} processes ended while they simulated the same {len(batch[1])} points")

    def _start(self) -> subprocess.Popen[str]:
        with self._lock:
            if self._closed:
                raise RunError("stopped")
            process = subprocess.Popen(
                [sys.executable, "-m", "pcielab.sweeps.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                # Only the parent handles Ctrl-C.
                process_group=0,
            )
            self._running.add(process)
            return process

    def _end(self, process: subprocess.Popen[str]) -> None:
        with self._lock:
            self._running.discard(process)
        process.kill()
        process.communicate()


def _exchanged(process: subprocess.Popen[str], line: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline()
    except (BrokenPipeError, ConnectionResetError):
        return ""
