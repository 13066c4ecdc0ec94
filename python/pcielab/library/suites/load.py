"""Find, read and check suites."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

from pcielab.argument_types import refuses_wrong_types
from pcielab.library import shipped
from pcielab.library.input_files import read_toml
from pcielab.library.lookup import suite_file
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.suites.benchmark import Test
from pcielab.library.suites.files import Group, SuiteFile, families_called
from pcielab.library.validation import checked
from pcielab.wording import named


@dataclass(frozen=True)
class Suite:
    """A list of tests in run order, which matters because caches and TLBs keep state."""

    kind: ClassVar[Literal["transfers"]] = "transfers"

    name: str
    title: str
    entries: tuple[Test, ...]
    provenance: Provenance | None = None

    @cached_property
    def tests(self) -> list[dict[str, Any]]:
        """The tests as the simulator and the store take them: `family`, `name`, `parameters`."""
        return [test.to_dict() for test in self.entries]

    def only(self, families: Sequence[str]) -> "Suite":
        """The tests of some families, in the suite's order; results differ from the whole suite's, as state does.

        Args:
            families: Their names, or patterns with `*` and `?`.

        Raises:
            InputError: A pattern matches no family of the suite.
        """
        chosen = families_called(families, (test.family for test in self.entries), self.name)
        entries = (test for test in self.entries if test.family in chosen)
        return replace(self, name=f"{self.name} ({', '.join(families)})", entries=tuple(entries))

    def to_json(self) -> str:
        """The suite as canonical JSON: keys sorted, no spaces, every key present."""
        content = {"name": self.name, "title": self.title, "tests": self.tests}
        return json.dumps(content, sort_keys=True, separators=(",", ":"))


def names() -> list[str]:
    """The shipped suites."""
    return list(shipped.suite_files("transfers"))


@refuses_wrong_types
def load_suite(name_or_path: str) -> Suite:
    """The suite of a name (`paper`, `quick`, `demo`) or file (`*.toml`).

    Raises:
        InputError: The suite is missing or wrong; the message names file, group, key, value and remedy.
    """
    path = suite_file("transfers", name_or_path)
    content = read_toml(path)
    groups = content.get("group")
    for index, group in enumerate(groups if isinstance(groups, list) else []):
        family = group.get("family", "no family") if isinstance(group, dict) else "not a table"
        checked(Group, group, f"{path}: group {index + 1} ({named(str(family))})")
    file = checked(SuiteFile, content, str(path))
    entries = tuple(test for group in file.group for test in group.unfold())
    return Suite(file.name, file.title, entries, file.provenance)
