"""Why memory behind CXL.mem gives no more: the bound of the closed form, and what changes of the expander give.

The bound is that of `pcielab model cxl`. A measured value well below it is limited by something that the profile
does not have: most often lines in flight, whose number Little's law gives.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pcielab import model
from pcielab.analysis.why.answer import Bar, Cell, Certainty, Change, Level, Why
from pcielab.analysis.why.numbers import near
from pcielab.errors import InputError
from pcielab.kinds.question import digits

if TYPE_CHECKING:
    from pcielab.library.expanders import ExpanderProfile
    from pcielab.model import ExpanderRates

_LINE_BYTES = 64
_ABOVE, _BINDS, _LEAST_GAIN_PERCENT = 1.005, 0.95, 1.0
_SHOWN = 5
_SPEEDS = (3200, 4800, 5600, 6400, 7200, 8000, 8800)
FULL = {
    "slots-to-memory": "the flits to memory are full, with the data of writes",
    "slots-from-memory": "the flits from memory are full, with the data of reads",
    "memory-bus": "the memory's bus is full",
    "memory-banks": "the memory's banks are all busy",
    "lines-in-flight": "the cores' fill buffers are all in use",
}
"""What binds, by the bound of the closed form."""


@dataclass(frozen=True)
class LinesQuestion:
    """A question about lines of an expander.

    Attributes:
        profile: The expander.
        read_share: Share of the lines that are read.
        cores: Cores; None where only the expander is asked about.
        fill_buffers: Lines that each keeps in flight.
        gbytes_per_s: The value to explain; None: the bound itself.
        origin: Origin of the value: `measured`, `simulated`.
    """

    profile: "ExpanderProfile"
    read_share: float
    cores: int | None = None
    fill_buffers: int = 16
    gbytes_per_s: float | None = None
    origin: str = "measured"

    @property
    def rates(self) -> "ExpanderRates":
        """The rates of the closed form, with the latency at half of the peak."""
        requesters = None if self.cores is None else {"cores": self.cores, "fill_buffers": self.fill_buffers}
        [rates] = model.expander(self.profile, [self.read_share], loads=[0.5], requesters=requesters)
        return rates


def why_expander(question: LinesQuestion, notes: Sequence[str] = ()) -> Why:
    """Why an expander gives no more than its bound, or a value less than it.

    Args:
        question: The expander, the mix, and the value.
        notes: Assumptions, for the answer.
    """
    rates, value = question.rates, question.gbytes_per_s
    peak, share = rates.peak_gbytes_per_s, None if value is None else value / rates.peak_gbytes_per_s
    ceilings = sorted(rates.ceilings.items(), key=lambda item: item[1])
    changes = sorted(_changes(question, peak), key=lambda change: -change.gain_percent)
    helpful = [change for change in changes if change.gain_percent >= _LEAST_GAIN_PERCENT]
    certainty = _certainty(question, ceilings, share)
    named = f"{question.profile.name}, {100 * question.read_share:.3g} % reads"
    bars = [] if value is None else [Bar(f"{named}, {question.origin}", value, "value")]
    bars += [Bar(name, rate, "bound") for name, rate in near(ceilings)]
    bars += [Bar(change.what, change.after, "change") for change in helpful[:_SHOWN]]
    return Why(
        question=f"{named}: {digits(peak if value is None else value)} GB/s"
        f" ({'modelled' if value is None else question.origin})",
        sentences=(
            _first(question, rates, share),
            certainty.sentence,
            _advice(question, helpful, share),
        ),
        binds=rates.bound if share is None or _BINDS <= share <= _ABOVE else None,
        certainty=certainty,
        change=helpful[0] if helpful else None,
        changes=tuple(changes),
        unit="GB/s",
        bars=tuple(bars),
        rows=tuple(_rows(ceilings, value)),
        notes=tuple(notes),
    )


def _first(question: LinesQuestion, rates: "ExpanderRates", share: float | None) -> str:
    mix = f"{100 * question.read_share:.3g} % reads"
    peak = digits(rates.peak_gbytes_per_s)
    if share is None:
        return f"{rates.bound} binds at {peak} GB/s with {mix}: {FULL[rates.bound]}."
    value = digits(question.gbytes_per_s or 0.0)
    if share > _ABOVE:
        return (
            f"{value} GB/s is {100 * (share - 1):.0f} % above the bound of {question.profile.name} with {mix}, "
            f"{peak} GB/s of {rates.bound}: another mix, link or memory was measured."
        )
    if share >= _BINDS:
        return f"{rates.bound} binds: {value} GB/s is {share:.2f} of its {peak} GB/s with {mix}."
    lines = (question.gbytes_per_s or 0.0) / _LINE_BYTES * rates.loads[0].read_latency_ns
    return (
        f"Nothing of the expander binds: {value} GB/s is {share:.2f} of the {peak} GB/s that {rates.bound} allows "
        f"with {mix}; some {lines:.0f} lines in flight at the expander give that rate."
    )


def _certainty(question: LinesQuestion, ceilings: Sequence[tuple[str, float]], share: float | None) -> Certainty:
    level: Level = "fairly sure"
    if share is None:
        margin = ceilings[1][1] / ceilings[0][1] - 1 if len(ceilings) > 1 else 1.0
        if margin < 0.05:
            return Certainty("not sure", f"{ceilings[1][0]} lies only {100 * margin:.0f} % higher")
        level = "sure"
        return Certainty(level, f"the next bound, {ceilings[1][0]}, lies {100 * margin:.0f} % higher")
    if share > _ABOVE:
        return Certainty("sure", "a value above a bound contradicts what the bound was computed from")
    if share >= _BINDS:
        return Certainty(level, f"the value is within {100 * abs(1 - share):.0f} % of the bound in closed form")
    return Certainty("not sure", "the profile has neither the host's part nor the software that sends lines")


def _advice(question: LinesQuestion, helpful: Sequence[Change], share: float | None) -> str:
    if share is not None and share < _BINDS:
        return "Try more cores or threads first: each adds its fill buffers' lines in flight."
    if not helpful:
        return "No change of link or memory that was tried gives 1 % or more."
    best = helpful[0]
    return f"Most is gained by {best.what}: {digits(best.after)} GB/s ({best.percent_text})."


def _changes(question: LinesQuestion, before: float) -> Iterator[Change]:
    """One step of each key of the expander that has a better value, and the best mix."""
    for what, keys, who in _steps(question.profile):
        try:
            changed = replace(question, profile=question.profile.with_(keys))
        except InputError:  # the step leaves the range of a key
            continue
        after = changed.rates.peak_gbytes_per_s
        dotted = {f"expander.{key}": value for key, value in keys.items()}
        yield Change(what, before, after, "GB/s", "device", who, dotted)
    if question.cores is not None:
        more = replace(question, cores=2 * question.cores)
        after = more.rates.peak_gbytes_per_s
        yield Change(f"{more.cores} cores instead of {question.cores}", before, after, "GB/s", "test", "workload")


def _steps(profile: "ExpanderProfile") -> Iterator[tuple[str, dict[str, Any], str]]:
    link, memory = profile.link, profile.memory
    if link.lanes < 16:
        yield f"x{2 * link.lanes} instead of x{link.lanes}", {"link.lanes": 2 * link.lanes}, "slot-and-device"
    if link.generation < 7:
        generation = link.generation + 1
        keys = {"link.generation": generation} | ({"link.flit_bytes": 256} if generation > 5 else {})
        yield f"Gen{generation} instead of Gen{link.generation}", keys, "slot-and-device"
    if link.sync_headers:
        yield "no sync headers", {"link.sync_headers": False}, "setting"
    if link.ide_flits:
        yield "no IDE", {"link.ide_flits": 0}, "setting"
    channels = memory.channels + 1
    yield f"{channels} channels of memory instead of {memory.channels}", {"memory.channels": channels}, "device"
    faster = next((speed for speed in _SPEEDS if speed > memory.megatransfers_per_s), None)
    if faster is not None:
        keys = {"memory.megatransfers_per_s": faster}
        yield f"memory of {faster} MT/s instead of {memory.megatransfers_per_s}", keys, "device"
    yield (
        f"{2 * memory.banks} banks a channel instead of {memory.banks}",
        {"memory.banks": 2 * memory.banks},
        "device",
    )


def _rows(ceilings: Sequence[tuple[str, float]], value: float | None) -> Iterator[dict[str, Cell]]:
    for name, rate in ceilings:
        ratio = None if value is None else 100 * value / rate
        yield {"bound": name, "allows_gbytes_per_s": rate, "share_percent": ratio, "because": FULL[name]}
