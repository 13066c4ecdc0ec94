"""The answer: the bound and the ratio, what others have, what may be wrong, and what would narrow it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pcielab.analysis.normal.bound import Bound
from pcielab.analysis.normal.causes import Candidate
from pcielab.analysis.normal.comparable import Comparable, Elsewhere
from pcielab.kinds.question import Question

Verdict: TypeAlias = Literal["normal", "low", "high", "above the bound", "impossible", "nothing to compare with"]
Cell: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, kw_only=True)
class Normal:
    """Whether a value is normal.

    Attributes:
        question: The value and what is known about it.
        verdict: `low` and `high` are outside what is usual elsewhere (of a latency, `low` is long).
        sentences: The answer in words: the bound, what others have, and what may be wrong.
        bounds: What link, path and engine allow, the least first.
        ratio: The value over the least bound; of a latency, over the median elsewhere; None without either.
        elsewhere: What others have; None with fewer than three sources.
        figures: Comparable figures.
        causes: Causes worth a check, of a low value.
        missing: What was not given and would narrow the answer, each with the reason.
        origin: Of a row of a store: `simulated` or `measured`; empty: as given.
    """

    question: Question
    verdict: Verdict
    sentences: tuple[str, ...]
    bounds: tuple[Bound, ...]
    ratio: float | None
    elsewhere: Elsewhere | None
    figures: tuple[Comparable, ...]
    causes: tuple[Candidate, ...]
    missing: Mapping[str, str]
    origin: str = ""

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    @property
    def unit(self) -> str:
        """The unit of the question."""
        return self.question.value.unit or "1/s"

    def in_unit(self, plain: float) -> float:
        """A rate, time or number of commands in the unit of the question."""
        return plain / self.question.value.scale

    def bound_rows(self) -> list[dict[str, Cell]]:
        """The bounds as rows."""
        value = self.question.value.plain
        return [
            {
                "bound": bound.name,
                "allows": self.in_unit(bound.value),
                "unit": self.unit,
                "ratio": None if self.question.is_time else value / bound.value,
                "because": bound.because,
                "assumed": bound.assumed,
            }
            for bound in self.bounds
        ]

    def cause_rows(self) -> list[dict[str, Cell]]:
        """The causes as rows."""
        return [
            {
                "cause": one.key,
                "title": one.title,
                "effect": one.effect,
                "origin": "measured elsewhere" if one.measured else "computed",
                "figures": " ".join(one.ids),
                "check": one.check,
            }
            for one in self.causes
        ]

    def figure_rows(self) -> list[dict[str, Cell]]:
        """The comparable figures as rows, by ratio."""
        return [
            {
                "id": one.figure.id,
                "ratio": None if one.question.is_time else one.ratio,
                "value": one.figure.value,
                "unit": one.figure.unit,
                "quantity": one.figure.quantity,
                "link": one.figure.link,
                "device": one.figure.device,
                "cpu": one.figure.cpu,
                "year": one.figure.source_year,
                "source": one.figure.source_title,
                "address": one.figure.source_ref,
            }
            for one in self.figures
        ]

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain values, as `pcielab normal --format json` prints it."""
        usual = self.elsewhere
        return {
            "name": self.question.name,
            "what": self.question.what,
            "engine": self.question.engine,
            "link": str(self.question.width) if self.question.width else None,
            "value": self.question.value.number,
            "unit": self.unit,
            "origin": self.origin or None,
            "verdict": self.verdict,
            "sentences": list(self.sentences),
            "ratio": self.ratio,
            "bounds": self.bound_rows(),
            "elsewhere": usual and _points(usual, self),
            "causes": self.cause_rows(),
            "figures": self.figure_rows(),
            "missing": dict(self.missing),
        }


def _points(usual: Elsewhere, answer: Normal) -> dict[str, Cell]:
    points = {"low": usual.low, "median": usual.median, "high": usual.high}
    if answer.question.is_time:
        return {**{f"{name}_ns": value for name, value in points.items()}, "sources": usual.sources}
    shares: dict[str, Cell] = {f"{name}_ratio": value for name, value in points.items()}
    return {**shares, "sources": usual.sources, "pooled": usual.pooled or None}
