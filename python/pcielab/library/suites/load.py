"""Suites: checked lists of tests in run order.

The compiled half (`crates/pcie-describe`) reads their files, expands their groups, and refuses impossible tests.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import refusal
from pcielab.library import shipped
from pcielab.library.alike import suggestion
from pcielab.library.input_files import read_toml_text
from pcielab.library.lookup import suite_file
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.suites.benchmark import Test
from pcielab.library.suites.parameter import PARAMETERS
from pcielab.library.suites.parameters import Parameters
from pcielab.wording import shown


@dataclass(frozen=True)
class _Tests:
    """Tests of any kind."""

    handle: _core.Suite
    """The suite of the compiled half."""

    @property
    def name(self) -> str:
        """Short name."""
        return self.handle.name

    @property
    def title(self) -> str:
        """One line for people."""
        return self.handle.title

    @cached_property
    def provenance(self) -> Provenance | None:
        """The sources of its file; None of a suite without one."""
        found: Any = self.handle.provenance()
        return found and Provenance(**found)

    @cached_property
    def tests(self) -> list[dict[str, Any]]:
        """The tests as the simulator and the store take them: `family`, `name`, `parameters`."""
        return self.handle.tests()

    def only(self, families: Sequence[str]) -> Self:
        """The tests of some families, in the suite's order; where caches keep state, results differ.

        Args:
            families: Their names, or patterns with `*` and `?`.

        Raises:
            InputError: A pattern matches no family of the suite.
        """
        known = list(dict.fromkeys(self.handle.families()))
        for family in families:
            if not any(fnmatchcase(name, family) for name in known):
                raise refusal(
                    "not-found", f"suite {self.name} has no family {shown(family)}: {suggestion(family, known)}"
                )
        chosen = [name for name in known if any(fnmatchcase(name, family) for family in families)]
        return type(self)(self.handle.only(chosen, f"{self.name} ({', '.join(families)})"))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its checked content, without the sources of its file."""
        return _of_json, (type(self), self.handle.json())


def _of_json(of: "type[Suite | MessageSuite]", content: str) -> "Suite | MessageSuite":
    return of(_core.Suite.of_json(of.kind, content))


class Suite(_Tests):
    """A list of tests in run order, which matters because caches and TLBs keep state."""

    kind: ClassVar[Literal["transfers"]] = "transfers"

    @staticmethod
    def of(name: str, title: str, tests: Iterable[Test]) -> "Suite":
        """A suite of tests made in Python.

        Raises:
            InputError: A test is impossible; the error has key, value and remedy.
        """
        tests = tuple(tests)
        content = {"name": name, "title": title, "tests": [test.to_dict() for test in tests]}
        suite = Suite(_core.Suite.of_json("transfers", json.dumps(content)))
        suite.__dict__["entries"] = tests  # what was just checked is not read back
        return suite

    @cached_property
    def tests(self) -> list[dict[str, Any]]:
        """The tests as the simulator and the store take them, their parameters in the order of columns."""
        return [
            {**test, "parameters": {one.key: test["parameters"][one.key] for one in PARAMETERS}}
            for test in self.handle.tests()
        ]

    @cached_property
    def entries(self) -> tuple[Test, ...]:
        """The tests as objects."""
        return tuple(Test(test["family"], test["name"], Parameters(**test["parameters"])) for test in self.tests)

    def to_json(self) -> str:
        """The suite as canonical JSON: keys sorted, no spaces, every key present."""
        return self.handle.json()


class MessageSuite(_Tests):
    """Tests of messages; each starts on an idle machine."""

    kind: ClassVar[Literal["messages"]] = "messages"

    def to_json(self, *, simulated: bool = True) -> str:
        """The suite as canonical JSON: keys sorted, no spaces, every key present.

        Args:
            simulated: False for a real device: `eviction` and `pressure` are then null, unless the suite gives
                them, which the device refuses.
        """
        return self.handle.json(simulated=simulated)


def names() -> list[str]:
    """The shipped suites."""
    return list(shipped.suite_files("transfers"))


def message_suite_names() -> list[str]:
    """The shipped suites of messages."""
    return list(shipped.suite_files("messages"))


@refuses_wrong_types
def load_suite(name_or_path: str) -> Suite:
    """The suite of a name (`paper`, `quick`, `demo`) or file (`*.toml`).

    Raises:
        InputError: The suite is missing or wrong; the message names file, group, key, value and remedy.
    """
    path = suite_file("transfers", name_or_path)
    return Suite(_core.Suite.read("transfers", read_toml_text(path), str(path)))


@refuses_wrong_types
def load_message_suite(name_or_path: str) -> MessageSuite:
    """The suite of messages of a name or file (`*.toml`).

    Raises:
        InputError: The suite is missing or wrong; the message names file, group, key, value and remedy.
    """
    path = suite_file("messages", name_or_path)
    return MessageSuite(_core.Suite.read("messages", read_toml_text(path), str(path)))
