"""Judge a question: the bound first, then what others measured, then what may be wrong.

A name of a device or processor that nothing here knows is said, never dropped: it is known if its kind of device
is, or if a published figure has one of its words.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from pcielab._core import Width
from pcielab.analysis.normal.answer import Normal, Verdict
from pcielab.analysis.normal.bound import Bound, bounds, raw_rate
from pcielab.analysis.normal.causes import Candidate, candidates, maker_of
from pcielab.analysis.normal.comparable import (
    LEAST_SOURCES,
    ROUNDED,
    Comparable,
    Elsewhere,
    elsewhere,
    few,
    usual_call,
)
from pcielab.kinds.question import (
    LINE_RATE,
    Question,
    digits,
    kind_of,
    links_of_board,
    share_text,
)
from pcielab.library.alike import alike
from pcielab.library.figure_words import ENGINES, WHATS
from pcielab.library.packet_rates import rate_of_name
from pcielab.library.protocols import PROTOCOLS
from pcielab.library.published_figures import published_figures
from pcielab.library.usual_link import USUAL_MPS_BYTES
from pcielab.wording import byte_size, shown, time_text

_WORD = re.compile(r"[a-z0-9][\w.+-]{2,}", re.ASCII)
_UNUSED = {
    "device": "it says nothing about line or kind, and devices of all kinds that fit are compared",
    "processor": "figures are compared whatever their processor",
}


def unknown_names(question: Question) -> Iterator[str]:
    """A sentence on each name of a question that is not known, with names that resemble it."""
    figures = published_figures().values()
    known_device = kind_of(question.device, None) or links_of_board(question.device)
    for what, name, known, names in (
        ("device", question.device, known_device, (figure.device for figure in figures)),
        ("processor", question.cpu, maker_of(question.cpu), (figure.cpu for figure in figures)),
    ):
        if known is not None or not name.strip():
            continue
        spelled = {word: whole for text in names for word, whole in _words(text).items()}
        asked = _words(name)
        if not asked.keys() & spelled.keys():
            near = [spelled[word] for one in asked for word in alike(one, spelled, most=1)]
            hint = f" (did you mean {near[0]}?)" if near else ""
            yield f"No {what} like {shown(name)} is known{hint}: {_UNUSED[what]}."


def _words(text: str) -> dict[str, str]:
    """The words of a name in small letters, each with its spelling, without a line rate."""
    plain = LINE_RATE.sub(" ", text)
    return {word.lower(): word for word in re.split(r"[\s,()]+", plain) if _WORD.fullmatch(word.lower())}


_CAUSES_NAMED = 3
_LEAST_PAYLOAD_BYTES = 128
_CARRIERS = {
    "wire": "link can carry",
    "line": "NIC's line can carry",
    "packets": "NIC is specified to process",
    "in flight": "bytes in flight can reach",
    "slots-to-memory": "flits to memory can carry",
    "slots-from-memory": "flits from memory can carry",
    "memory-bus": "memory behind CXL can move",
    "memory-banks": "banks behind CXL can serve",
}
_OTHERS = {
    "wire": "another link",
    "line": "another line rate",
    "packets": "another NIC",
    "in flight": "a shorter round trip",
    "slots-to-memory": "another share of reads",
    "slots-from-memory": "another share of reads",
    "memory-bus": "more or faster channels of memory",
    "memory-banks": "more banks",
}
"""What else explains a value above a bound, by the bound's name."""


def judge(question: Question, origin: str = "") -> Normal:
    """The answer to a question whose values are possible."""
    found = bounds(question, usual_call(question.source_key))
    usual = elsewhere(question) if found or question.is_time else None
    ratio = _ratio(question, found, usual)
    verdict = _verdict(question, found, usual)
    low = verdict == "low" and usual is not None and ratio is not None
    if low and usual is not None and ratio is not None:
        measure = question.value.plain if question.is_time else ratio
        causes = candidates(question, measure, usual)
    else:
        causes = []
    figures = usual.figures if usual else tuple(few(question))
    sentences = _sentences(question, found, ratio, usual, figures, verdict, causes)
    sentences += _stated_messages(question)
    if not origin:  # the names are the asker's
        sentences += unknown_names(question)
    return Normal(
        question=question,
        verdict=verdict,
        sentences=tuple(sentences),
        bounds=tuple(found),
        ratio=ratio,
        elsewhere=usual,
        figures=_nearest_first(question, figures),
        causes=tuple(causes),
        missing=_missing(question, found),
        origin=origin,
    )


def _stated_messages(question: Question) -> Iterator[str]:
    """What a vendor states of messages, beside a rate of packets that it does not bound."""
    is_packets = question.what == "iops" and question.kind == "nic" and question.value.unit.endswith("pps")
    stated = rate_of_name(question.device) if is_packets else None
    if stated is not None and stated.counts == "messages":
        yield f"{stated.words}; that is no bound of frames, whose rate few have published."


def _ratio(question: Question, found: list[Bound], usual: Elsewhere | None) -> float | None:
    if question.is_time:
        return question.value.plain / usual.median if usual else None
    return question.value.plain / found[0].value if found else None


def _verdict(question: Question, found: list[Bound], usual: Elsewhere | None) -> Verdict:
    value = question.value.plain
    if question.is_time:
        if usual is None:
            return "nothing to compare with"
        return "low" if value > usual.high else "high" if value < usual.low else "normal"
    raw = raw_rate(question)
    if raw is not None and value > raw:
        return "impossible"
    hard = [bound for bound in found if bound.name != "call"]
    if hard and value > hard[0].value * ROUNDED:
        return "above the bound"
    if usual is None or not found:
        return "nothing to compare with"
    ratio = value / found[0].value
    return "low" if ratio < usual.low else "high" if ratio > usual.high * ROUNDED else "normal"


def _sentences(
    question: Question,
    found: list[Bound],
    ratio: float | None,
    usual: Elsewhere | None,
    figures: tuple[Comparable, ...],
    verdict: Verdict,
    causes: list[Candidate],
) -> list[str]:
    first = _bound_sentence(question, found, ratio)
    if verdict == "impossible":
        raw = raw_rate(question) or 0.0
        return [
            first,
            f"The value is above the raw rate of the link, {question.value.text(raw)}: check unit and link.",
        ]
    if verdict == "above the bound":
        return [first, _above(question, found)]
    second = _elsewhere_sentence(question, found, usual, figures, verdict)
    return [first, second, *([_causes_sentence(causes)] if verdict == "low" else [])]


def _bound_sentence(question: Question, found: list[Bound], ratio: float | None) -> str:
    value = question.value
    given = f"{digits(value.number)} {value.unit}".strip()
    if not found:
        return f"No bound can be computed for {given}: give the link with --link, for example gen5x16."
    bound = found[0]
    assumed = f" ({bound.assumed})" if bound.assumed else ""
    if question.is_time and bound.name == "unloaded":
        part = value.text(bound.value)
        return (
            f"The expander alone takes {part} of {given}: {bound.because}{assumed}; the host's part comes on top."
        )
    if question.is_time:
        return f"The wire alone takes {value.text(bound.value)} of {given}: {bound.because}."
    is_packets = question.what == "iops" and value.unit.endswith("pps")
    moved = "packets a second" if is_packets else WHATS[question.what]
    allows = f"{moved}: {bound.because} allow{'' if bound.name == 'in flight' else 's'}"
    part = share_text(question.value.plain / bound.value)
    return f"{allows[0].upper()}{allows[1:]} {value.text(bound.value)}{assumed}; {given} is {part} of it."


def _above(question: Question, found: list[Bound]) -> str:
    hard = next(bound for bound in found if bound.name != "call")
    excess = 100 * (question.value.plain / hard.value - 1)
    reasons = ["GB for GiB (7 %)", "a sum of both directions", _OTHERS[hard.name]]
    if question.kind == "expander" and question.width is None:
        reasons.insert(0, "a link other than the assumed one (give --link)")
    if hard.name == "wire" and question.mps_bytes is None and question.engine != "core":
        reasons.insert(0, f"an MPS above {USUAL_MPS_BYTES} B")
    listed = f"{', '.join(reasons[:-1])} or {reasons[-1]}"
    return f"The value is {excess:.1f} % above what the {_CARRIERS[hard.name]}: look for {listed}."


def _elsewhere_sentence(
    question: Question,
    found: list[Bound],
    usual: Elsewhere | None,
    figures: tuple[Comparable, ...],
    verdict: Verdict,
) -> str:
    if not found and not question.is_time:
        return "There is nothing to compare with: others' values count as shares of their bounds."
    if usual is None:
        sources = len({one.figure.source_key for one in figures})
        have = f"{sources} of the {LEAST_SOURCES} sources that a comparison needs" if sources else "no source"
        return f"There is nothing to compare with: {have} measured the same on a known link."
    who = f"{usual.sources} sources, {_years(usual)}"
    if question.is_time:
        text = question.value.text
        span = f"{text(usual.low)} to {text(usual.high)}, median {text(usual.median)}"
        word = {"low": "long", "high": "short"}.get(verdict, "normal")
        return f"Elsewhere it takes {span} ({who}): this value is {word}."
    text = question.value.text
    at = found[0].value
    span = (
        f"{share_text(usual.low)} to {share_text(usual.high)} of the bound, "
        f"{text(usual.low * at)} to {text(usual.high * at)} here"
    )
    return f"Elsewhere values are {span} (median {usual.median:.2f}; {who}): this one is {verdict}."


def _years(usual: Elsewhere) -> str:
    years = sorted(digits_of for one in usual.figures if (digits_of := one.figure.source_year[-4:]).isdecimal())
    links = sorted({generation for one in usual.figures if (generation := one.question.generation)})
    generations = f"Gen{links[0]} to Gen{links[-1]}, " if len(links) > 1 else f"Gen{links[0]}, " if links else ""
    return f"{generations}{years[0]} to {years[-1]}" if years else generations.rstrip(", ")


def _causes_sentence(causes: list[Candidate]) -> str:
    if not causes:
        return "No known cause has a measured effect of this size."
    named = [f"{one.title[0].lower()}{one.title[1:]} ({one.effect})" for one in causes[:_CAUSES_NAMED]]
    more = f"; {len(causes) - _CAUSES_NAMED} more in the table" if len(causes) > _CAUSES_NAMED else ""
    return f"Check {'; '.join(named)}{more}."


def _missing(question: Question, found: list[Bound]) -> dict[str, str]:
    """What would narrow the answer."""
    missing: dict[str, str] = {}
    if question.width is None:
        links = links_of_board(question.device) or links_of_board(question.cpu)
        slot = f"; a slot of this board is {links}" if links else ""
        missing["--link"] = f"without it there is no bound of the wire{slot}"
    if question.what == "interrupt":
        return missing
    if question.kind == "expander":
        return _missing_of_expander(question, missing)
    if question.engine is None:
        missing["--engine"] = f"{', '.join(ENGINES)} differ; all are pooled"
    if question.kind is None and question.engine in (None, "dma") and not question.device:
        missing["--device"] = "NICs, drives and FPGAs differ; all are pooled"
    if question.kind == "nic" and question.line_gbps is None:
        missing["--line"] = "the line may bind before the link"
    elif (
        question.kind == "nic"
        and question.protocol is None
        and _moves_payload(question)
        and question.what != "iops"
    ):
        missing["--protocol"] = _protocol_reason()
    if question.mps_bytes is None and isinstance(question.width, Width) and _moves_payload(question):
        missing["--mps"] = _payload_reason(question)
    is_packets = question.what == "iops" and question.value.unit.endswith("pps")
    if is_packets:
        missing["flows and cores"] = "packets of one flow meet one queue and one core, which no bound here counts"
    elif question.completion is None and question.what in ("latency", "iops") and question.engine == "dma":
        missing["--completion"] = "polling and interrupts differ; both are pooled"
    if question.size_bytes is None and not question.is_time:
        missing["--size"] = "small transfers pay for each call or packet"
    elif question.size_bytes and question.depth and question.round_trip_ns is None and not question.is_time:
        missing["--rtt-ns"] = _round_trip_reason(question)
    return missing


def _missing_of_expander(question: Question, missing: dict[str, str]) -> dict[str, str]:
    if "--link" in missing and question.expander is not None:
        link = question.expander[0].link
        missing["--link"] = f"Gen{link.generation} x{link.lanes} of {question.expander[0].name} is assumed"
    if question.what == "both" and question.read_share is None:
        missing["--reads"] = "as many reads as writes are assumed; the mix decides which direction is full first"
    return missing


def _moves_payload(question: Question) -> bool:
    is_small = question.what == "iops" and (question.size_bytes or 0) <= _LEAST_PAYLOAD_BYTES
    return question.engine != "core" and not question.is_time and not is_small


def _protocol_reason() -> str:
    tcp, roce = (100 * (1 - PROTOCOLS[word].share(mtu)) for word, mtu in (("tcp", None), ("roce", 1024)))
    return f"headers take a part of the line: {tcp:.0f} % of TCP with MTU 1500, {roce:.0f} % of RoCE with MTU 1024"


def _payload_reason(question: Question) -> str:
    wire = [
        question.value.text(bound.value)
        for mps in (128, 512)
        for bound in bounds(replace(question, mps_bytes=mps), None)
        if bound.name == "wire"
    ]
    return (
        f"the wire allows {' at 128 B, '.join(wire)} at 512 B"
        if len(set(wire)) == 2
        else "it sets the bound of the wire"
    )


def _round_trip_reason(question: Question) -> str:
    size, depth = question.size_bytes or 0, question.depth or 0
    rate = question.value.plain if question.what != "iops" else question.value.plain * size / 1e9
    trip = time_text(depth * size / rate)
    return f"{depth} x {byte_size(size)} in flight give this value with a round trip of {trip}"


def _nearest_first(question: Question, figures: tuple[Comparable, ...]) -> tuple[Comparable, ...]:
    """The figures of the same device or processor first, otherwise by ratio."""
    words = {word for text in (question.device, question.cpu) for word in text.lower().split()}

    def far(one: Comparable) -> tuple[int, float]:
        have = f"{one.figure.device} {one.figure.cpu}".lower().split()
        return (-len(words & set(have)), one.ratio)

    return tuple(sorted(figures, key=far))
