"""What the doctor says.

Findings, each with its values, what it costs by the model, how sure it is, and what to do.
"""

from enum import StrEnum
from typing import Literal

from pcielab.doctor.tree import Record
from pcielab.model.answers import Bound


class Severity(StrEnum):
    """How much a finding matters; the worst first."""

    ERROR = "error"
    """A wrong setting that costs a large part of the hardware's bandwidth or latency."""
    WARNING = "warning"
    """A setting that costs little, or costs only some kinds of traffic."""
    NOTE = "note"
    """A limit or property of the hardware, not a fault."""


class Sureness(StrEnum):
    """What stands behind a finding."""

    CERTAIN = "certain"
    """Registers say so, of both ends where there are two."""
    LIKELY = "likely"
    """The setting is certain, that it costs something here is what others have measured."""
    LOOK_UNDER_LOAD = "look under load"
    """What was read may be a state of rest: read it again while the device is busy."""


class Value(Record):
    """A value that a finding rests on."""

    name: str
    """Register and field, or file: `LnkSta speed`."""
    function: str | None
    """Slot of the function that it was read from; None for the machine as a whole."""
    value: str


class Loss(Record):
    """Bandwidth by the model, as it is and as it could be; for reads and writes together, one direction's."""

    operation: Literal["read", "write", "rdwr"]
    size_bytes: int
    """Size of the transfers."""
    round_trip_ns: float | None
    """Where it depends on how long a read takes: what was assumed."""
    now_gbps: float
    now_bound: Bound
    """What binds as it is."""
    could_gbps: float
    could_bound: Bound
    """What would bind."""
    assumed: str | None = None
    """What could not be read and was assumed."""

    @property
    def lost_gbps(self) -> float:
        """What is lost."""
        return self.could_gbps - self.now_gbps

    @property
    def share(self) -> float:
        """What is lost, as a part of what could be."""
        return self.lost_gbps / self.could_gbps if self.could_gbps else 0.0


class Observation(Record):
    """What a rule sees in one place."""

    severity: Severity
    sureness: Sureness
    device: str | None
    """Slot of the function that it is about; None for the machine as a whole."""
    port: str | None = None
    """Slot of the port on the other end of its link."""
    what: str
    """One sentence."""
    values: tuple[Value, ...] = ()
    losses: tuple[Loss, ...] = ()
    """What it costs in bandwidth; the first one is the one that it is judged by."""
    added_latency_ns: float | None = None
    """What it adds to a latency, at most."""
    remedy: str
    """What to do, or what to check first."""

    @property
    def lost_gbps(self) -> float:
        """What it costs, as it is judged."""
        return self.losses[0].lost_gbps if self.losses else 0.0


class Finding(Observation):
    """An observation, with the rule that made it and what others have seen of its cause."""

    rule: str
    """Name of the rule."""
    cause: str
    """The cause of low numbers that it is an instance of: D01 to D46, or a word where that list has none."""
    evidence: str
    """What it was measured to cost elsewhere, or what follows from the specification."""
    grade: Literal["A", "B", "C", "D"]
    """How good that evidence is: A controlled measurement or paper, B report with before and after, C statement
    without both, D specification alone."""
    sources: tuple[str, ...]
    """Where that is written."""
