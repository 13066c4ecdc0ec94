"""Judge `expect` by published rows of boxes, each site with ranges that are made without its rows."""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pcielab.errors import InputError
from pcielab.expectations.answers import Answer, answer
from pcielab.expectations.questions import read_question
from pcielab.expectations.tables import BoxRow, box, shipped_ranges

_FAR_BELOW = 0.9
_COLLAPSE = "collapse"


@dataclass(frozen=True)
class Verdict:
    """How the expectation of a row compares with its value.

    Attributes:
        row: The row.
        given: The answer; None: the question was refused.
        refusal: Why, if it was.
        is_single: Whether one flow moves.
    """

    row: BoxRow
    given: Answer | None
    refusal: str
    is_single: bool

    @property
    def is_inside(self) -> bool:
        """Whether the value is inside the range; unknown and refused ones are not."""
        return self.is_answered and self._within()

    @property
    def is_answered(self) -> bool:
        """Whether the answer rests on no unknown edge."""
        return self.given is not None and not self.given.unknown and self.given.lower is not None

    def _within(self) -> bool:
        given = self.given
        if given is None or given.lower is None or given.upper is None:
            return False
        return given.lower <= self.row.scaled <= given.upper

    @property
    def word(self) -> str:
        """`inside`, `below` or `above` the range, `unknown` or `refused`."""
        given = self.given
        if given is None:
            return "refused"
        if not self.is_answered or given.lower is None:
            return "unknown"
        return "inside" if self._within() else "below" if self.row.scaled < given.lower else "above"

    @property
    def is_far_below(self) -> bool:
        """Whether the value is more than a tenth below a lower end that names no unknown edge."""
        lower = self.given.lower if self.given is not None else None
        return self.is_answered and lower is not None and self.row.scaled < _FAR_BELOW * lower

    @property
    def is_collapse(self) -> bool:
        """Whether the source reports a collapse of posted writes, which is warned of and never predicted."""
        return self.row.limit == _COLLAPSE

    @property
    def has_right_edge(self) -> bool | None:
        """Whether the limiting edge is the one that the source established; None where it established none."""
        if not self.row.limit or self.is_collapse:
            return None
        return self.given is not None and self.given.limit_kind in self.row.limit.split("|")

    @property
    def width(self) -> float | None:
        """Upper over lower end."""
        if not self.is_answered or self.given is None or not self.given.lower or self.given.upper is None:
            return None
        return self.given.upper / self.given.lower


def judged(rows: Iterable[BoxRow], folder: Path | None = None) -> list[Verdict]:
    """The verdicts of rows; those with low confidence are left out.

    Args:
        rows: The rows.
        folder: Where their machines are; None: the shipped boxes.
    """
    return [_judged(row, folder) for row in rows if row.confidence != "low"]


def _judged(row: BoxRow, folder: Path | None) -> Verdict:
    if not row.asks:
        return Verdict(row, None, "expect has no such question", is_single=True)
    try:
        machine = box(row.box, folder)
        question = read_question(row.asks, machine)
        given = answer(machine, question, shipped_ranges(row.site))
    except InputError as error:
        return Verdict(row, None, str(error), is_single=True)
    return Verdict(row, given, "", question.is_single)


@dataclass(frozen=True)
class Score:
    """Verdicts of one kind, counted.

    Attributes:
        name: `single flows`, `shared edges and rings`.
        rows: Number of rows.
        inside: Rows inside their range.
        unknown: Rows whose answer rests on an unknown edge.
        refused: Rows whose question was refused.
        width: Median of upper over lower end; None without answered rows.
    """

    name: str
    rows: int
    inside: int
    unknown: int
    refused: int
    width: float | None


def scores(verdicts: Sequence[Verdict]) -> list[Score]:
    """The scores of single flows, and of shared edges and rings; rows of a collapse are left out of both."""
    names = ("single flows", "shared edges and rings")
    return [
        _score(name, [one for one in verdicts if one.is_single == (name == names[0]) and not one.is_collapse])
        for name in names
    ]


def _score(name: str, verdicts: Sequence[Verdict]) -> Score:
    widths = [one.width for one in verdicts if one.width is not None]
    return Score(
        name=name,
        rows=len(verdicts),
        inside=sum(one.is_inside for one in verdicts),
        unknown=sum(one.given is not None and not one.is_answered for one in verdicts),
        refused=sum(one.given is None for one in verdicts),
        width=statistics.median(widths) if widths else None,
    )


def described(verdicts: Sequence[Verdict]) -> list[str]:
    """The scores as lines: shares inside, widths, right edges, rows far below, collapses that were warned of."""
    lines = []
    for score in scores(verdicts):
        share = score.inside / score.rows if score.rows else 0.0
        width = f"{score.width:.2f}" if score.width is not None else "-"
        lines.append(
            f"{score.name}: {score.inside} of {score.rows} rows inside ({share:.0%}), unknown {score.unknown}, "
            f"refused {score.refused}; upper over lower end {width} in the median"
        )
    edges = Counter(one.has_right_edge for one in verdicts)
    lines.append(f"limiting edge right in {edges[True]} of {edges[True] + edges[False]} rows that establish one")
    far = [one.row.id for one in verdicts if one.is_far_below and not one.is_collapse]
    lines.append(f"more than 10 % below the lower end: {len(far)} ({' '.join(far) or 'none'})")
    collapses = [one for one in verdicts if one.is_collapse]
    warned = sum(bool(one.given and one.given.notes) for one in collapses)
    lines.append(f"collapse of posted writes: {len(collapses)} rows, {warned} warned of, none predicted")
    return lines
