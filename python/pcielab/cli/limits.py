"""Limits of work that a small input can ask for, and words before much of it begins."""

from typing import Annotated

import typer

from pcielab.cli.output import say

Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        min=1,
        metavar="N",
        help="Most shares to estimate: changes times flows [default: 100000000, about 10 s].",
        show_default=False,
    ),
]
"""Of the changes of flows: `FabricInfluences` has the default."""
TlpLimit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        min=1,
        metavar="N",
        help="Most TLPs to simulate [default: 10000000, about 10 s].",
        show_default=False,
    ),
]
"""Of a trace: `trace_play` has the default."""
_MANY_CHANGES = 3_000
"""Changes of a fabric whose estimates may take seconds: each takes longer, too, the more flows there are."""
_MANY_FLOWS = 2_000
"""Flows whose simulation, or whose rows of a store, may take seconds."""
_MANY_TLPS = 1_000_000
"""TLPs of a trace whose simulation takes seconds."""


def announce_many(done: int, changes: int) -> bool:
    """Say before the first of many changes of a fabric that they take a while; return whether it was said."""
    if done > 0 or changes <= _MANY_CHANGES:
        return False
    say(f"{changes} changes are estimated, one at a time: Ctrl-C stops it")
    return True


def announce_tlps(done: int, tlps: int) -> None:
    """Say before the first of many TLPs of a trace that they take a while."""
    if done == 0 and tlps > _MANY_TLPS:
        say(f"{tlps} TLPs are simulated: Ctrl-C stops it")


def announce_flows(flows: int) -> None:
    """Say before many flows are simulated that they take a while."""
    if flows > _MANY_FLOWS:
        say(f"{flows} flows are simulated: Ctrl-C stops it")
