"""Causes of a low value: those with a measured effect of its size, and links and payloads that fit it.

A cause that what is known of the machine rules out is not named. The others are ranked by how well their measured
effect matches the loss, and by how much the machine of the effect resembles the asker's.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from pcielab._core import LANES, LINE_RATES_GBPS, SPEEDS_GTPS, Width
from pcielab.analysis.normal.bound import raw_rate
from pcielab.analysis.normal.comparable import ROUNDED, Elsewhere, question_of, ratio_of
from pcielab.kinds.question import Question
from pcielab.library.causes import causes
from pcielab.library.published_figures import PublishedFigure, published_figures
from pcielab.library.usual_link import USUAL_MPS_BYTES, USUAL_ROUND_TRIPS_NS, usual_mrrs_bytes

UNKNOWN = "?"
"""The cause of a value that its source calls low and cannot explain."""
_NEAR = 1.5
"""How far an effect may be from those that were measured elsewhere: in what is lost, and in what is left."""
_LEAST_MPS_BYTES = 128
_LEAST_LINE_GBPS = 10.0
_LINE_SHARE = 0.85
"""Least share of a line that makes a value one of that line."""
_SLOWER_SHOWN = 3
_MOST_READS = 64
"""Reads in flight of a small design; engines with more are seldom short of them."""
_MATCH_STEP = 0.1
"""Effects whose distances from the loss differ by less match alike: their machines decide."""
_MAKERS = {
    "AMD": r"\bamd\b|epyc|ryzen|threadripper|opteron",
    "Intel": r"\bintel\b|xeon|\bcore i\d|\bcore ultra",
    "Arm": r"\barm\b|grace|neoverse|graviton|ampere|altra|\bbcm2\d{3}|rk3\d{3}|\bgb10\b|raspberry|jetson",
}
"""Makers of processors by the words of their names."""


@dataclass(frozen=True)
class Candidate:
    """A cause that is worth a check.

    Attributes:
        key: An ID of `causes.toml`, as D01.
        title: What it is.
        effect: Its effect, measured or computed, in words.
        measured: Whether the effect was measured elsewhere (else it is computed).
        check: How to check it.
        ids: Figures that show the effect.
    """

    key: str
    title: str
    effect: str
    measured: bool
    check: str
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Effect:
    figure: PublishedFigure
    question: Question
    factor: float


def candidates(question: Question, ratio: float, usual: Elsewhere) -> list[Candidate]:
    """What would make a usual value as low as this one: computed causes, then measured ones by likelihood."""
    return [
        *_line(question, usual),
        *_too_few_reads(question),
        *_slower_links(question, usual),
        *_smaller_payload(question, ratio, usual),
        *_measured(question, ratio, usual),
    ]


def _measured(question: Question, ratio: float, usual: Elsewhere) -> list[Candidate]:
    factor = usual.median / ratio if question.is_time else ratio / usual.median
    found: dict[str, list[_Effect]] = defaultdict(list)
    for effect in _effects():
        own = effect.figure.source_key == question.source_key
        if not own and _applies(effect.question, question) and not _is_ruled_out(effect.figure.cause, question):
            found[effect.figure.cause].append(effect)
    known = causes()
    result: list[tuple[tuple[int, int, str, str], Candidate]] = []
    for key, effects in found.items():
        low, high = min(one.factor for one in effects), max(one.factor for one in effects)
        if _is_near(factor, low, high) and key in known:
            ids = tuple(one.figure.id for one in effects)
            span = f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"
            cost = f"{span} of the value without it"
            rank = (_mismatch(factor, low, high), -_likeness(effects, question), known[key].grade, key)
            result.append((rank, Candidate(key, known[key].title, cost, True, known[key].check, ids)))
    return [candidate for _, candidate in sorted(result, key=lambda one: one[0])]


def _is_ruled_out(cause: str, question: Question) -> bool:
    """Whether the question names a processor or an engine that cannot have the cause."""
    known = causes().get(cause)
    if known is None:
        return False
    maker = maker_of(question.cpu)
    other_maker = maker is not None and known.maker not in ("", maker)
    return other_maker or (question.engine is not None and known.not_engine == question.engine)


def maker_of(cpu: str) -> str | None:
    """The maker of a processor by the words of its name; None if they do not say."""
    for maker, words in _MAKERS.items():
        if re.search(words, cpu, re.IGNORECASE | re.ASCII):
            return maker
    return None


def _mismatch(factor: float, low: float, high: float) -> int:
    """How far a loss is from those measured, in steps."""
    away = max(math.log(low / factor), math.log(factor / high), 0.0)
    return round(away / _MATCH_STEP)


def _likeness(effects: list[_Effect], question: Question) -> int:
    """The most that a machine of these effects has in common with the asker's."""
    maker = maker_of(question.cpu)
    words = set(question.device.lower().split())
    return max(
        (one.question.what == question.what)
        + (one.question.kind == question.kind)
        + bool(words & set(one.question.device.lower().split()))
        + (maker is not None and maker_of(one.question.cpu) == maker)
        + (question.generation is not None and one.question.generation == question.generation)
        for one in effects
    )


def _is_near(factor: float, low: float, high: float) -> bool:
    """Whether a factor is like those from low to high, by what it leaves and by what it takes."""
    lost, least, most = 1 - factor, 1 - high, 1 - low
    return low / _NEAR <= factor <= high * _NEAR and least / _NEAR <= lost <= most * _NEAR


def _applies(effect: Question, question: Question) -> bool:
    """Whether an effect on one question says something about another."""
    if effect.is_time != question.is_time:
        return False
    if (effect.moved == "p2p") != (question.moved == "p2p"):
        return False
    same_engine = question.engine is None or effect.engine == question.engine
    same_kind = question.kind is None or effect.kind == question.kind
    return same_engine and same_kind and (not effect.state or effect.state != question.state)


@cache
def _effects() -> tuple[_Effect, ...]:
    """The measured effects of causes: each figure with a cause over the one without it."""
    figures = published_figures()
    found = []
    for figure in figures.values():
        asked = question_of(figure)
        if not figure.cause or figure.cause == UNKNOWN or not figure.against or asked is None:
            continue
        other = figures.get(figure.against)
        without = _plain(other) if other else float(figure.against) * asked[1].value.scale
        if without:
            factor = asked[1].value.plain / without
            found.append(_Effect(figure, asked[1], 1 / factor if asked[1].is_time else factor))
    return tuple(one for one in found if one.factor < 1)


def _plain(figure: PublishedFigure) -> float | None:
    asked = question_of(figure)
    return asked[1].value.plain if asked else None


def _line(question: Question, usual: Elsewhere) -> Iterator[Candidate]:
    """The line of a NIC, if nobody gave it and the value is a usual share of a usual one."""
    if question.kind != "nic" or question.line_gbps is not None or question.is_time:
        return
    for line_gbps in (rate for rate in LINE_RATES_GBPS if rate >= _LEAST_LINE_GBPS):
        ratio = ratio_of(replace(question, line_gbps=line_gbps))
        if ratio is not None and max(usual.low, _LINE_SHARE) <= ratio <= ROUNDED:
            how = f" with {question.protocol.words(question.mtu_bytes)}" if question.protocol else ""
            effect = f"usual for a line of {line_gbps:g} Gb/s{how}: {ratio:.2f} of it"
            yield Candidate("line", "The line binds, not the link", effect, False, "the port's rate: give --line")
            return


def _too_few_reads(question: Question) -> Iterator[Candidate]:
    """Reads in flight that give the value over a usual round trip, if they are as few as small designs have."""
    if (
        question.what != "h2d"
        or question.engine != "dma"
        or question.kind not in (None, "fpga", "accelerator")
        or question.depth is not None
        or question.memory != "host"
        or not isinstance(question.width, Width)
    ):
        return
    request_bytes = usual_mrrs_bytes(question.mps_bytes or USUAL_MPS_BYTES)
    if question.size_bytes is not None:
        request_bytes = min(request_bytes, question.size_bytes)
    rate = question.value.plain / question.width.links
    few, many = (round(rate * time_ns / request_bytes) for time_ns in USUAL_ROUND_TRIPS_NS)
    if not 1 <= few <= many <= _MOST_READS:
        return
    cause, (idle_ns, loaded_ns) = causes()["D17"], USUAL_ROUND_TRIPS_NS
    effect = f"{few} to {many} reads of {request_bytes} B in flight give this in {idle_ns} to {loaded_ns} ns"
    yield Candidate("D17", cause.title, effect, False, f"{cause.check}; give --depth, --size and --rtt-ns")


def _slower_links(question: Question, usual: Elsewhere) -> Iterator[Candidate]:
    """Links with less rate, on which the value would be a usual one: narrower or of an earlier generation."""
    # Where usual values differ by more than two, half of the link would be usual, too.
    if not isinstance(question.width, Width) or question.is_time or usual.high > 2 * usual.low:
        return
    fitting: dict[float, list[Width]] = defaultdict(list)
    for width in _slower(question.width):
        slower = replace(question, width=width)
        ratio, raw = ratio_of(slower), raw_rate(slower)
        if ratio is not None and raw is not None and usual.low <= ratio <= usual.high:
            fitting[round(raw, 3)].append(width)
    if not fitting:
        return
    cause = causes()["D01"]
    links = [width for widths in fitting.values() for width in widths][:_SLOWER_SHOWN]
    ratio = ratio_of(replace(question, width=links[0])) or 0.0
    words = " or ".join(str(width) for width in links)
    yield Candidate("D01", cause.title, f"usual for {words}: {ratio:.2f} of its bound", False, cause.check)


def _slower(width: Width) -> Iterator[Width]:
    """Links of half the rate and less, the fastest first; those next to the given one first."""
    slower = [
        Width(generation, lanes, width.links)
        for generation in range(1, len(SPEEDS_GTPS) + 1)
        for lanes in LANES
        if generation <= width.generation and lanes <= width.lanes and lanes not in (12, 32)
    ]
    below = [one for one in slower if one.raw_gbps < width.raw_gbps]
    return iter(sorted(below, key=lambda one: (-one.raw_gbps, abs(one.lanes - width.lanes))))


def _smaller_payload(question: Question, ratio: float, usual: Elsewhere) -> Iterator[Candidate]:
    if (
        question.mps_bytes is not None
        or not isinstance(question.width, Width)
        or question.is_time
        or question.what == "iops"
    ):
        return
    least = ratio_of(replace(question, mps_bytes=_LEAST_MPS_BYTES))
    if least is None or least <= ratio or not usual.low <= least <= usual.high:
        return
    cause = causes()["D10"]
    instead = f"{_LEAST_MPS_BYTES} B instead of {USUAL_MPS_BYTES} B"
    effect = f"usual with MPS {instead}: {least:.2f} of that bound"
    yield Candidate("D10", cause.title, effect, False, cause.check)
