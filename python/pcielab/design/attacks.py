"""The tests of an attack on a device, and the share of what its link allows that each of them reaches.

`pcielab.design.corners` chooses the tests. The bound of a rate is that of the bare link for the
same operation and size, and the reference of a latency is its easiest value.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pcielab import _core
from pcielab.design.measuring import Measuring
from pcielab.design.question import Question
from pcielab.errors import InputError
from pcielab.library.suites import single_test
from pcielab.model.questions import system_bounds
from pcielab.wording import byte_size

COMBINED = "worst combination"
LEAST_DROP = 0.05
"""A change that lowers the share by less is no corner."""
RATES = ("bw-rd", "bw-wr", "bw-rdwr")
LATENCIES = ("lat-rd", "lat-wrrd")
SIZES = (64, 128, 256, 512, 1024, 2048)
CELLS = (
    *((operation, size) for operation in RATES for size in SIZES),
    *((operation, size) for operation in LATENCIES for size in (64, 512, 2048)),
)
"""The operations that an attack tries, with their sizes."""
WINDOWS = tuple(8192 << shift for shift in range(0, 14, 2))
"""8 KiB to 32 MiB, each four times the one before."""
CACHES = ("host-warm", "device-warm", "cold")
OFFSETS = (4, 32)
EASY: Mapping[str, Any] = {"window": WINDOWS[0], "cache": "host-warm"}
_WIRES = ("wire-upstream", "wire-downstream")


@dataclass(frozen=True)
class Test:
    """A test, and changes of the system for it.

    Attributes:
        words: The words of the test, as on the command line.
        changes: Changes of the system, by dotted key.
    """

    words: Mapping[str, Any]
    changes: Mapping[str, Any] = field(default_factory=dict)

    def with_(self, **words: Any) -> "Test":
        """It with other words."""
        return Test({**self.words, **words}, self.changes)

    def on(self, changes: Mapping[str, Any]) -> "Test":
        """It with further changes of the system."""
        return Test(self.words, {**self.changes, **changes})

    @property
    def key(self) -> str:
        """Equal for equal tests."""
        return json.dumps([dict(self.words), dict(self.changes)], sort_keys=True)

    @property
    def operation(self) -> str:
        """Its operation."""
        return str(self.words["test"])

    @property
    def size(self) -> int:
        """Bytes of a transfer."""
        return int(self.words["size"])


@dataclass(frozen=True)
class Corner:
    """A corner.

    Attributes:
        host: The host.
        what: The corner in words: `window over the IO-TLB's reach (504 KiB)`.
        share: The share that the test reaches: of a rate what the bare link allows for this operation and size, of
            a latency its easiest value over it.
        easy_share: The share of the same test without what makes the corner.
        value: The simulated value.
        unit: `Gb/s` or `ns`.
        words: The words of the test.
        changes: Changes of the system, by dotted key.
        command: The command that reproduces it.
        drops: The share of the easy value that is lost, by the size of the transfer, where it is a corner.
        misses: The target of a design that the corner misses, if it has one of this operation and size.
    """

    host: str
    what: str
    share: float
    easy_share: float
    value: float
    unit: str
    words: Mapping[str, Any]
    changes: Mapping[str, Any]
    command: str
    drops: Mapping[int, float] = field(default_factory=dict)
    misses: str = ""

    @property
    def drop(self) -> float:
        """The share of the easy value that is lost."""
        return 1 - self.share / self.easy_share

    @property
    def sentence(self) -> str:
        """The corner as a clause: `64 B bw-rd, cold, 4 MiB window on ib-000`."""
        words = dict(self.words)
        parts = [f"{words.pop('size')} B {words.pop('test')}"]
        parts += [
            f"{byte_size(value)} window" if word == "window" else f"{word} {value}"
            for word, value in words.items()
        ]
        parts += [f"{key}={value}" for key, value in self.changes.items()]
        return f"{', '.join(parts)} on {self.host}"

    def to_dict(self) -> dict[str, Any]:
        """It as plain values."""
        return {**vars(self), "words": dict(self.words), "changes": dict(self.changes), "drops": dict(self.drops)}


class Attack:
    """The tests of one system, and the share that each of them reaches."""

    def __init__(self, system: _core.System, host: str, measuring: Measuring, command: str) -> None:
        self._system, self._host, self._measuring, self._command = system, host, measuring, command
        self._values: dict[str, float | None] = {}
        self._wires: dict[tuple[str, int], float | None] = {}

    def ask(self, tests: Sequence[Test]) -> None:
        """Simulate tests together."""
        missing = list({test.key: test for test in tests if test.key not in self._values}.values())
        questions = [(test, self._question(test)) for test in missing]
        possible = [(test, question) for test, question in questions if question is not None]
        answers = self._measuring.answers([question for _, question in possible])
        self._values.update(dict.fromkeys((test.key for test in missing), None))
        for (test, _), answer in zip(possible, answers, strict=True):
            record = json.loads(answer)
            metric = "bandwidth|Gb/s" if test.operation in RATES else "median|ns"
            self._values[test.key] = record["numbers"].get(metric) if record["status"] == "ok" else None

    def value(self, test: Test) -> float | None:
        """The simulated rate or median latency; None if system or device cannot run the test."""
        self.ask([test])
        return self._values[test.key]

    def share(self, test: Test) -> float | None:
        """The share that a test reaches; None if it cannot be run."""
        value = self.value(test)
        if value is None:
            return None
        if test.operation in LATENCIES:
            easiest = self.value(self.easy(test.operation, test.size))
            return None if easiest is None else easiest / value
        wire = self._wire(test)
        return None if wire is None else value / wire

    @staticmethod
    def easy(operation: str, size: int) -> Test:
        """The easiest test of an operation and a size: a small window that the caches hold."""
        return Test({"test": operation, "size": size, **EASY})

    @cached_property
    def _buffer_bytes(self) -> int:
        values = self._system.values()
        return int(values["chunk_bytes"]) * len(values["chunk_addresses"])

    @cached_property
    def windows(self) -> list[int]:
        """The windows that the host buffer holds."""
        return [window for window in WINDOWS if window <= self._buffer_bytes]

    @cached_property
    def surroundings(self) -> dict[str, dict[str, Any]]:
        """Changes of the host that a test may meet, by their words."""
        values, found = self._system.values(), {}
        if values["host"]["sockets"] > 1:
            other = 1 if values["device_socket"] == 0 else 0
            if values["memory_socket"] == values["device_socket"]:
                found["buffers on the other socket"] = {"memory_socket": other, "program_socket": other}
        if values["host"].get("load") is not None:
            found["busy cores"] = {"host.load.cores": 2 * max(1, values["host"]["load"]["cores"])}
        return found

    @cached_property
    def capacities(self) -> dict[str, tuple[str, float]]:
        """What a window can exceed in each state of the caches, with its bytes; with `` that of the IO-TLB."""
        found = json.loads(self._system.capacities())
        words = {
            "": ("io_tlb_bytes", "window over the reach of the IO-TLB"),
            "device-warm": ("device_lines_bytes", "window over DDIO's share of the LLC"),
            "host-warm": ("host_lines_bytes", "window over the LLC"),
        }
        return {cache: (what, found[key]) for cache, (key, what) in words.items() if found.get(key)}

    def corner(self, what: str, test: Test, easy: Test) -> Corner | None:
        """A corner, if its test is lower than the easy one by enough."""
        share, without, value = self.share(test), self.share(easy), self.value(test)
        if share is None or without is None or value is None or share > without * (1 - LEAST_DROP):
            return None
        unit = "Gb/s" if test.operation in RATES else "ns"
        command = _reproducer(self._command, test)
        drops = {test.size: 1 - share / without}
        return Corner(self._host, what, share, without, value, unit, test.words, test.changes, command, drops)

    def _question(self, test: Test) -> Question | None:
        words = dict(test.words)
        try:
            system = self._system.with_(dict(test.changes)) if test.changes else self._system
            work = single_test(str(words.pop("test")), **words).to_json()
        except InputError:
            return None
        return Question("transfers", system.json(), "", work)

    def _wire(self, test: Test) -> float | None:
        """What the bare link allows for an operation and a size."""
        key = test.operation, test.size
        if key not in self._wires:
            words = dict(self.easy(*key).words)
            [found] = system_bounds(
                self._system, [single_test(str(words.pop("test")), **words).tests[0]["parameters"]]
            )
            wires = [one.gbps for one in found.answer.ceilings if one.bound in _WIRES] if found else []
            self._wires[key] = min(wires, default=None)
        return self._wires[key]


def _reproducer(command: str, test: Test) -> str:
    words = " ".join(f"--{word.replace('_', '-')} {value}" for word, value in test.words.items())
    sets = "".join(f" --set {key}={value}" for key, value in test.changes.items())
    return f"{command} {words}{sets}"
