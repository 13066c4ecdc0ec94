"""How good the comparison is: each published figure judged without its own source, as it is and with a loss.

Two errors count: a standard that is called low, and a loss that is not. A figure whose source names a cause of its
low value is no standard, so that calling it low is no error. Rows of one source share one vote.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pcielab.analysis.normal.comparable import ROUNDED, Elsewhere, elsewhere, question_of, ratio_of
from pcielab.kinds.question import RATES, Question
from pcielab.library.published_figures import PublishedFigure, published_figures

LOSSES = (0.15, 0.25, 0.5)
"""Shares that standards lose, to see whether it is noticed."""
_Z90 = 1.645


@dataclass(frozen=True)
class Share:
    """A share of sources with its 90 % interval (Wilson's)."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Power:
    """Both errors of one kind of figures.

    Attributes:
        kind: The kind, in words.
        sources: Their number, with three others each to compare with.
        figures: Their figures that are standards.
        called_low: Standards that are called low.
        noticed: Of the standards with each loss of `LOSSES`, those called low.
        width: Median of the highest over the lowest usual value.
    """

    kind: str
    sources: int
    figures: int
    called_low: Share
    noticed: tuple[Share, ...]
    width: float


@dataclass(frozen=True)
class LeftOut:
    """The score over all bandwidths with a link.

    Attributes:
        figures: Their number.
        answered: Those with three other sources to compare with.
        standards: Of those, the ones without a named cause.
        inside: Of the standards, the ones in the range of the others.
        caused: Of those with a cause, the ones outside.
        width: Median of the highest over the lowest usual value.
        width_without_conditions: Likewise, without figures under a condition (`STATES`).
        kinds: Both errors by kind.
    """

    figures: int
    answered: int
    standards: int
    inside: int
    caused: int
    width: float
    width_without_conditions: float
    kinds: tuple[Power, ...]

    @property
    def all_inside(self) -> int:
        """Figures in the range of the others, with and without a named cause."""
        return self.inside + self.answered - self.standards - self.caused


@dataclass
class _Judged:
    """The standards of one kind: for each source, whether each is low as it is and with each loss."""

    votes: dict[str, list[tuple[bool, ...]]] = field(default_factory=lambda: defaultdict(list))
    widths: list[float] = field(default_factory=list)


def leave_one_source_out() -> LeftOut:
    """Judge each bandwidth whose source states a link, without the figures of that source.

    Not those of memory expanders: their bound is that of an assumed memory, too.
    """
    total = sum(map(_is_scored, published_figures().values()))
    answers = list(_judged())
    standards = [(ratio, usual) for figure, _, ratio, usual in answers if not figure.cause or figure.state]
    inside = sum(_is_inside(ratio, usual) for ratio, usual in standards)
    every = sum(_is_inside(ratio, usual) for _, _, ratio, usual in answers)
    named = len(answers) - len(standards)
    widths = [(usual.high / usual.low, figure.state) for figure, *_, usual in answers]
    return LeftOut(
        figures=total,
        answered=len(answers),
        standards=len(standards),
        inside=inside,
        caused=named - (every - inside),
        width=statistics.median(width for width, _ in widths),
        width_without_conditions=statistics.median(width for width, state in widths if not state),
        kinds=tuple(_powers(answers)),
    )


def _is_scored(figure: PublishedFigure) -> bool:
    return figure.unit in RATES and bool(figure.link) and figure.kind != "expander"


def _judged() -> Iterator[tuple[PublishedFigure, Question, float, Elsewhere]]:
    for figure in published_figures().values():
        asked = question_of(figure) if _is_scored(figure) else None
        ratio = ratio_of(asked[1]) if asked else None
        usual = elsewhere(asked[1]) if asked and ratio is not None else None
        if asked and ratio is not None and usual is not None:
            yield figure, asked[1], ratio, usual


def _is_inside(ratio: float, usual: Elsewhere) -> bool:
    return usual.low <= ratio <= usual.high * ROUNDED


def _powers(answers: Sequence[tuple[PublishedFigure, Question, float, Elsewhere]]) -> Iterator[Power]:
    kinds: dict[str, _Judged] = defaultdict(_Judged)
    for figure, question, ratio, usual in answers:
        if figure.cause or question.state or ratio > ROUNDED:
            continue
        of_kind = kinds[_kind(question)]
        low = tuple((1 - loss) * ratio < usual.low for loss in (0.0, *LOSSES))
        of_kind.votes[figure.source_key].append(low)
        of_kind.widths.append(usual.high / usual.low)
    for kind, of_kind in kinds.items():
        shares = [_share(of_kind.votes, column) for column in range(len(LOSSES) + 1)]
        figures = sum(map(len, of_kind.votes.values()))
        width = statistics.median(of_kind.widths)
        yield Power(kind, len(of_kind.votes), figures, shares[0], tuple(shares[1:]), width)


def _kind(question: Question) -> str:
    if question.engine == "copy" and question.what in ("h2d", "d2h"):
        return "GPU copies, one way"
    names = {"gpu": "other GPU figures", "nic": "NICs", "nvme": "drives", "fpga": "FPGAs"}
    return names.get(question.kind or "", "other devices")


def _share(votes: dict[str, list[tuple[bool, ...]]], column: int) -> Share:
    """The mean over sources of each one's share of figures, with Wilson's interval for that many sources."""
    number = len(votes)
    value = statistics.fmean(statistics.fmean(vote[column] for vote in cast) for cast in votes.values())
    scale = 1 + _Z90**2 / number
    middle = (value + _Z90**2 / (2 * number)) / scale
    reach = _Z90 / scale * math.sqrt(value * (1 - value) / number + (_Z90 / (2 * number)) ** 2)
    return Share(value, max(middle - reach, 0.0), min(middle + reach, 1.0))
