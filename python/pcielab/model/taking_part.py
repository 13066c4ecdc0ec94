"""Which bounds take part in a result: those near the binding one."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pcielab.model.answers import Answer, Ceiling

MOST_SLACK = 9.0
"""Slack up to which a bound takes part; others allow over ten times the rate."""


def taking_part(answer: "Answer") -> "list[Ceiling]":
    """The bounds that take part, tightest first: a write, for one, sends no data down the link."""
    return [ceiling for ceiling in answer.ceilings if ceiling.slack <= MOST_SLACK]
