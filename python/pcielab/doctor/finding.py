"""Rules, and their findings: observations with values, modelled cost, sureness and fix.

`crates/pcie-doctor` has the rules; records are models of pydantic, which reads them from its JSON.
"""

from enum import StrEnum
from typing import Literal

from pydantic import TypeAdapter

from pcielab._core import doctor_rules
from pcielab.doctor.tree import Record
from pcielab.model.answers import Bound


class Severity(StrEnum):
    """Severity of a finding, the worst first."""

    ERROR = "error"
    """A fault that the registers or counters show; a modelled loss alone is never one."""
    WARNING = "warning"
    """A setting that costs little, costs only some kinds of traffic, or whose cost is modelled."""
    NOTE = "note"
    """A limit or property of the hardware, not a fault."""


class Sureness(StrEnum):
    """Confidence in a finding."""

    CERTAIN = "certain"
    """The registers show it, on both ends of a link."""
    LIKELY = "likely"
    """The setting is certain; its cost was measured on other machines."""
    LOOK_UNDER_LOAD = "look under load"
    """The device may have been idle: read again while it is busy."""


class Symptom(StrEnum):
    """What somebody notices, and what a cause may explain."""

    ERRORS = "errors"
    """Errors that a register, a counter or the kernel's log shows."""
    LOST_RATE = "lost rate"
    """Less bandwidth than the link should give."""
    LATENCY = "latency"
    """Slow single transfers, or a tail."""
    PEER_TO_PEER = "peer-to-peer"
    """Devices that reach each other slowly, wrongly or not at all."""
    HANG = "hang"
    """A device, driver or machine that stops."""
    MISSING = "not enumerated"
    """A device, or memory of it, that is not there."""


class Value(Record):
    """A value that a finding rests on."""

    name: str
    """Register and field, or file: `LnkSta speed`."""
    function: str | None
    """Slot of the function that it was read from; None for the machine as a whole."""
    value: str


class Loss(Record):
    """Modelled bandwidth, now and after the fix; for reads and writes together, of one direction."""

    operation: Literal["read", "write", "rdwr"]
    size_bytes: int
    """Size of the transfers."""
    round_trip_ns: float | None
    """Assumed duration of a read, if the loss depends on it."""
    now_gbps: float
    now_bound: Bound
    """The binding bound now."""
    could_gbps: float
    could_bound: Bound
    """The binding bound after the fix."""
    assumed: str | None = None
    """Values that could not be read and were assumed."""

    @property
    def lost_gbps(self) -> float:
        """Lost bandwidth, Gb/s."""
        return self.could_gbps - self.now_gbps

    @property
    def share(self) -> float:
        """Lost share of the possible bandwidth."""
        return self.lost_gbps / self.could_gbps if self.could_gbps else 0.0

    @property
    def shown_gbps(self) -> tuple[str, str]:
        """Bandwidth now and after the fix, with enough decimals, up to four, to show the difference."""
        decimals = next((count for count in (1, 2, 3) if 2 * 10.0**-count <= self.lost_gbps), 4)
        decimals = decimals if self.lost_gbps > 0 else 1
        return f"{self.now_gbps:.{decimals}f}", f"{self.could_gbps:.{decimals}f}"


class Observation(Record):
    """One match of a rule."""

    severity: Severity
    sureness: Sureness
    device: str | None
    """Slot of the function concerned; None for the machine as a whole."""
    port: str | None = None
    """Slot of the port on the other end of its link."""
    what: str
    """One sentence."""
    values: tuple[Value, ...] = ()
    losses: tuple[Loss, ...] = ()
    """Cost in bandwidth; the first loss ranks the finding."""
    added_latency_ns: float | None = None
    """Most latency that it adds."""
    remedy: str
    """The fix, or the first check."""
    command: str | None = None
    """The fix as one register write, if it is one: risky (it may hang the machine), and lost at the next reset."""
    commands: tuple[str, ...] = ()
    """The fix as register writes in this order, for both ends of a link; risky like `command`."""
    explained: tuple[str, ...] = ()
    """What of the visible evidence it explains: errors, lost links, lines of the kernel's log, reports on the
    device."""

    @property
    def lost_gbps(self) -> float:
        """Lost bandwidth of the first loss, Gb/s."""
        return self.losses[0].lost_gbps if self.losses else 0.0


class Finding(Observation):
    """An observation with its rule and the evidence for its cause."""

    rule: str
    """Name of the rule."""
    cause: str
    """Cause of low numbers: an ID of `causes.toml`, as D01, or a word if that list has none."""
    evidence: str
    """Cost measured elsewhere, or consequence of the specification."""
    grade: Literal["A", "B", "C", "D"]
    """Quality of the evidence: A controlled measurement or paper, B report with before and after, C statement
    without both, D specification alone."""
    sources: tuple[str, ...]
    """Sources of the evidence."""
    explains: tuple[Symptom, ...] = ()
    """Symptoms that the cause explains where they show."""
    confirm: str | None = None
    """What would confirm the cause."""
    guide: str = "guides/is-my-link-right/"
    """The section of the guide that explains the finding, below the root of the documentation."""


class Rule(Record):
    """A rule, which looks for one cause of low numbers."""

    name: str
    """Name in findings."""
    cause: str
    """Key of the cause."""
    about: str
    """The reason, the section of the specification, and when the rule is silent."""
    explains: tuple[Symptom, ...]
    """Symptoms that the cause explains."""
    confirm: str | None
    """What would confirm the cause."""


RULES: tuple[Rule, ...] = TypeAdapter(tuple[Rule, ...]).validate_json(doctor_rules())
"""Every rule, in the order of the reference; findings are sorted by cost."""
