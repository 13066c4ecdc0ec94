"""Ctrl-C ends every function of the compiled half within half a second of processor time.

A new function must name what ends it: `entry_points.py` lists all of the stubs. A few long calls are tried here.
`make stops` tries all of them, and the longest calls of functions that do not ask for signals.
"""

import ast
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from entry_points import ENTRY_POINTS, Long, Short

STUBS = Path(__file__).parents[1] / "python" / "pcielab" / "_core.pyi"
ALL = "PCIELAB_STOPS" in os.environ
SAMPLE = ("Stop.wait", "run_alone", "ask_page", "FabricRuntime.run", "model_bandwidth", "trace_read")
"""Functions that once ignored signals."""
_WORKS_SECONDS, _MOST_SECONDS = 0.03, 0.5
"""Processor time before the signal, a fraction of what the shortest long call takes, and at most after it."""
_CONTEXT = ("__enter__", "__exit__", "__iter__", "__len__", "__eq__", "__ne__", "__hash__")


class _InterruptedError(Exception):
    """The signal of a test arrived."""


def stubbed() -> set[str]:
    """Every function, method and property of the stubs; a class stands for its constructor."""
    found = set()
    for node in ast.parse(STUBS.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name not in _CONTEXT:
                    found.add(node.name if method.name == "__new__" else f"{node.name}.{method.name}")
    return found


def test_every_function_of_the_stubs_names_what_ends_it() -> None:
    assert {*ENTRY_POINTS} == stubbed()
    assert all(entry.bound for entry in ENTRY_POINTS.values() if isinstance(entry, Short))


def ends_after(call: Callable[[], object], *, waits: bool) -> tuple[bool, float]:
    """Whether a signal ended a call, and its processor time after that signal."""

    def interrupt(_number: int, _frame: object) -> None:
        raise _InterruptedError

    kind, timer = (signal.SIGALRM, signal.ITIMER_REAL) if waits else (signal.SIGPROF, signal.ITIMER_PROF)
    before = signal.signal(kind, interrupt)
    started = time.process_time()
    signal.setitimer(timer, _WORKS_SECONDS)
    try:
        call()
        is_ended = False
    except _InterruptedError:
        is_ended = True
    finally:
        signal.setitimer(timer, 0)
        signal.signal(kind, before)
    return is_ended, time.process_time() - started - (0 if waits else _WORKS_SECONDS)


def _again_and_again(call: Callable[[], object]) -> None:
    while True:
        call()


def _long() -> list[str]:
    return [name for name, entry in ENTRY_POINTS.items() if isinstance(entry, Long) and (ALL or name in SAMPLE)]


def _short() -> list[str]:
    return [name for name, entry in ENTRY_POINTS.items() if isinstance(entry, Short) and entry.worst is not None]


@pytest.mark.parametrize("name", _long())
def test_a_signal_ends_a_long_call(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    entry = ENTRY_POINTS[name]
    assert isinstance(entry, Long)
    record_property("tried", 1)
    call = entry.call(tmp_path)
    is_ended, seconds = ends_after(partial(_again_and_again, call) if entry.repeats else call, waits=entry.waits)
    assert is_ended, f"ended by itself after {seconds:.2f} s"
    assert seconds < _MOST_SECONDS


@pytest.mark.skipif(not ALL, reason="takes a minute: make stops tries it")
@pytest.mark.parametrize("name", _short())
def test_a_call_without_signals_is_short(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    entry = ENTRY_POINTS[name]
    assert isinstance(entry, Short)
    assert entry.worst is not None
    record_property("tried", 1)
    call = entry.worst(tmp_path)
    started = time.process_time()
    call()
    assert time.process_time() - started < _MOST_SECONDS
