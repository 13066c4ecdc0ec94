"""Calls of every public function with an argument of a wrong type.

Functions are those that the stubs of `pcielab` and its subpackages name, or their `__all__`. A call has a sound
value for each argument that it needs, if `sound` has one, but for one argument.
"""

import ast
import inspect
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pcielab
from pcielab import doctor, fabric, model

WRONG: tuple[Any, ...] = (
    *(None, 1, -1, 10**400, 1.5, float("nan"), float("inf"), 1e308, True, b"x", "", "\0"),
    *([], [1], {}, {"a": 1}, object(), (1,), set(), len),
)
PACKAGES = ("", "devices", "doctor", "fabric", "model", "report", "store", "sweeps")
NEVER_CALLED = {
    "devices.broken_promises": "runs a device for seconds",
    "devices.run": "deprecated name of `pcielab.run`, with more arguments",
    "doctor.read_sysfs": "its default is this machine",
    "sweeps.carry_out": "simulates every point of a plan",
    "pcielab.sweep": "simulates every point of a plan, and writes a folder",
}


@dataclass(frozen=True)
class Called:
    """A call with one argument of a wrong type.

    Attributes:
        name: The function, with its package.
        function: The function.
        wrong: The argument.
        arguments: All arguments by name.
    """

    name: str
    function: Callable[..., object]
    wrong: str
    arguments: Mapping[str, object]

    def __str__(self) -> str:
        return f"{self.name}({self.wrong}={self.arguments[self.wrong]!r:.40})"

    def carry_out(self) -> None:
        """Call it, and take the first of what it yields."""
        found = self.function(**self.arguments)
        if inspect.isgenerator(found):
            next(found, None)


def sound(folder: Path) -> dict[str, object]:
    """Sound arguments by name; a store is written into the folder."""
    test = pcielab.single_test("bw-rd", transactions=10)
    path = folder / "run.db"
    pcielab.simulate("snb", test, path)
    testbed = fabric.load("fabrex-u55c")
    flows = testbed.flows("table2")
    tree = doctor.read_lspci("00:00.0 Host bridge: a\n", "a")
    stores = dict.fromkeys(("a", "b", "run", "asked", "measured", "path"), str(path))
    trees = dict.fromkeys(("tree", "first", "second", "before", "after"), tree)
    sizes = {key: [64] for key in ("sizes_bytes", "frames_bytes", "payloads_bytes", "packets_bytes")}
    return {
        **stores,
        **trees,
        **sizes,
        "cores": [1],
        "destination": "A",
        "device": model.load_nic("niantic-dpdk"),
        "discipline": "fifo",
        "duration_us": 1.0,
        "estimated": flows,
        "fabric": testbed,
        "flows": flows,
        "found": fabric.estimate(testbed, flows),
        "high": 2.0,
        "latencies_ns": [500.0],
        "link": model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512),
        "low": 1.0,
        "name": "a",
        "name_or_file": "niantic-dpdk",
        "name_or_path": "snb",
        "operation": "bw-rd",
        "output": str(folder / "out.html"),
        "profile": model.load_message_profile("kpio-2012"),
        "seconds": 1.0,
        "simulated": flows,
        "source": "a",
        "store": pcielab.open_store(path),
        "stores": [str(path)],
        "suite": test,
        "system": "snb",
        "text": "00:00.0 a\n",
        "where": "flows",
        "work": test,
    }


def functions() -> dict[str, Callable[..., object]]:
    """Every public function that takes arguments, but for those that are never called."""
    found = {}
    for package in PACKAGES:
        module = import_module(f"pcielab.{package}".rstrip("."))
        for name in _names(module):
            one, full = getattr(module, name), f"{package or 'pcielab'}.{name}"
            if inspect.isfunction(one) and _parameters(one) and full not in NEVER_CALLED:
                found[full] = one
    return found


def _names(module: ModuleType) -> list[str]:
    stub = Path(str(module.__file__)).with_suffix(".pyi")
    if not stub.exists():
        return list(module.__all__)
    imports = (node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom))
    return [alias.asname or alias.name for node in imports for alias in node.names]


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    found = inspect.signature(function).parameters.values()
    return [one for one in found if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]


def calls(count: int, folder: Path) -> Iterator[Called]:
    """That many calls, the same each time."""
    known, sound_ones = functions(), sound(folder)
    for number in range(count):
        draw = random.Random(number)
        name = draw.choice([*known])
        parameters = _parameters(known[name])
        wrong = draw.choice(parameters)
        needed = [one.name for one in parameters if one.default is one.empty and one is not wrong]
        arguments = {key: sound_ones.get(key, draw.choice(WRONG)) for key in needed}
        yield Called(name, known[name], wrong.name, {**arguments, wrong.name: draw.choice(WRONG)})
