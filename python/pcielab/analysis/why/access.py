"""Why loads and stores of a core to a device take their time: what binds, and what another way of access gives."""

from collections.abc import Iterator
from dataclasses import replace

from pcielab import model
from pcielab.analysis.why.answer import Bar, Certainty, Change, Why
from pcielab.analysis.why.gains import link_changes
from pcielab.kinds.question import digits
from pcielab.library.cores import PRESENT_DAY, BarProfile, CoreProfile
from pcielab.library.link import Link
from pcielab.model.mmio_questions import Access
from pcielab.wording import byte_size, time_text

_SHOWN = 6
_LEAST_GAIN_PERCENT = 1.0
_LINE_BYTES = 64
_TOLERANCE = 0.15
STEPS = {
    "core-stores": "the core binds: it makes its stores one after the other",
    "fill-buffers": "the core's write-combining buffers bind: each is free again only when the host took its line",
    "uncached-stores": "uncached stores bind: each leaves the core before the next",
    "wire-downstream": "the link towards the device binds",
    "wire-upstream": "the link towards the host binds",
    "posted-credits": "the device's room for stores binds",
    "device-drain": "the device binds: it takes stores at its own rate",
    "round-trip": "the round trip binds: one load is in flight",
    "streaming-lines": "the core's buffers bind: each holds a line for a round trip",
}
"""What binds, by the bound of the closed form."""


def why_access(
    access: Access, core: CoreProfile, bar: BarProfile, link: Link, measured_ns: float | None = None
) -> Why:
    """Why an access takes its time.

    Args:
        access: What the core does.
        core: The core.
        bar: The device's side.
        link: The link between them.
        measured_ns: A measured time of one access, ns.
    """
    times = _times(access, core, bar, link)
    changes = sorted(_changes(access, core, bar, link, times.core_ns.usual), key=lambda one: -one.gain_percent)
    helpful = [change for change in changes if change.gain_percent >= _LEAST_GAIN_PERCENT]
    best = helpful[0] if helpful else None
    value = times.core_ns.usual if measured_ns is None else measured_ns
    size = byte_size(access.size_bytes)
    question = f"{access.instruction} of {size}, {core.name} to {bar.name}, Gen{link.generation} x{link.lanes}"
    rate = f"{digits(access.size_bytes / value)} GB/s"
    sentences = [f"{size} take {time_text(value)}, {rate}: {STEPS[times.bound]}."]
    sure = _certainty(times.core_ns, measured_ns)
    sentences.append(sure.sentence)
    if best is not None:
        after = time_text(best.after)
        sentences.append(f"Try {best.what}: {after} instead of {time_text(best.before)} ({best.percent_text}).")
    return Why(
        question=question,
        sentences=tuple(sentences),
        binds=times.bound,
        certainty=sure,
        change=best,
        changes=tuple(changes),
        unit="ns",
        bars=tuple(_bars(value, measured_ns is not None, times, helpful)),
        rows=tuple(change.to_dict() for change in changes),
        notes=(f"times of core and device: {core.title}; {bar.title}",),
    )


def _times(access: Access, core: CoreProfile, bar: BarProfile, link: Link) -> model.AccessTimes:
    [times] = model.mmio(core, bar, [access], link=link)
    return times


def _certainty(took: model.Between, measured_ns: float | None) -> Certainty:
    span = f"{time_text(took.least)} to {time_text(took.most)}"
    if measured_ns is None:
        return Certainty("fairly sure", f"the profiles allow {span}, from published machines")
    if took.least * (1 - _TOLERANCE) <= measured_ns <= took.most * (1 + _TOLERANCE):
        return Certainty("fairly sure", f"the value is within what the profiles allow, {span}")
    longer = "longer" if measured_ns > took.most else "shorter"
    return Certainty(
        "not sure", f"the value is {longer} than the profiles allow, {span}: another cause acts as well"
    )


def _changes(access: Access, core: CoreProfile, bar: BarProfile, link: Link, before: float) -> Iterator[Change]:
    def change(what: str, of: str, who: str, changed: Access, to: CoreProfile = core, on: Link = link) -> Change:
        return Change(what, before, _times(changed, to, bar, on).core_ns.usual, "ns", of, who=who)

    size, widest = access.size_bytes, core.loads.widest_bytes
    width = access.width_bytes or 8
    if access.instruction in ("uncached-load", "uncached-store", "read-modify-write") and size > width < widest:
        wide = min(1 << (size - 1).bit_length(), widest)
        yield change(
            f"accesses of {wide} B instead of {width}", "test", "workload", replace(access, width_bytes=wide)
        )
    if access.instruction == "uncached-load" and size > _LINE_BYTES:
        streamed = replace(access, instruction="streaming-load", width_bytes=None)
        yield change("streaming loads from a write-combining mapping", "test", "driver", streamed)
    if access.instruction == "uncached-store" and size > width:
        combined = replace(access, instruction="combined-store", width_bytes=None, fenced=True)
        yield change("stores through a write-combining mapping, fenced", "test", "driver", combined)
    if (
        access.instruction in ("uncached-store", "combined-store")
        and core.stores.direct_ns
        and size >= _LINE_BYTES
    ):
        direct = replace(access, instruction="direct-store", width_bytes=None, fenced=False)
        yield change("stores of 64 B in one piece (MOVDIR64B)", "test", "workload", direct)
    if access.instruction == "combined-store" and (access.width_bytes or _LINE_BYTES) <= 8:
        yield change("the widest stores", "test", "workload", replace(access, width_bytes=None))
    if access.remote:
        yield change("a core of the device's socket", "host", "setting", replace(access, remote=False))
    if access.switches:
        yield change("no switch between root port and device", "host", "slot", replace(access, switches=0))
    if access.first_touch:
        yield change("pages that are touched before", "test", "workload", replace(access, first_touch=False))
    if access.window_set:
        yield change("a window that stays set", "test", "driver", replace(access, window_set=False))
    for found, new in link_changes({"generation": link.generation, "lanes": link.lanes}):
        on = replace(link, flit_mode=None, **new)  # type: ignore[arg-type]
        after = _times(access, core, bar, on).core_ns.usual
        yield replace(found, before=before, after=after, unit="ns")
    newer = PRESENT_DAY[5]
    if core.name != newer:
        yield change(f"the core {newer}", "host", "processor", access, model.load_core(newer))


def _bars(value: float, is_measured: bool, times: model.AccessTimes, helpful: list[Change]) -> Iterator[Bar]:
    yield Bar("measured" if is_measured else "modelled", value, "value")
    if is_measured:
        yield Bar(times.bound, times.core_ns.usual, "bound")
    for change in helpful[:_SHOWN]:
        yield Bar(change.what, change.after, "change")
