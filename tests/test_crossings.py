"""Commands cross from Python into the compiled half a few times: what it has read and checked, it keeps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

COUNTED = """
import sys
from types import BuiltinFunctionType

from pcielab import _core
from pcielab.cli import main

functions = {id(one) for one in vars(_core).values() if isinstance(one, BuiltinFunctionType)}
classes = {name for name, one in vars(_core).items() if isinstance(one, type)}
calls = []


def count(_frame, event, called):
    if event != "c_call":
        return
    name = getattr(called, "__qualname__", "")
    is_method = name.partition(".")[0] in classes and getattr(called, "__module__", None) in (None, _core.__name__)
    if id(called) in functions or (is_method and not name.endswith("__init_subclass__")):
        calls.append(name)


sys.argv = ["pcielab", *sys.argv[1:]]
sys.setprofile(count)
try:
    main()
finally:
    sys.setprofile(None)
    print("calls:", *calls, file=sys.stderr)
"""


def calls_of(*arguments: str) -> list[str]:
    """The functions and methods of the compiled half that a command calls, without constructors and attributes."""
    command = [sys.executable, "-c", COUNTED, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PAGER": ""})
    return ended.stderr.rpartition("calls: ")[2].split()


def test_a_run_makes_eight_calls(tmp_path: Path) -> None:
    calls = calls_of("run", "--suite", "quick", "-o", str(tmp_path / "run.db"))
    assert "System.read" in calls, "calls are counted"
    assert len(calls) <= 8, calls


@pytest.mark.parametrize(
    ("command", "most"),
    [
        (("why", "--test", "bw-rd", "--size", "64"), 6),
        (("why", "--test", "bw-rd", "--size", "64", "--profile", "ib-000-nosp", "--measured", "20"), 10),
        (("run", "--test", "bw-rd", "--size", "64"), 20),
        (("model", "nic", "niantic-dpdk", "--sizes", "64"), 4),
        (("fabric", "estimate", "fabrex-u55c", "--flows", "table2"), 13),
    ],
)
def test_a_question_makes_few_calls(command: tuple[str, ...], most: int) -> None:
    calls = calls_of(*command)
    assert len(calls) <= most, calls
