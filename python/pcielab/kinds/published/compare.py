"""A paper's numbers beside ours: how ours are read from a run, error, verdict, and the score of predictions."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

import pandas as pd

from pcielab.kinds.published.values import Published, PublishedValue, ReadAs, Selection

MOST_ERROR_PERCENT = 5.0
"""Largest error of a latency or bandwidth, in percent, that needs no explanation."""
MOST_ERROR_POINTS = 3.0
"""The same for shares, in percentage points."""
COLUMNS = (
    *("source", "what", "unit", "published", "up_to", "simulated", "estimated"),
    *("error", "error_unit", "allowed", "verdict", "reason"),
)

Verdict: TypeAlias = Literal["within", "explained", "off", "input", "contradicted", "not simulated", "not run"]
PREDICTIONS: tuple[Verdict, ...] = ("within", "explained", "off")
"""Verdicts that count for the score: neither inputs nor contradicted by the paper."""


class Numbers(Protocol):
    """Our numbers."""

    def simulated(self, one: PublishedValue) -> float:
        """The simulated number; NaN if there is none."""

    def estimated(self, one: PublishedValue) -> float:
        """The estimated or closed-form number; NaN if there is none."""


def compare(known: Published, ours: Numbers) -> pd.DataFrame:
    """Every published number beside ours.

    The columns are `COLUMNS`. `published` to `up_to` is a range, `up_to` NaN without one. `estimated` is the
    max-min estimator's number for flows, and the closed forms' for messages, links and NICs, in the row's unit;
    it is compared where nothing is simulated. `error` and `allowed` have the unit `error_unit`: percent, points
    of a share, or the row's unit where the row has its own allowed error. The verdict is `within`, `explained`
    (with the reason), `off`, `input` (of a profile), `contradicted` (the reason names the part of the paper),
    `not simulated`, or `not run`.
    """
    return pd.DataFrame([_row(one, known, ours) for one in known.value], columns=list(COLUMNS))


def score(compared: pd.DataFrame) -> str:
    """A sentence with the number of predictions met; other numbers are counted separately.

    Args:
        compared: Result of `compare`.
    """
    counted = Counter(compared["verdict"])
    predictions = sum(counted[verdict] for verdict in PREDICTIONS)
    parts = [f"{counted['within']} of {predictions} predictions are met"]
    parts += [f"{counted[verdict]} {words}" for verdict, words in _APART.items() if counted[verdict]]
    return f"Of {len(compared)} numbers: {'; '.join(parts)}."


_APART: dict[Verdict, str] = {
    "explained": "are missed, with the reason",
    "off": "are missed, without a reason",
    "input": "are inputs of the profile or the suite",
    "contradicted": "are contradicted by the paper itself",
    "not simulated": "are not simulated",
    "not run": "are not in this run",
}


def missed(rows: pd.DataFrame) -> list[str]:
    """Sentences on the numbers that ours miss: how many, by how much, and why."""
    missing = rows[rows["verdict"].isin(["explained", "contradicted", "off"])].dropna(subset=["error"])
    return [
        f"{len(off)} of {len(rows)} published numbers missed, {_at_most(off)} off: "
        f"{reason if isinstance(reason, str) else 'no reason is known'}."
        for reason, off in missing.groupby("reason", sort=False, dropna=False)
    ]


def _at_most(rows: pd.DataFrame) -> str:
    """The largest error of each unit."""
    largest = rows.assign(size=rows["error"].abs()).groupby("error_unit", sort=False)["size"].max()
    upto = "up to " if len(rows) > 1 else ""
    return " and ".join(f"{upto}{error:.1f} {unit}" for unit, error in largest.items())


def _row(one: PublishedValue, known: Published, numbers: Numbers) -> dict[str, object]:
    simulated, estimated = numbers.simulated(one), numbers.estimated(one)
    ours = simulated if one.of or estimated != estimated else estimated
    error, unit, allowed = _error(one, ours)
    verdict = verdict_of(one, ours, error, allowed)
    why = known.reason(one)
    reasons: dict[Verdict, str | None] = {
        "contradicted": one.contradiction,
        "explained": why,
        "not simulated": why,
    }
    return {
        "source": one.source,
        "what": one.what,
        "unit": one.unit,
        "published": one.published,
        "up_to": float("nan") if one.up_to is None else one.up_to,
        "simulated": simulated,
        "estimated": estimated,
        "error": error,
        "error_unit": unit,
        "allowed": allowed,
        "verdict": verdict,
        "reason": reasons.get(verdict),
    }


def _error(one: PublishedValue, ours: float) -> tuple[float, str, float]:
    """The error, its unit, and the largest error that needs no explanation."""
    low, high = one.published, one.published if one.up_to is None else one.up_to
    error = ours - min(max(ours, low), high) if ours == ours else float("nan")
    if one.at_least:
        error = min(error, 0.0)
    if one.at_most:
        error = max(error, 0.0)
    share = one.unit == "%"
    if one.is_bound:
        return error, "points" if share else one.unit, one.last_digit / 2
    if one.allowed is not None:
        return error, "points" if share else one.unit, one.allowed
    if share:
        return error, "points", MOST_ERROR_POINTS + one.last_digit / 2
    return 100 * error / one.published, "%", MOST_ERROR_PERCENT + one.last_digit / 2 * 100 / abs(one.published)


def verdict_of(one: PublishedValue, ours: float, error: float, allowed: float) -> Verdict:
    """The verdict on a number: ours is NaN where it was not run."""
    if not one.is_computed:
        return "not simulated"
    if one.contradiction is not None:
        return "contradicted"
    if ours != ours:
        return "not run"
    if abs(error) <= allowed:
        return "input" if one.given else "within"
    return "off" if one.why is None else "explained"


READINGS: dict[ReadAs, Callable[[pd.Series, pd.Series], pd.Series]] = {
    "value": lambda of, _: of,
    "percent": lambda of, _: of * 100,
    "rise": lambda of, over: (of / over - 1) * 100,
    "difference": lambda of, over: of - over,
    "ratio": lambda of, over: of / over,
    "peak": lambda of, over: pd.Series([float(str((of / over).idxmax()))]),
}


class RunNumbers(ABC):
    """Numbers of a run."""

    @abstractmethod
    def of(self, wanted: Selection) -> pd.Series:
        """The metric over the swept value, in the order of the run; empty if not run."""

    def simulated(self, one: PublishedValue) -> float:
        """The sum of the selected rows, against their base, as the number is read."""
        parts = [self.of(selection) for selection in one.of]
        if not parts or any(part.empty for part in parts):
            return float("nan")
        whole = sum(part.to_numpy() for part in parts)
        of = pd.Series(whole, index=parts[0].index)
        if one.over is None:
            return float(READINGS[one.read_as](of, of).mean())
        over = self.of(one.over)
        if over.empty:
            return float("nan")
        base = pd.Series(over.to_numpy() if len(over) == len(of) else over.mean(), index=of.index)
        return float(READINGS[one.read_as](of, base).mean())
