"""What others measured: ratios of published figures to their own bounds, the closest figures first.

Figures of the same generation, direction, engine, kind and condition are compared if three sources have any; else
those of both directions, and of all generations. A NIC whose line is known is compared with others of known line:
their ratios are to lines, which bind before links. A figure whose source names a cause of a low value, and one
above its own bound, is no standard. Rows of one source count as one.
"""

import math
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from pcielab._core import Tunnel, Width
from pcielab.analysis.normal.bound import Call, bounds
from pcielab.analysis.normal.spread import spread_of, usual_range
from pcielab.kinds.asked_expander import USUAL, usual_on
from pcielab.kinds.question import COUNTS, RATES, TIMED, TIMES, Question, Value, What, read_carrier
from pcielab.library.expanders import load_expander
from pcielab.library.published_figures import PublishedFigure, published_figures

if TYPE_CHECKING:
    from pcielab.library.expanders import ExpanderProfile

LEAST_SOURCES = 3
"""With fewer, there is nothing to compare with."""
ROUNDED = 1.005
"""A published value may exceed its bound by its rounding."""
_CALL_SHARE = 0.05
"""Share of the time of a copy from which the cost of a call matters."""
_SMALL_BYTES = 1024
"""Below it, headers, descriptors and packets matter, not only the bound of the payload."""
_FAST_MEDIUM = re.compile(r"optane|\bp[45]8\d\dx\b|z-ssd|\bslc\b|dram", re.IGNORECASE)
_Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class Comparable:
    """A published figure, its question, and the ratio to its own bound (of a latency, the time in ns)."""

    figure: PublishedFigure
    question: Question
    ratio: float


@dataclass(frozen=True)
class Elsewhere:
    """Where the next source would lie.

    Attributes:
        low: Ratio, or time in ns, below which a value is out of the ordinary.
        median: The median of the sources.
        high: Above which it is.
        sources: Number of sources.
        figures: The figures, by ratio.
        pooled: What was pooled beyond figures of the same generation and direction, in words; empty: nothing.
    """

    low: float
    median: float
    high: float
    sources: int
    figures: tuple[Comparable, ...]
    pooled: str = ""


@cache
def usual_call(without: str = "") -> Call | None:
    """The usual cost of a call of copy engines.

    Args:
        without: Key of a source whose figures do not count: that of the value itself.
    """
    rows = [
        figure
        for figure in published_figures().values()
        if (figure.what, figure.engine) == ("latency", "copy") and figure.source_key != without
    ]
    if not rows:
        return None
    times = [figure.value * TIMES[figure.unit] for figure in rows]
    return Call(statistics.median(times), tuple(figure.id for figure in rows))


def elsewhere(question: Question) -> Elsewhere | None:
    """What comparable figures say; None if fewer than three sources have any."""
    for same, pooled in _LADDER:
        found = _of_key(question, same)
        if len({one.figure.source_key for one in found}) >= LEAST_SOURCES:
            return _with_free_condition(question, _range(question, found, same, pooled))
    return None


def _with_free_condition(question: Question, usual: Elsewhere) -> Elsewhere:
    """The range of a condition, to the good end of that without it: a condition may cost nothing."""
    without = elsewhere(replace(question, state="")) if question.state else None
    if without is None:
        return usual
    if question.is_time:
        return replace(usual, low=min(usual.low, without.low))
    return replace(usual, high=max(usual.high, without.high))


def few(question: Question) -> list[Comparable]:
    """The closest figures, however few."""
    return next((found for same, _ in _LADDER if (found := _of_key(question, same))), [])


@cache
def comparables() -> tuple[Comparable, ...]:
    """All figures that are a standard for others."""
    found = (question_of(figure) for figure in published_figures().values() if not _faulty(figure))
    return tuple(one for question in found if question and (one := _with_ratio(*question)))


def question_of(figure: PublishedFigure) -> tuple[PublishedFigure, Question] | None:
    """The question that a figure answers; None if it answers none."""
    value = _value(figure) if figure.what else None
    if value is None:
        return None
    depth = figure.queue_depth
    return figure, Question(
        what=_what(figure.what),
        value=value,
        width=read_carrier(figure.question_link, "question_link") if figure.question_link else None,
        engine=figure.engine or None,  # type: ignore[arg-type]
        kind=figure.kind or None,  # type: ignore[arg-type]
        size_bytes=figure.size_bytes,
        depth=int(depth) if depth.isdecimal() else None,
        mps_bytes=figure.mps_bytes,
        line_gbps=figure.line_gbps,
        state=figure.state,
        completion=figure.completion or None,  # type: ignore[arg-type]
        device=figure.device,
        cpu=figure.cpu,
        source_key=figure.source_key,
        read_share=figure.read_share,
        expander=_expander_of(figure),
    )


def _expander_of(figure: PublishedFigure) -> "tuple[ExpanderProfile, str] | None":
    """The expander whose bounds apply to a figure: the usual one, on the link of the figure if that is known."""
    if figure.kind != "expander":
        return None
    carrier = read_carrier(figure.question_link, "question_link") if figure.question_link else None
    if isinstance(carrier, Width):
        return usual_on(carrier.generation, carrier.lanes), ""
    return load_expander(USUAL), ""


def _value(figure: PublishedFigure) -> Value | None:
    """The figure with its unit; of a loss in per cent, what is left of the figure that it is against."""
    if figure.unit == "%" and figure.against in (figures := published_figures()):
        without = _value(figures[figure.against])
        return without and replace(without, number=without.number * (1 - figure.value / 100))
    units = TIMES if figure.what in TIMED else RATES if figure.what != "iops" else COUNTS
    return Value(figure.value, figure.unit, units[figure.unit]) if figure.unit in units else None


def ratio_of(question: Question) -> float | None:
    """The value over the least bound; of a latency, the time itself; None without a bound."""
    if question.is_time:
        return question.value.plain
    found = bounds(question, usual_call(question.source_key))
    return question.value.plain / found[0].value if found else None


def is_small(question: Question) -> bool:
    """Whether a transfer is so small that costs of calls or packets matter."""
    size = question.size_bytes
    if not size or question.is_time or question.kind == "expander":
        return False
    if question.engine == "copy":
        call, found = usual_call(question.source_key), bounds(question, None)
        return bool(call and found and call.cost_ns * found[0].value > _CALL_SHARE * size)
    return size < _SMALL_BYTES


def _what(word: str) -> What:
    return word  # type: ignore[return-value]


def _faulty(figure: PublishedFigure) -> bool:
    """Whether a source calls its own value low for a cause that is no condition of the question."""
    return bool(figure.cause) and not figure.state and not _measures_the_engine(figure)


def _measures_the_engine(figure: PublishedFigure) -> bool:
    """Kernels beside copy engines: another engine is no fault of the machine."""
    return figure.cause == "D16" and figure.engine == "kernel"


def _with_ratio(figure: PublishedFigure, question: Question) -> Comparable | None:
    ratio = ratio_of(question)
    if ratio is None or (not question.is_time and ratio > ROUNDED):
        return None
    return Comparable(figure, question, ratio if question.is_time else min(ratio, 1.0))


_ONE_WAY = {"h2d": "one way", "d2h": "one way"}


def _same_kind(question: Question) -> _Key:
    return (*_same_device(question), question.moved)


def _same_engine(question: Question) -> _Key:
    # Of an expander, a rate is over the bound of its mix of reads and writes.
    if question.kind == "expander" and not question.is_time:
        return (*_same_device(question), "both")
    # A core's stores are combined and posted, its loads are not: their ratios are hundreds apart.
    way = question.what if question.engine == "core" else _ONE_WAY.get(question.moved, question.moved)
    return (*_same_device(question), way)


def _same_device(question: Question) -> _Key:
    return (
        *(question.engine, question.kind, question.state, question.completion, is_small(question)),
        *(_has_fast_medium(question), isinstance(question.width, Tunnel), question.kind == "expander"),
    )


def _has_fast_medium(question: Question) -> bool | None:
    """Whether a drive has a memory that reads in microseconds, or flash, which takes tens; None: unknown."""
    if question.what != "latency" or question.kind != "nvme" or not question.device:
        return None
    return bool(_FAST_MEDIUM.search(question.device))


def _whatever_kind(question: Question) -> _Key:
    """A core's loads take a round trip, and an IOMMU's misses cost the same, whatever kind of device it is."""
    if question.state == "iommu" and question.what in _ONE_WAY:
        return (question.engine, question.state, is_small(question))
    if question.what == "latency" and question.engine == "core":
        is_expander = question.kind == "expander"
        return (question.what, question.engine, question.state, isinstance(question.width, Tunnel), is_expander)
    return (question.source_key, question.kind, question)


def _in_generation(same: Callable[[Question], _Key]) -> Callable[[Question], _Key]:
    return lambda question: (*same(question), question.generation)


def _of_lines(same: Callable[[Question], _Key]) -> Callable[[Question], _Key]:
    return lambda question: (*same(question), question.line_gbps is not None or None)


_LADDER: tuple[tuple[Callable[[Question], _Key], str], ...] = (
    (_of_lines(_in_generation(_same_kind)), ""),
    (_of_lines(_in_generation(_same_engine)), "both directions"),
    (_of_lines(_same_kind), "all generations"),
    (_of_lines(_same_engine), "both directions, all generations"),
    (_same_engine, "both directions, all generations, known and unknown lines"),
    (_whatever_kind, "all kinds of devices"),
)
"""Keys of comparable figures, the closest first; an engine or kind that is not given matches every one. The maker
of a GPU is no key: with it, more standards are called low, and no more losses."""


def _of_key(question: Question, same: Callable[[Question], _Key]) -> list[Comparable]:
    wanted = same(question)
    return [
        one
        for one in comparables()
        if one.figure.source_key != question.source_key and _matches(wanted, same(one.question))
    ]


def _matches(wanted: _Key, found: _Key) -> bool:
    return all(want is None or want == have for want, have in zip(wanted, found, strict=True))


def _range(
    question: Question, found: list[Comparable], same: Callable[[Question], _Key], pooled: str
) -> Elsewhere:
    logs = _of_sources(found)
    is_time = question.is_time
    low, middle, high = usual_range(logs, _related_spread(question, same), low_is_bad=not is_time)
    return Elsewhere(
        low=math.exp(low),
        median=math.exp(middle),
        high=math.exp(high) if is_time else min(math.exp(high), 1.0),
        sources=len(logs),
        figures=tuple(sorted(found, key=lambda one: one.ratio)),
        pooled=pooled,
    )


def _of_sources(found: Iterable[Comparable]) -> list[float]:
    """The logarithm of each source's median."""
    sources: dict[str, list[float]] = defaultdict(list)
    for one in found:
        sources[one.figure.source_key].append(math.log(one.ratio))
    return [statistics.median(values) for values in sources.values()]


def _related_spread(question: Question, same: Callable[[Question], _Key]) -> float | None:
    """The spread within kinds of related figures, without the asker's own source; None if there are too few."""
    kinds: dict[_Key, list[Comparable]] = defaultdict(list)
    for one in comparables():
        if one.figure.source_key != question.source_key and _is_related(one.question, question):
            known = one.question if question.completion else replace(one.question, completion=None)
            kinds[same(known)].append(one)
    groups = [logs for members in kinds.values() if len(logs := _of_sources(members)) >= LEAST_SOURCES]
    return spread_of(groups) if groups else None


def _is_related(figure: Question, question: Question) -> bool:
    """Whether figures have a like spread. Under a condition, such as an IOMMU, they differ most."""
    return bool(figure.state) if question.state else _relation(figure) == _relation(question)


def _relation(question: Question) -> str:
    """Copy engines one way, whatever else GPUs do, the DMA of NICs and drives, of FPGA designs, and so on."""
    if question.is_time or question.what == "iops":
        return question.what
    if question.kind == "expander":
        return "expanders"
    if question.engine == "core":
        return "cores"
    if question.engine == "copy" and question.what in _ONE_WAY:
        return "copies one way"
    if question.kind in ("nic", "nvme"):
        return "NICs and drives"
    return "GPUs" if question.kind == "gpu" else "others"
