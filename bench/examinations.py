"""`pcielab doctor` on a machine of a thousand functions: ports, each with a card at half its speed."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pcielab.doctor.made_machine import Made, write

FUNCTIONS = 1_000
_PORTS_OF_A_DOMAIN = 125


@dataclass(frozen=True)
class ExaminationCommand:
    """One run of the command."""

    source: str
    functions: int
    seconds: float
    cpu_seconds: float


def examinations() -> Iterator[ExaminationCommand]:
    """From a folder like /sys, and from what that saves."""
    with tempfile.TemporaryDirectory() as directory:
        root = write(Path(directory) / "machine", list(_functions()))
        saved = Path(directory) / "machine.json"
        yield _run("sysfs", ["--sysfs", str(root), "--save", str(saved)])
        yield _run("saved tree", [str(saved)])


def _functions() -> Iterator[Made]:
    for number in range(FUNCTIONS // 2):
        domain, port = divmod(number, _PORTS_OF_A_DOMAIN)
        bus = port + 1
        slot = f"{domain:04x}:00:{port // 8:02x}.{port % 8}"
        card = Made(f"{domain:04x}:{bus:02x}:00.0", speeds=(32.0, 16.0))
        yield replace(card, slot=slot, kind="root-port", class_code=0x0604, buses=(bus, bus), driver="pcieport")
        yield card


def _run(source: str, arguments: list[str]) -> ExaminationCommand:
    command = [str(Path(sys.executable).with_name("pcielab")), "doctor", *arguments, "--tree", "--format", "json"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"pcielab doctor failed with exit code {process.returncode}")
    seconds = time.perf_counter() - start
    return ExaminationCommand(source, FUNCTIONS, seconds, usage.ru_utime + usage.ru_stime)
