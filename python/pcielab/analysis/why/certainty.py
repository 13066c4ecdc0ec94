"""How sure it is that a bound binds: the share of it that a value reaches, and the distance of the next bound."""

from collections.abc import Sequence

from pcielab.analysis.why.answer import Certainty, Level
from pcielab.analysis.why.numbers import listed

NEAR = 0.95
"""Share of a bound from which a value counts as held by it."""
_FAR = 0.8
_ABOVE = 1.01
_SHOWN_TIMES = 4.0
_APART = 0.01
_CLOSE_PERCENT = 5.0
"""A second bound this near binds almost as soon."""
_FAR_PERCENT = 400.0
_GUESSED = 2.0
"""A bound below this times one that hangs on a guess may bind instead."""


def certainty_of(
    bounds: Sequence[tuple[str, float]], value: float | None, origin: str, beside: str = ""
) -> Certainty:
    """How sure the first of `bounds` binds.

    Args:
        bounds: Names and rates, tightest first.
        value: The rate in question; None if only the model was asked.
        origin: How the value came about.
        beside: What may take the rest of a value far below its bound.
    """
    name, bound = bounds[0]
    next_bound = _next(bounds)
    close = len(bounds) > 1 and bounds[1][1] <= (1 + _CLOSE_PERCENT / 100) * bound
    if value is None:
        return Certainty("fairly sure", f"{name} is modelled, no value was given to compare it with; {next_bound}")
    share = value / bound
    reached = f"the {origin} value is {100 * share:.0f} % of what {name} allows"
    if share > _ABOVE and origin == "simulated":
        return Certainty("fairly sure", f"{reached}, as in a run too short to be steady, and {next_bound}")
    if share > _ABOVE:
        return Certainty(
            "not sure", f"{reached}, so link, profile or the way of counting differ from the real ones"
        )
    if share >= NEAR:
        return Certainty("fairly sure" if close else "sure", f"{reached}, and {next_bound}")
    rest = f"; {beside}" if beside else ", and no bound explains the rest"
    return Certainty("fairly sure" if share >= _FAR else "not sure", f"{reached}{rest}")


def possible(reasons: Sequence[str], most: int = 2) -> str:
    """What may take the rest of a value, as a clause for `beside`; empty if nothing is known."""
    from pcielab.kinds.explained import NO_KNOWN_CAUSE

    known = [reason for reason in reasons if reason != NO_KNOWN_CAUSE][:most]
    return f"the rest may be {listed(known, 'or')}" if known else ""


def simulated_certainty(bounds: Sequence[tuple[str, float]], value: float) -> Certainty:
    """How sure the first of `bounds` binds, where the simulation of a value says so."""
    close = len(bounds) > 1 and bounds[1][1] <= (1 + _CLOSE_PERCENT / 100) * value
    return Certainty(
        "fairly sure" if close else "sure",
        f"the simulation shows it, and {_next([(bounds[0][0], value), *bounds[1:]])}",
    )


def with_unmeasured(
    sure: Certainty, bounds: Sequence[tuple[str, float]], *, behind: int, is_resource: bool
) -> Certainty:
    """How sure the first of `bounds` still is where nobody measured some of its values; never surer than before.

    Args:
        sure: How sure it would be if all were measured.
        bounds: Names and rates, tightest first.
        behind: Unmeasured values behind the bound.
        is_resource: Whether the key that sets the bound is among them: a guess may be off by half.
    """
    if not behind:
        return sure
    guessed = is_resource and len(bounds) > 1 and bounds[1][1] < _GUESSED * bounds[0][1]
    level: Level = "not sure" if guessed or sure.level == "not sure" else "fairly sure"
    values = "an unmeasured value" if behind == 1 else f"{behind} unmeasured values"
    return Certainty(level, f"on {values}, {sure.reason}")


def is_above(value: float, bound: float) -> bool:
    """Whether a value exceeds a bound by more than rounding."""
    return value > _ABOVE * bound


def differs(value: float, other: float) -> bool:
    """Whether a picture shows two values apart."""
    return abs(value / other - 1) >= _APART


def near(bounds: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """The bounds that a picture shows: those of at most four times the tightest."""
    return [(name, value) for name, value in bounds if value <= _SHOWN_TIMES * bounds[0][1]]


def _next(bounds: Sequence[tuple[str, float]]) -> str:
    if len(bounds) < 2:
        return "no other bound applies"
    (_, bound), (name, other) = bounds[:2]
    percent = 100 * (other / bound - 1)
    if percent >= _FAR_PERCENT:
        return f"the next bound, {name}, is {other / bound:.0f} times as high"
    only = "only " if percent <= _CLOSE_PERCENT else ""
    return f"the next bound, {name}, is {only}{percent:.0f} % higher"
