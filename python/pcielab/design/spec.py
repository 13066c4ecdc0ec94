"""Design files: hosts, targets, free keys with their values and costs, and fixed keys.

Python alone reads the file, by pydantic. The compiled half checks every system, NIC and message profile that comes
of it.
"""

from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import Field, model_validator

from pcielab.library.input_files import given_path
from pcielab.library.lookup import is_path
from pcielab.library.profiles.part import Name, Part, Title
from pcielab.library.validation import read_as

Better: TypeAlias = Literal["more", "less", "either"]
"""The direction in which a key helps."""
LIMITS = ("at_least_gbps", "at_least_mpps", "at_most_median_ns", "at_most_p99_9_ns", "at_most_dropped_share")
"""The keys of a target's limit."""


class HostTable(Part):
    """A host that the design has to meet its targets on."""

    system: str
    """The system: a shipped one, or a path relative to the file."""
    name: str | None = None
    """Its name in the answer; left out: the system's, with its changes."""
    set_: dict[str, Any] = Field(default={}, alias="set")
    """Changes of this system alone, by dotted key."""


class FreeTable(Part):
    """A key that the search may choose."""

    key: str | None = None
    """The dotted key: of a system (`device.dma.tags`), of the NIC (`nic.queues.ring_descriptors`), of the message
    profile (`message.…`), or a word of all targets (`target.way`)."""
    keys: list[str] = Field(default=[])
    """Several keys that take the same value, such as the times of one clock."""
    values: list[Any] | str
    """Its values in any order, or a range as text: `"8:64"`, `"8:64:8"` (step), `"8:1024:x2"` (doubling)."""
    cost: float | list[float] = 0.0
    """Cost of a unit of the value, or a cost for each of the values."""
    better: Better | None = None
    """The direction in which it helps; left out: that of the key, as the reference of profiles has it."""

    @model_validator(mode="after")
    def _has_one_key(self) -> "FreeTable":
        if (self.key is None) == (not self.keys):
            raise ValueError("give key, or keys for several that take the same value")
        return self

    @property
    def all_keys(self) -> list[str]:
        """Its keys."""
        return [self.key] if self.key is not None else self.keys


class TargetTable(Part):
    """What the design has to reach. Words of a test, as on the command line, say how it is tested."""

    name: str | None = None
    """Its name in the answer; left out: its test and its size."""
    test: str | None = None
    """A test of transfers: `bw-rd`, `bw-wr`, `bw-rdwr`, `lat-rd`, `lat-wrrd`."""
    set_: dict[str, Any] = Field(default={}, alias="with")
    """Further words of the test: `with = { window = "1M", cache = "device-warm" }`."""
    size: int | str | None = None
    """Bytes of a transfer, or of a message."""
    frame: int | None = Field(default=None, ge=60)
    """Bytes of an Ethernet frame, FCS included: the target is of the NIC."""
    line: float = Field(default=40.0, gt=0)
    """Of frames: the line, Gb/s."""
    direction: Literal["both", "tx", "rx"] = "both"
    """Of frames: their direction."""
    way: str | None = None
    """Of messages: `write-combined`, `uncached` or `descriptors`; the target is of the message profile."""
    at_least_gbps: float | None = Field(default=None, gt=0)
    """The least rate of data, Gb/s."""
    at_least_mpps: float | None = Field(default=None, gt=0)
    """The least rate of transfers, packets or messages, millions a second."""
    at_most_median_ns: float | None = Field(default=None, gt=0)
    """The largest median of the latency, ns."""
    at_most_p99_9_ns: float | None = Field(default=None, gt=0)
    """The largest 99.9th percentile of the latency, ns."""
    at_most_dropped_share: float | None = Field(default=None, ge=0, le=1)
    """Of frames that arrive at line rate: the largest share that is dropped."""

    @model_validator(mode="after")
    def _has_one_limit(self) -> "TargetTable":
        if sum(getattr(self, limit) is not None for limit in LIMITS) != 1:
            raise ValueError(f"give one limit: {', '.join(LIMITS)}")
        if sum(one is not None for one in (self.test, self.frame, self.way)) != 1:
            raise ValueError("give test (transfers), frame (a NIC) or way (messages)")
        return self

    @property
    def limit(self) -> tuple[str, float]:
        """The key of its limit, and the value."""
        return next((limit, value) for limit in LIMITS if (value := getattr(self, limit)) is not None)


class DesignFile(Part):
    """A design."""

    name: Name
    """Short name."""
    title: Title
    """One line for people."""
    hosts: list[str | HostTable] = Field(min_length=1, max_length=64)
    """The hosts: systems by name or path, or tables with `system`, `name` and `set`."""
    on: Literal["all", "any"] = "all"
    """Whether the targets have to be met on all hosts, or on one of them."""
    decide: Literal["simulation", "closed-form"] = "simulation"
    """What decides whether a target is met."""
    nic: str | None = None
    """The NIC of targets with `frame`: a name or a path."""
    messages: str | None = None
    """The message profile of targets with `way`: a name or a path."""
    set_: dict[str, Any] = Field(default={}, alias="set")
    """Fixed keys on all hosts, by dotted key; `device` and `link` take a profile as a whole."""
    free: list[FreeTable] = Field(min_length=1, max_length=12)
    """The keys to choose."""
    target: list[TargetTable] = Field(min_length=1, max_length=64)
    """The targets; each has to be met."""


def read_design(path: str | Path) -> tuple[DesignFile, Path]:
    """A design file, and its folder, to which paths in it are relative.

    Raises:
        InputError: It cannot be read, or is wrong; the message names file, key and value.
    """
    spec = given_path(str(path))
    return read_as(DesignFile, spec), spec.parent


def located(reference: str, folder: Path) -> str:
    """A reference of a file, relative to its folder if it is a path."""
    return str(given_path(reference, folder)) if is_path(reference) else reference
