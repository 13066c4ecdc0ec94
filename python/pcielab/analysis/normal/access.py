"""Judge loads, stores and doorbells of a core: by the intervals of its profile and of the device's.

A core is chosen by the processor's name or the link's generation, a BAR by the device's name. A load is a round
trip; stores run at the pace of the slowest step, and copies that are shorter than the queues at that of the core.
"""

from dataclasses import dataclass

from pcielab import model
from pcielab._core import Width
from pcielab.analysis.normal.answer import Normal, Verdict
from pcielab.analysis.normal.bound import Bound
from pcielab.kinds.question import Question, digits, share_text
from pcielab.library.cores import bar_for, core_for
from pcielab.library.published_accesses import published_accesses
from pcielab.library.usual_link import USUAL_MPS_BYTES, usual_mrrs_bytes
from pcielab.wording import byte_size

_TOLERANCE = 0.15
"""A value may lie this far outside the interval and still be normal: sources differ by it."""
_PRESENT_GENERATION = 5
_LARGE_BYTES = 1 << 20
_LINE_BYTES = 64
STEPS = {
    "core-stores": "the core's stores",
    "fill-buffers": "its write-combining buffers",
    "uncached-stores": "uncached stores, one at a time",
    "wire-downstream": "the link towards the device",
    "wire-upstream": "the link towards the host",
    "posted-credits": "room for stores at the device",
    "device-drain": "the device, as it takes stores",
    "round-trip": "round trips, one at a time",
    "streaming-lines": "lines of streaming loads in flight",
}
"""What limits a rate, by the bound of the closed form."""


@dataclass(frozen=True)
class _Expected:
    """What the profiles expect: times in ns, or rates in GB/s."""

    least: float
    usual: float
    most: float


def judge_access(question: Question) -> Normal:
    """The answer to a question about loads, stores or a doorbell."""
    width = question.width if isinstance(question.width, Width) else None
    generation, lanes = (width.generation, width.lanes) if width else (_PRESENT_GENERATION, 16)
    mps = question.mps_bytes or USUAL_MPS_BYTES
    link = model.Link(generation=generation, lanes=lanes, mps_bytes=mps, mrrs_bytes=usual_mrrs_bytes(mps))
    core, bar = model.load_core(core_for(question.cpu, generation)), model.load_bar(bar_for(question.device))
    access = _access(question, core)
    [times] = model.mmio(core, bar, [access], link=link)
    expected = _expected(question, access, times)
    verdict = _verdict(question, expected)
    usual = expected.usual
    text = question.value.text
    given = f"{digits(question.value.number)} {question.value.unit}".strip()
    step = STEPS[times.bound]
    who = f"{core.name} to {bar.name} on {link.generation and f'Gen{link.generation} x{link.lanes}'}"
    sentences = [
        f"{_named(access)} take{'' if access.instruction.endswith('s') else 's'} {text(usual)} usually, "
        f"{text(expected.least)} to {text(expected.most)} ({who}); {given} is "
        f"{share_text(question.value.plain / usual)} of it: {_word(verdict, question)}.",
        f"What limits their rate is {step}: {digits(times.gbytes_per_s.usual)} GB/s.",
    ]
    if published := [
        f"{row.id} {digits(row.value)} {row.unit}"
        for row in published_accesses()
        if row.instruction == access.instruction
        and row.is_time == question.is_time
        and bar_for(row.device) == bar.name
        and row.source_key != question.source_key
        and _alike(row.access_bytes, access.size_bytes)
    ]:
        sentences.append(f"Published of sizes like this: {', '.join(published[:6])}.")
    missing = {}
    if question.width is None:
        missing["--link"] = f"Gen{generation} x{lanes} assumed"
    if not question.device:
        missing["--device"] = "a GPU assumed; other devices answer in 0.15 to 1.4 us"
    if not question.cpu:
        missing["--cpu"] = f"{core.name} assumed, by the generation of the link"
    if question.size_bytes is None:
        missing["--size"] = f"{byte_size(access.size_bytes)} assumed"
    return Normal(
        question=question,
        verdict=verdict,
        sentences=tuple(sentences),
        bounds=tuple(_bounds(question, times, expected)),
        ratio=question.value.plain / usual,
        elsewhere=None,
        figures=(),
        causes=(),
        missing=missing,
    )


def _access(question: Question, core: model.CoreProfile) -> model.Access:
    """The access that a question is about."""
    remote = question.state == "remote-socket"
    if question.what == "doorbell":
        return model.Access(
            instruction="doorbell", size_bytes=min(question.size_bytes or 4, _LINE_BYTES), remote=remote
        )
    size = question.size_bytes or (4 if question.is_time else _LARGE_BYTES)
    combines = question.memory_type == "wc" or (question.memory_type is None and size > _LINE_BYTES)
    if question.what == "store":
        if combines:
            return model.Access(instruction="combined-store", size_bytes=size, fenced=True, remote=remote)
        return model.Access(
            instruction="uncached-store", size_bytes=size, width_bytes=_width(size, 8), remote=remote
        )
    if combines and size > _LINE_BYTES:
        return model.Access(instruction="streaming-load", size_bytes=size, remote=remote)
    width = _width(size, core.loads.widest_bytes)
    return model.Access(instruction="uncached-load", size_bytes=size, width_bytes=width, remote=remote)


def _width(size: int, widest: int) -> int:
    """The narrowest power of two that holds a size, up to the widest instruction."""
    return min(1 << (size - 1).bit_length(), widest)


def _expected(question: Question, access: model.Access, times: model.AccessTimes) -> _Expected:
    took = times.core_ns
    if question.is_time:
        return _Expected(took.least, took.usual, took.most)
    size = access.size_bytes
    return _Expected(size / took.most, size / took.usual, size / took.least)


def _verdict(question: Question, expected: _Expected) -> Verdict:
    value = question.value.plain
    if value < expected.least * (1 - _TOLERANCE):
        return "high" if question.is_time else "low"
    if value > expected.most * (1 + _TOLERANCE):
        return "low" if question.is_time else "high"
    return "normal"


def _word(verdict: Verdict, question: Question) -> str:
    if question.is_time:
        return {"low": "long", "high": "short"}.get(verdict, verdict)
    return verdict


def _named(access: model.Access) -> str:
    """An access in words: `Copying 4 KiB by stores to write-combining memory`."""
    size = byte_size(access.size_bytes)
    words = {
        "doorbell": f"A doorbell of {size}",
        "combined-store": f"A copy of {size} by stores to write-combining memory",
        "uncached-store": f"Storing {size} to uncached memory, {access.width_bytes} B at a time,",
        "streaming-load": f"A copy of {size} by streaming loads from write-combining memory",
        "uncached-load": f"Loading {size}, {access.width_bytes} B at a time,",
    }
    return words[access.instruction]


def _bounds(question: Question, times: model.AccessTimes, expected: _Expected) -> list[Bound]:
    if question.is_time:
        because = f"{times.tlps} TLP{'s' if times.tlps != 1 else ''} of {times.width_bytes} B or less"
        return [Bound("access", expected.usual, because)]
    return [Bound(name, rate, STEPS[name]) for name, rate in times.ceilings.items()]


def _alike(one: int, other: int) -> bool:
    """Whether two sizes are within a factor of four."""
    return one <= 4 * other and other <= 4 * one
