"""What others measured: ratios of published figures to their own bounds, and where the next source would lie.

Figures are pooled over generations and widths: ratios agree where rates do not. A figure whose source names a
cause of a low value, and one above its own bound, is no standard. Rows of one source count as one.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from pcielab._core import read_width
from pcielab.analysis.normal.bound import Call, bounds
from pcielab.kinds.question import COUNTS, RATES, TIMES, Question, Value, What
from pcielab.library.published_figures import PublishedFigure, published_figures

LEAST_SOURCES = 3
"""With fewer, there is nothing to compare with."""
_ROUNDED = 1.005
"""A published value may exceed its bound by its rounding."""
_CALL_SHARE = 0.05
"""Share of the time of a copy from which the cost of a call matters."""
_SMALL_BYTES = 1024
"""Below it, headers, descriptors and packets matter, not only the bound of the payload."""
_PRIOR_SOURCES = 1
"""Degrees of freedom that the spread of all kinds of figures has beside the spread of one kind."""
_T90 = (3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372, 1.363, 1.356, 1.350, 1.345, 1.341,
        1.337, 1.333, 1.330, 1.328, 1.325, 1.323, 1.321, 1.319, 1.318, 1.316, 1.315, 1.314, 1.313, 1.311,
        1.310)  # fmt: skip
"""The 90 % points of Student's t with 1 to 30 degrees of freedom."""
_NORMAL90 = 1.2816
_Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class Comparable:
    """A published figure, its question, and the ratio to its own bound (of a latency, the time in ns)."""

    figure: PublishedFigure
    question: Question
    ratio: float


@dataclass(frozen=True)
class Elsewhere:
    """Where the next source would lie, with a chance of 80 %.

    Attributes:
        low: 10 %: ratio, or time in ns.
        median: The median of the sources.
        high: 90 %.
        sources: Number of sources.
        figures: The figures, by ratio.
        pooled: What was pooled beyond figures of the same kind, in words; empty: nothing.
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
            return _interval(question, found, same, pooled)
    return None


def few(question: Question) -> list[Comparable]:
    """The figures of the same kind, however few."""
    return _of_key(question, _LADDER[0][0])


@cache
def comparables() -> tuple[Comparable, ...]:
    """All figures that are a standard for others."""
    found = (question_of(figure) for figure in published_figures().values() if not _faulty(figure))
    return tuple(one for question in found if question and (one := _with_ratio(*question)))


def question_of(figure: PublishedFigure) -> tuple[PublishedFigure, Question] | None:
    """The question that a figure answers; None if it answers none."""
    what = figure.what
    units = TIMES if what == "latency" else RATES if what != "iops" else COUNTS
    if not what or figure.unit not in units:
        return None
    depth = figure.queue_depth
    return figure, Question(
        what=_what(what),
        value=Value(figure.value, figure.unit, units[figure.unit]),
        width=read_width(figure.question_link, "question_link") if figure.question_link else None,
        engine=figure.engine or None,  # type: ignore[arg-type]
        kind=figure.kind or None,  # type: ignore[arg-type]
        size_bytes=figure.size_bytes,
        depth=int(depth) if depth.isdecimal() else None,
        mps_bytes=figure.mps_bytes,
        line_gbps=figure.line_gbps,
        state=figure.state,
        device=figure.device,
        cpu=figure.cpu,
        source_key=figure.source_key,
    )


def ratio_of(question: Question) -> float | None:
    """The value over the least bound; of a latency, the time itself; None without a bound."""
    if question.what == "latency":
        return question.value.plain
    found = bounds(question, usual_call(question.source_key))
    return question.value.plain / found[0].value if found else None


def is_small(question: Question) -> bool:
    """Whether a transfer is so small that costs of calls or packets matter."""
    size = question.size_bytes
    if not size or question.what == "latency":
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
    if ratio is None or (question.what != "latency" and ratio > _ROUNDED):
        return None
    return Comparable(figure, question, ratio if question.what == "latency" else min(ratio, 1.0))


_ONE_WAY = {"h2d": "one way", "d2h": "one way"}


def _same_kind(question: Question) -> _Key:
    state = question.state
    return (question.what, question.engine, question.kind, state, is_small(question))


def _same_engine(question: Question) -> _Key:
    # A core's stores are combined and posted, its loads are not: their ratios are hundreds apart.
    way = question.what if question.engine == "core" else _ONE_WAY.get(question.what, question.what)
    return (way, question.engine, question.kind, question.state, is_small(question))


_LADDER: tuple[tuple[Callable[[Question], _Key], str], ...] = (
    (_same_kind, ""),
    (_same_engine, "both directions"),
)
"""Keys of comparable figures, the closest first; an engine or kind that is not given matches every one."""


def _of_key(question: Question, same: Callable[[Question], _Key]) -> list[Comparable]:
    wanted = same(question)
    return [
        one
        for one in comparables()
        if one.figure.source_key != question.source_key and _matches(wanted, same(one.question))
    ]


def _matches(wanted: _Key, found: _Key) -> bool:
    return all(want is None or want == have for want, have in zip(wanted, found, strict=True))


def _interval(
    question: Question, found: list[Comparable], same: Callable[[Question], _Key], pooled: str
) -> Elsewhere:
    """The 10 and 90 % points of the next source: Student's t of the logarithms of the sources' medians."""
    logs = _of_sources(found)
    middle, freedom = statistics.median(logs), len(logs) - 1
    squares = statistics.variance(logs) * freedom + _PRIOR_SOURCES * _usual_variance(question, same)
    freedom += _PRIOR_SOURCES
    points = _T90[freedom - 1] if freedom <= len(_T90) else _NORMAL90
    reach = points * math.sqrt(squares / freedom * (1 + 1 / len(logs)))
    high = math.exp(middle + reach)
    return Elsewhere(
        low=math.exp(middle - reach),
        median=math.exp(middle),
        high=high if question.what == "latency" else min(high, 1.0),
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


def _usual_variance(question: Question, same: Callable[[Question], _Key]) -> float:
    """The variance within kinds of figures, over all of them, without the asker's own source."""
    kinds: dict[_Key, list[Comparable]] = defaultdict(list)
    for one in comparables():
        if one.figure.source_key != question.source_key:
            kinds[same(one.question)].append(one)
    logs = [values for members in kinds.values() if len(values := _of_sources(members)) >= LEAST_SOURCES]
    return _pooled_variance(logs)


def _pooled_variance(groups: Sequence[Sequence[float]]) -> float:
    freedom = sum(len(group) - 1 for group in groups)
    return sum(statistics.variance(group) * (len(group) - 1) for group in groups) / freedom if freedom else 0.0
