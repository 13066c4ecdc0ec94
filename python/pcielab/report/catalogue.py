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
from pcielab.report.figures.waterfall import waterfall_of
from pcielab.store import Store
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
    traced = next((run.store for run in runs if run.store.trace_ns is not None), None)
    if traced is not None:
        yield _trace_entry(traced)


def _trace_entry(store: Store) -> Entry:
    """The waterfall of a traced run, and how to look at the whole trace."""
    name = store.path.name
    about = (
        "The first requests of the trace, a lane for each part of the machine. To see all of it, run pcielab "
        f"export perfetto {name} -o trace.pftrace and open the file at ui.perfetto.dev: it stays in your browser. "
        f"pcielab export svg {name} --test N -o trace.svg draws another test."
    )
    return Entry("waterfall", "Trace", about, lambda of_report, _measured: waterfall_of(of_report))


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
