"""How good the comparison is: each published figure judged without its own source."""

import statistics
from dataclasses import dataclass

from pcielab.analysis.normal.comparable import elsewhere, question_of, ratio_of
from pcielab.kinds.question import RATES
from pcielab.library.published_figures import published_figures

_ROUNDED = 1.005


@dataclass(frozen=True)
class LeftOut:
    """The score over all bandwidths with a link.

    Attributes:
        figures: Their number.
        answered: Those with three other sources to compare with.
        inside: Of those, the ones between the 10 and 90 % points of the others.
        width: Median of upper over lower point.
    """

    figures: int
    answered: int
    inside: int
    width: float


def leave_one_source_out() -> LeftOut:
    """Judge each bandwidth whose source states a link, without the figures of that source."""
    total = inside = 0
    widths: list[float] = []
    for figure in published_figures().values():
        if figure.unit not in RATES or not figure.link:
            continue
        total += 1
        asked = question_of(figure)
        ratio = ratio_of(asked[1]) if asked else None
        usual = elsewhere(asked[1]) if asked and ratio is not None else None
        if usual is None or ratio is None:
            continue
        widths.append(usual.high / usual.low)
        inside += usual.low <= ratio <= usual.high * _ROUNDED
    return LeftOut(total, len(widths), inside, statistics.median(widths))
