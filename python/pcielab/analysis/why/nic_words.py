"""The sentences about a NIC: what binds, what a packet costs there, what to change."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pcielab._core import FCS_BYTES
from pcielab.analysis.why.answer import Bar, Change
from pcielab.analysis.why.certainty import NEAR, is_above
from pcielab.analysis.why.gains import advice as named_advice, enough_for, helpful, text_of
from pcielab.analysis.why.nic_rates import NicRate, Rates
from pcielab.analysis.why.nic_steps import StepCost
from pcielab.analysis.why.numbers import digits, listed
from pcielab.analysis.why.searches import Gain, Resource
from pcielab.model.bound_keys import is_of_host

if TYPE_CHECKING:
    from pcielab.work.frames import Frames

_FITS = 0.05
"""A possible cause fits if its rate differs from the measured one by no more than this share."""
_SHOWN_SHARE = 0.01
"""Costs below this share of a packet's time are left to the table."""
_PREAMBLE_BYTES, _GAP_BYTES, _VLAN_BYTES = 8, 12, 4
_ROUND_TRIP_NS = 1000.0
_NAMED_COSTS, _NAMED_CAUSES = 3, 2
_HELD = {
    "batch": "accesses wait until enough packets share them",
    "moderation": "packets wait for moderated interrupts",
    "completion-buffer": "reads wait for room for their completions",
}
"""Bounds of a NIC without a number, in words."""


@dataclass(frozen=True)
class NicCase:
    """A question about a NIC.

    Attributes:
        frames: The NIC, one frame size, the line and the direction.
        rates: The engine that gives rates.
        now: The rate of the NIC.
        measured_gbps: A measured rate to explain.
        is_recorded: Whether a run recorded that rate of the NIC; otherwise the engine of changes gave it.
        resource: The resource behind the simulated bound.
    """

    frames: "Frames"
    rates: Rates
    now: NicRate
    measured_gbps: float | None
    is_recorded: bool = False
    resource: Resource | None = None

    @property
    def frame_bytes(self) -> int:
        """The frame size, FCS included."""
        return int(self.frames.frames_bytes[0])

    def packets(self, gbps: float) -> float:
        """Millions of packets a second at a rate."""
        return 1e3 * gbps / (8 * (self.frame_bytes - FCS_BYTES))

    @property
    def what(self) -> str:
        """The NIC, its link and its frames in words."""
        return f"{self.frames.nic.name} over {self.rates.link_text}, {self.frame_bytes} B frames"


def beside(case: NicCase, measured_gbps: float, causes: Sequence[Bar]) -> str:
    """What would give a measured rate below every bound: defects that fit, else queues that are too short."""
    fitting = fitting_causes(case, causes)
    if fitting:
        named = [f"{bar.name} ({digits(bar.value)} Gb/s)" for bar in fitting[:_NAMED_CAUSES]]
        return f"it fits {listed(named, 'or')}"
    interval_ns = 1e3 / case.packets(measured_gbps)
    in_flight = _ROUND_TRIP_NS / interval_ns
    return f"cores of {digits(interval_ns)} ns a packet, or {digits(in_flight)} packets in flight, would give it"


def fitting_causes(case: NicCase, causes: Sequence[Bar]) -> list[Bar]:
    """The defects that fit a measured rate below the bound, of those that lower the bound."""
    if case.measured_gbps is None or case.measured_gbps >= NEAR * case.now.gbps:
        return []
    lower = [bar for bar in causes if bar.value < NEAR * case.now.gbps]
    return [bar for bar in lower if abs(bar.value / case.measured_gbps - 1) <= _FITS]


def binding(case: NicCase, costs: Sequence[StepCost]) -> str:
    """The first sentence: what binds, at which rate, and what a packet costs there."""
    now, nic = case.now, case.frames.nic.name
    packets = (
        f"{digits(case.packets(now.gbps))} million packets/s, one every {digits(1e3 / case.packets(now.gbps))} ns"
    )
    if case.measured_gbps is not None and is_above(case.measured_gbps, now.gbps):
        return f"{_more_than(case)}, {digits(now.gbps)} Gb/s ({packets})."
    bound = "The line" if now.binds == "line" else now.binds
    reached = f"{bound} binds {nic} at {digits(now.gbps)} Gb/s ({packets})"
    held = _held(case)
    if held is not None:
        return f"{reached}: {held}."
    if is_of_host(now.binds):
        return f"{reached}; the link has time to spare."
    return f"{reached}: {_link_time(costs, now.binds)}."


def _held(case: NicCase) -> str | None:
    """How much of a resource of NIC or link is in use where it binds."""
    if case.resource is not None and case.resource.bound == case.now.binds:
        return case.resource.clause
    return _HELD.get(case.now.binds)


def _more_than(case: NicCase) -> str:
    measured = f"The measured {digits(case.measured_gbps or 0.0)} Gb/s are more than {case.now.binds} allows"
    simulated = " in the simulation" if case.rates.simulated(case.now) is not None else ""
    return f"{measured} {case.frames.nic.name}{simulated}"


def with_features(case: NicCase, what: str, inner: str) -> str:
    """The first sentence for a measured rate that fits the NIC with a change of its profile."""
    return inner.replace(f" binds {case.frames.nic.name} at", f" binds {case.frames.nic.name} with {what} at")


def fitting_features(case: NicCase) -> str:
    """How sure that is: what the NIC allows without a change."""
    measured, bound = digits(case.measured_gbps or 0.0), digits(case.now.gbps)
    return f"the measured {measured} Gb/s are more than {bound} Gb/s, the bound of the profile as it is"


def _link_time(costs: Sequence[StepCost], binds: str) -> str:
    """A packet's time on the link in the direction that binds, else in the busier one, by kind of cost."""
    sums: dict[str, defaultdict[str, float]] = {"upstream": defaultdict(float), "downstream": defaultdict(float)}
    for cost in costs:
        sums["upstream"][cost.group] += cost.upstream_ns
        sums["downstream"][cost.group] += cost.downstream_ns
    busier = max(sums, key=lambda way: sum(sums[way].values()))
    way = binds.removeprefix("wire-") if binds.startswith("wire-") else busier
    total_ns = sum(sums[way].values())
    parts = sorted(sums[way].items(), key=lambda part: -part[1])
    shown = [f"{digits(ns)} ns {group}" for group, ns in parts[:_NAMED_COSTS] if ns >= _SHOWN_SHARE * total_ns]
    return f"{way} {', '.join(shown)}"


def advice(case: NicCase, gains: Sequence[Gain], causes: Sequence[Bar]) -> str:
    """The last sentence: the change that gives most."""
    measured_gbps = case.measured_gbps
    if measured_gbps is not None and is_above(measured_gbps, case.now.gbps):
        enough = enough_for(gains, measured_gbps)
        if not enough:
            tried = f"None of the {len(gains)} changes tried allows it"
            return f"{tried}: check --line, --frame, --direction and the link."
        return f"It would be allowed by {text_of(enough[0])}."
    mending = mended(case, causes)
    if mending is not None:
        defect = mending.what.removeprefix("not ")
        value = f"{digits(mending.after)} Gb/s ({mending.percent_text})"
        return f"Check {defect} first, with `pcielab doctor`: mended, it allows {value}."
    if case.now.binds == "line" and not helpful(gains):
        return "No change raises it: the line is full."
    is_held = measured_gbps is None or measured_gbps >= NEAR * case.now.gbps
    how = "simulated again" if case.rates.simulated(case.now) is not None else "modelled"
    base = "simulated" if case.is_recorded else ""
    return named_advice(gains, how, "" if is_held else "the bound itself", base)


def counted(case: NicCase) -> Iterator[str]:
    """How rates are counted, beside other ways of counting."""
    gbps = case.measured_gbps
    if gbps is None:
        return
    ethernet = case.frames.ethernet
    frame_bytes = case.frame_bytes + (_VLAN_BYTES if ethernet.vlan else 0)
    data_bytes = case.frame_bytes - FCS_BYTES
    line_bytes = frame_bytes + _PREAMBLE_BYTES + _GAP_BYTES
    yield (
        f"{gbps:g} Gb/s counts frames less their FCS: {digits(case.packets(gbps))} million packets/s; if your "
        f"tool counts whole frames, give --measured {gbps * data_bytes / frame_bytes:.4g}; if it counts preamble "
        f"and gap too, give {gbps * data_bytes / line_bytes:.4g}"
    )


def mended(case: NicCase, causes: Sequence[Bar]) -> Change | None:
    """The end of a defect that fits the measured rate."""
    fitting = fitting_causes(case, causes)
    return Change(f"not {fitting[0].name}", fitting[0].value, case.now.gbps, "Gb/s", "link") if fitting else None
