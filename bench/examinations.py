"""`pcielab doctor` on a machine of a thousand functions: ports, each with a device at half its speed."""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from processes import PCIELAB, usage_of

if TYPE_CHECKING:
    from made_machine import Made

FUNCTIONS = 1_000
_TESTS = Path(__file__).parents[1] / "tests"
_PORTS_OF_A_DOMAIN = 125


@dataclass(frozen=True)
class ExaminationCommand:
    """One run of the command."""

    source: str
    functions: int
    seconds: float
    cpu_seconds: float


def examinations() -> Iterator[ExaminationCommand]:
    """Examine a folder like /sys, and the file that `--save` makes of it."""
    sys.path.insert(0, str(_TESTS))
    from made_machine import write

    with tempfile.TemporaryDirectory() as directory:
        root = write(Path(directory) / "machine", list(_functions()))
        saved = Path(directory) / "machine.json"
        yield _run("sysfs", ["--sysfs", str(root), "--save", str(saved)])
        yield _run("saved tree", [str(saved)])


def _functions() -> Iterator["Made"]:
    from made_machine import Made

    for number in range(FUNCTIONS // 2):
        domain, port = divmod(number, _PORTS_OF_A_DOMAIN)
        bus = port + 1
        slot = f"{domain:04x}:00:{port // 8:02x}.{port % 8}"
        card = Made(f"{domain:04x}:{bus:02x}:00.0", speeds=(32.0, 16.0))
        yield replace(card, slot=slot, kind="root-port", class_code=0x0604, buses=(bus, bus), driver="pcieport")
        yield card


def _run(source: str, arguments: list[str]) -> ExaminationCommand:
    used = usage_of([PCIELAB, "doctor", *arguments, "--tree", "--format", "json"])
    return ExaminationCommand(source, FUNCTIONS, used.seconds, used.cpu_seconds)
