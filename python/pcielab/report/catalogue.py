"""The figures of a report, in order, with a caption each.

A figure whose data the runs lack is left out, and the report lists it with the figure's reason.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from altair.utils.schemapi import debug_mode

from pcielab.charts.frame import Figure, claims_of
from pcielab.charts.run import Run, all_runs
from pcielab.charts.selection import MissingDataError
from pcielab.kinds.rooms import Entry, room
from pcielab.store.kinds import KINDS


@dataclass(frozen=True)
class Drawn:
    """A drawn figure."""

    entry: Entry
    figure: Figure

    @property
    def claims(self) -> list[str]:
        """Sentences about the figure, computed from its rows."""
        return claims_of(self.figure)


@dataclass(frozen=True)
class LeftOut:
    """A figure without data, and the data that it needs."""

    entry: Entry
    needs: str


def entries(runs: Sequence[Run], measured: Run | None = None) -> Iterator[Entry]:
    """The figures of the kinds of these runs."""
    present = {run.store.kind for run in all_runs(runs, measured)}
    figures = [room(kind).figures for kind in KINDS if kind in present]
    for of_kind in figures:
        yield from of_kind.entries
    for of_kind in figures:
        yield from of_kind.own(runs)


def draw_all(runs: Sequence[Run], measured: Run | None) -> tuple[list[Drawn], list[LeftOut]]:
    """Draw every figure for which the runs have the data, `measured` as points, and list the other figures.

    Altair does not check the parts of a figure here, which takes a third of a report's time: tests check them.
    """
    drawn: list[Drawn] = []
    left_out: list[LeftOut] = []
    for entry in entries(runs, measured):
        try:
            with debug_mode(False):
                drawn.append(Drawn(entry, entry.draw(runs, measured)))
        except MissingDataError as missing:
            left_out.append(LeftOut(entry, str(missing)))
    return drawn, left_out
