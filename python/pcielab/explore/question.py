"""A page's question: a system with changes, and a test; all of it is untrusted and checked.

Only the server takes it, so that pydantic checks it. Its systems may be files given at the start, or dropped on a
page.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import Field

from pcielab._core import MEASURED_RANGE
from pcielab.errors import refusal
from pcielab.library.alike import suggestion
from pcielab.library.profiles import ResolvedSystem, resolve, resolve_alone
from pcielab.library.profiles.keys import Value
from pcielab.library.profiles.part import MOST_COUNT, Part
from pcielab.library.profiles.quantity_types import Count, Size
from pcielab.library.shipped import experimental, profile_files
from pcielab.library.suites import Suite, single_test
from pcielab.library.suites.benchmark import Cache, Pattern
from pcielab.library.suites.parameter import PARAMETERS
from pcielab.library.validation import checked
from pcielab.wording import named

MOST_CHANGES = 100
_SYSTEMS_KEPT = 64

Offset = Annotated[int, Field(ge=0, le=4095)]


class Question(Part):
    """A system with changes, and tests of bandwidth and latency with common parameters."""

    system: Annotated[str, Field(min_length=1, max_length=200)] = "hsw2620"
    """Name of a shipped system, or of a file given to the server."""
    sets: dict[Annotated[str, Field(max_length=200)], Value] = Field(default={}, max_length=MOST_CHANGES)
    """Changes, by dotted key."""
    bandwidth: Literal["bw-rd", "bw-wr", "bw-rdwr"] = "bw-rd"
    """Operation of the tests of bandwidth."""
    latency: Literal["lat-rd", "lat-wrrd"] = "lat-rd"
    """Operation of the tests of latency."""
    size: Size = 64
    """Transfer size, bytes."""
    window: Annotated[int, Field(ge=1, le=1 << 40)] = 8192
    """Window, bytes."""
    cache: Cache = "cold"
    """State of the caches before a test."""
    pattern: Pattern = "random"
    """Order of the accesses."""
    host_offset: Offset = 0
    """Offset from a cache line on the host, bytes."""
    device_offset: Offset = 0
    """Offset on the device, bytes."""
    stride: Count = 1
    """Stride of a strided pattern, in units; else 1."""
    outstanding: Count | None = None
    """Most transfers in flight; None: the device's maximum."""
    seed: Annotated[int, Field(ge=0, le=MOST_COUNT)] = 1
    """Seed of the addresses."""
    measured: Annotated[float, Field(ge=MEASURED_RANGE[0], le=MEASURED_RANGE[1])] | None = None
    """A measured bandwidth to explain, Gb/s; None: the simulated one."""

    def words(self, **other: Any) -> dict[str, Any]:
        """The words of a test, some of them replaced."""
        return {**{one.word: getattr(self, one.word) for one in ASKED}, **other}

    def of_tests(self) -> dict[str, Any]:
        """The question without the system and its changes."""
        return self.model_dump(exclude={"system", "sets"})

    def suite(self, operation: str, **other: Any) -> Suite:
        """A suite of one test.

        Raises:
            InputError: The test is impossible.
        """
        return single_test(operation, **self.words(**other))


ASKED = tuple(parameter for parameter in PARAMETERS if parameter.word in Question.model_fields)
"""The parameters of tests with a control on the page."""
START = Question()
"""What an address leaves out."""
OPENING = {"system": "gen5-x16", "cache": "device-warm"}
"""Differences from `START` of a page whose address says nothing."""
FIRST = {
    "link.generation": "Generation",
    "link.lanes": "Lanes",
    "link.mps_bytes": "MPS (B)",
    "link.mrrs_bytes": "MRRS (B)",
    "link.tags": "Tags",
    "host.llc.ddio_ways": "DDIO ways",
    "iommu": "IOMMU",
    "host.load.cores": "Busy cores",
}
"""Values in the first row of the page, of those that a system has, with their labels."""


class Systems:
    """The systems of a server: shipped ones, files given to it, and files dropped on its pages."""

    def __init__(self, files: Mapping[str, str] | None = None) -> None:
        self._files = dict(files or {})
        self._dropped: dict[str, tuple[str, str]] = {}
        self._resolved = lru_cache(maxsize=_SYSTEMS_KEPT)(self._resolve)

    @property
    def names(self) -> Sequence[str]:
        """Their names."""
        shipped = sorted(profile_files("system"), key=self.experimental.__contains__)
        return list(dict.fromkeys([*self._dropped, *self._files, *shipped]))

    @property
    def opening(self) -> Question:
        """The question of a page whose address says nothing: the first own system, or a Gen5 one."""
        system = next(iter(self._files), OPENING["system"])
        return START.model_copy(update={**OPENING, "system": system})

    @property
    def experimental(self) -> Mapping[str, str]:
        """The experimental shipped systems, with reasons."""
        found = {
            name: experimental(path) for name, path in profile_files("system").items() if name not in self._files
        }
        return {name: reason for name, reason in found.items() if reason}

    def drop(self, label: str, text: str) -> str:
        """Take the text of a file that was dropped on a page, instead of an earlier one of its name.

        Returns:
            The name of the system.

        Raises:
            InputError: It is no system, or another system has its name.
        """
        name = resolve_alone(text, label).system.name
        if name not in self._dropped and name in self.names:
            raise refusal("exists", f"{label}: name is {name}: a system of the server has this name: give another")
        self._dropped[name] = label, text
        self._resolved.cache_clear()
        return name

    def reference(self, name: str) -> str:
        """The name or path of a system for the command line; of a dropped file, its name.

        Raises:
            InputError: No system has this name; paths are no names.
        """
        if name not in self.names:
            raise refusal("not-found", f"system {named(name)}: {suggestion(name, self.names)}")
        return self._dropped[name][0] if name in self._dropped else self._files.get(name, name)

    def resolved(self, question: Question) -> ResolvedSystem:
        """The system of a question, with its changes.

        Raises:
            InputError: The system is unknown, or a change is invalid.
        """
        return self._resolved(question.system, tuple(sorted(question.sets.items(), key=lambda item: item[0])))

    def _resolve(self, name: str, sets: tuple[tuple[str, Value], ...]) -> ResolvedSystem:
        for key, _ in sets:
            if key in ("link", "host", "device"):
                raise refusal("wrong-value", f"{key}: is a whole part: change single values, like {key}.KEY")
        if name in self._dropped:
            label, text = self._dropped[name]
            return resolve_alone(text, label, dict(sets))
        return resolve(self.reference(name), dict(sets))


def question_of(content: object) -> Question:
    """The question in a request.

    Raises:
        InputError: The content is no question.
    """
    return checked(Question, content, "question")
