"""Suites of messages: TOML files under `suites/messages`."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import found_in, wrong_value
from pcielab.library import shipped
from pcielab.library.lookup import suite_file
from pcielab.library.profiles.part import Name, Part, SizeOrNone, Title
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.profiles.quantity_types import Count, Share
from pcielab.library.suites.files import check_count, check_loop, count, families_called
from pcielab.library.suites.message_parameters import (
    Eviction,
    MessageConnection,
    MessageParameters,
    Pace,
    QueueSharing,
    StoreKind,
    Way,
)
from pcielab.library.suites.ranges import Sizes
from pcielab.library.validation import read_as
from pcielab.wording import shown

StoreBytes: TypeAlias = Literal[4, 8, 16, 32, 64]
Axis: TypeAlias = Literal[
    "way", "size", "link", "cores", "sharing", "eviction", "pressure", "store-bytes", "store-kind", "stores-up-to"
]
AXES: tuple[Axis, ...] = (
    "link",
    "way",
    "cores",
    "sharing",
    "eviction",
    "pressure",
    "store-kind",
    "store-bytes",
    "stores-up-to",
    "size",
)
_NAMES: dict[Way, str] = {
    "uncached": "UC",
    "write-combined": "WC",
    "write-combined-fenced": "WC_FENCE",
    "descriptors": "DMA",
    "mux": "MUX",
}
_LINK = re.compile(r"gen([1-7])-x(1|2|4|8|12|16|32)")


def _link(value: object) -> object:
    if not isinstance(value, str) or not _LINK.fullmatch(value):
        raise PydanticCustomError("link", "give generation and lanes, for example gen3-x8")
    return value


LinkName = Annotated[str, BeforeValidator(_link)]


class Connection(Part):
    """The messages of a core of a mux."""

    name: Name
    """Unique name."""
    sizes: Sizes
    """Payloads of its messages, which it sends in turn, repeatedly."""
    pace: Pace | None = None
    """When it sends its next message; absent: the group's pace."""
    stores_up_to: SizeOrNone | None = None
    """The longest payload sent by stores, longer ones go by descriptors: 0 for none; absent: the group's."""

    def asked(self, pace: Pace) -> MessageConnection:
        """The connection as the simulator takes it."""
        return {
            "name": self.name,
            "pace": self.pace or pace,
            "sizes": list(self.sizes),
            "stores_up_to_bytes": self.stores_up_to,
        }


class MessageGroup(Part):
    """Tests that share a family: all combinations of some lists."""

    family: Name
    """Family of the results."""
    loop: list[Axis] = Field(default=[])
    """Order of the nested loops, outermost first: every list with more than one entry must be named."""
    ways: list[Way] = Field(min_length=1)
    """How messages go to the device."""
    sizes: Sizes | None = None
    """Payload: bytes, `"4K"`, or a range `"32:1504:16"`, both ends included; not for a mux."""
    connections: list[Connection] = Field(default=[])
    """The cores of a mux, with their messages."""
    stores_up_to: list[SizeOrNone] = Field(default=[])
    """For a mux: the longest payloads sent by stores, for connections without their own."""
    links: list[LinkName] = Field(default=[])
    """Links, for example `gen3-x8`; empty: the link of the profile's system."""
    cores: list[Count] = Field(default=[1], min_length=1)
    """Cores that send."""
    sharing: list[QueueSharing] = Field(default=["own-queues"], min_length=1)
    """A queue per core, or one queue with a lock."""
    evictions: list[Eviction] = Field(default=[])
    """Order in which full buffers leave a simulated core; empty: `in-order`. A real core has its own order."""
    pressures: list[Share] = Field(default=[])
    """Share of the stores after which other code takes the buffer of a simulated core; empty: 0. On a real core it
    is not controlled."""
    store_bytes: list[StoreBytes] = Field(default=[8], min_length=1)
    """Widths of a store. A simulated core has 8."""
    store_kinds: list[StoreKind] = Field(default=["plain"], min_length=1)
    """Instructions that store: `plain`, `non-temporal`, or `direct`, which are 64 bytes in one piece. A simulated
    core has `plain`."""
    pace: Pace
    """A core sends its next message once the one before is done, or at once."""
    messages: Count
    """Messages of each core; the least number for a mux, since all send until the last has sent its own."""

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        self._check_mux()
        check_loop(self.loop, self._axes())
        if "descriptors" in self.ways and max(len(self.store_bytes), len(self.store_kinds)) > 1:
            remedy = "descriptors take one store_bytes and store_kinds: give them a group of their own"
            raise wrong_value("ways", "descriptors", remedy)
        return self

    def _check_mux(self) -> None:
        """Refuse keys of a mux in a group without one, and vice versa."""
        if "mux" not in self.ways:
            if self.connections or self.stores_up_to:
                raise wrong_value(
                    "ways", shown(self.ways), 'connections and stores_up_to need a mux: give ["mux"]'
                )
            if self.sizes is None:
                raise wrong_value("sizes", "none", 'give payloads, for example [64, "4K"]')
            return
        if len(self.ways) > 1 or not self.connections:
            raise wrong_value("ways", shown(self.ways), "a mux has connections: give it a group of its own")
        if self.sizes is not None or self.cores != [1] or self.sharing != ["own-queues"]:
            remedy = "sizes, cores and sharing of a mux are those of the connections: leave them out"
            raise wrong_value("ways", shown(self.ways), remedy)

    @property
    def count(self) -> int:
        """Number of tests of the group."""
        return count(self._axes())

    def _axes(self) -> dict[Axis, list[Any]]:
        return {
            "way": list(self.ways),
            "size": list(self.sizes or [max(size for one in self.connections for size in one.sizes)]),
            "link": list(self.links) or [None],
            "cores": list(self.cores),
            "sharing": list(self.sharing),
            "eviction": list(self.evictions) or [None],
            "pressure": list(self.pressures) or [None],
            "store-bytes": list(self.store_bytes),
            "store-kind": list(self.store_kinds),
            "stores-up-to": list(self.stores_up_to) or [None],
        }

    def unfold(self, *, simulated: bool) -> Iterator[dict[str, Any]]:
        """The tests of the group, in run order.

        Args:
            simulated: Whether to fill in the simulator's defaults of `eviction` and `pressure`.
        """
        axes = self._axes()
        if simulated:
            axes["eviction"] = list(self.evictions) or ["in-order"]
            axes["pressure"] = list(self.pressures) or [0.0]
        order = [*self.loop, *(axis for axis in AXES if axis not in self.loop)]
        for values in product(*(axes[axis] for axis in order)):
            at = dict(zip(order, values, strict=True))
            link = _LINK.fullmatch(at["link"]) if at["link"] else None
            stores = at["way"] != "descriptors"
            connections = [connection.asked(self.pace) for connection in self.connections]
            parameters: MessageParameters = {
                "connections": json.dumps(connections, separators=(",", ":")) if connections else None,
                "cores": len(connections) or at["cores"],
                "eviction": at["eviction"],
                "generation": int(link[1]) if link else None,
                "lanes": int(link[2]) if link else None,
                "messages": self.messages,
                "pace": self.pace,
                "pressure": at["pressure"],
                "sharing": at["sharing"],
                "size_bytes": at["size"],
                "store_bytes": at["store-bytes"] if stores else None,
                "store_kind": at["store-kind"] if stores else None,
                "stores_up_to_bytes": at["stores-up-to"],
                "way": at["way"],
            }
            name = _NAMES["mux"] if connections else f"{_NAMES[at['way']]}_{self.pace.upper()}"
            yield {"family": self.family, "name": name, "parameters": parameters}


class MessageSuiteFile(Part):
    """A file under `suites/messages`."""

    name: Name
    """Short name."""
    title: Title
    """One line for people."""
    provenance: Provenance
    """Source of the list of tests."""
    group: list[MessageGroup] = Field(min_length=1)
    """Groups of tests, in run order."""

    @model_validator(mode="after")
    def _is_short_enough(self) -> Self:
        check_count(sum(group.count for group in self.group))
        return self


@dataclass(frozen=True)
class MessageSuite:
    """Tests of messages; each starts on an idle machine."""

    kind: ClassVar[Literal["messages"]] = "messages"

    name: str
    title: str
    groups: tuple[MessageGroup, ...]
    provenance: Provenance

    @cached_property
    def tests(self) -> list[dict[str, Any]]:
        """The tests as the simulator and the store take them: `family`, `name`, `parameters`."""
        return [test for group in self.groups for test in group.unfold(simulated=True)]

    def only(self, families: Sequence[str]) -> "MessageSuite":
        """The tests of some families, in the suite's order; arguments and errors as of `Suite.only`."""
        chosen = families_called(families, (group.family for group in self.groups), self.name)
        groups = tuple(group for group in self.groups if group.family in chosen)
        return replace(self, name=f"{self.name} ({', '.join(families)})", groups=groups)

    def to_json(self, *, simulated: bool = True) -> str:
        """The suite as canonical JSON: keys sorted, no spaces, every key present.

        Args:
            simulated: False for a real device: `eviction` and `pressure` are then null, unless the suite gives
                them, which the device refuses.
        """
        tests = [test for group in self.groups for test in group.unfold(simulated=simulated)]
        content = {"name": self.name, "title": self.title, "tests": tests}
        return json.dumps(content, sort_keys=True, separators=(",", ":"))


def message_suite_names() -> list[str]:
    """The shipped suites of messages."""
    return list(shipped.suite_files("messages"))


@refuses_wrong_types
def load_message_suite(name_or_path: str) -> MessageSuite:
    """The suite of messages of a name or file (`*.toml`).

    Raises:
        InputError: The suite is missing or wrong; the message names file, key, value and remedy.
    """
    path = suite_file("messages", name_or_path)
    file = read_as(MessageSuiteFile, path)
    suite = MessageSuite(file.name, file.title, tuple(file.group), file.provenance)
    with found_in(path):
        _core.check_message_suite(suite.to_json())
    return suite
