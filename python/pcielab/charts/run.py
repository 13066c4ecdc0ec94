"""A run as pictures and tables use it: one frame of rows, a short label and an origin, all from its store."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import pandas as pd

from pcielab.charts.selection import MissingDataError, matching
from pcielab.library.profiles.system import changed_name
from pcielab.store import RunKind, Store
from pcielab.store.kinds import KINDS, columns_of

ORIGIN_BADGES = {
    "measured": "MEASURED",
    "simulated": "SIMULATED",
    "emulated": "EMULATED",
    "rtl": "RTL SIMULATION",
    "modelled": "MODELLED",
}
MODELLED = ORIGIN_BADGES["modelled"]

PARAMETER_COLUMNS = tuple(column for kind in KINDS for column in columns_of(kind).shown)
"""Parameters of tests in the tables of reports, in their order."""
_EXPECTED_COLUMNS = (*PARAMETER_COLUMNS, "median", "minimum", "p95", "bandwidth", "rate")

_LABEL_MOST = 40
"""Letters of a label: room for two legends side by side."""
_STEM_MOST = 24


@dataclass(frozen=True)
class Run:
    """One store, ready to be drawn.

    Attributes:
        store: Its store.
        label: Short name for legends, unique among the runs of a report.
        name: Full name, for tables and tooltips.
        rows: One row per test in suite order: identity, parameters, status, and every scalar of the whole test;
            no numbers if the status is not `ok`.
        measured_overlay: Whether it is drawn as points over the other runs, as a simulation's measured
            counterpart.
    """

    store: Store
    label: str
    name: str
    rows: pd.DataFrame
    measured_overlay: bool = False

    @property
    def manifest(self) -> dict[str, Any]:
        """The store's manifest."""
        return self.store.manifest

    @property
    def badge(self) -> str:
        """The origin as printed: SIMULATED, MEASURED, ..."""
        return ORIGIN_BADGES.get(self.store.origin, self.store.origin.upper())

    @property
    def entry(self) -> str:
        """The run in a legend: label, origin, and the extent of an incomplete run."""
        return f"{self.label} · {self._origin_text}"

    @property
    def full_entry(self) -> str:
        """The same with the whole name, where there is room for it."""
        return f"{self.name} · {self._origin_text}"

    @property
    def _origin_text(self) -> str:
        return f"{self.badge}, {self.store.extent}" if self.store.incomplete else self.badge

    @cached_property
    def finished(self) -> pd.DataFrame:
        """The rows that have numbers above 0: a test of bandwidth its bandwidth, one of latency its median."""
        rows = self.rows[self.rows["status"] == "ok"]
        operation = rows["operation"].astype(str)
        lacking = operation.str.startswith("bw-") & ~(rows["bandwidth"].astype(float) > 0)
        lacking |= operation.str.startswith("lat-") & ~(rows["median"].astype(float) > 0)
        return rows[~lacking]

    @cached_property
    def aligned(self) -> pd.DataFrame:
        """The finished rows without offsets on host or device."""
        return matching(self.finished, host_offset_bytes=0, device_offset_bytes=0)


Source: TypeAlias = Store | Run
Sources: TypeAlias = Source | Sequence[Source]


def runs_of(sources: Sources, measured: Source | None = None) -> list[Run]:
    """The runs of a figure: those with meaningful times. Arguments as for `everyone`.

    Raises:
        MissingDataError: All runs are emulated.
    """
    runs = everyone(sources, measured)
    timed = [run for run in runs if run.store.tells_speed]
    if runs and not timed:
        raise MissingDataError("a run with meaningful times: those of an emulator have none")
    return timed


def everyone(sources: Sources, measured: Source | None = None) -> list[Run]:
    """All the given runs with unique labels, the measured overlay last.

    Args:
        sources: One store or run, or several, in the order of the legend.
        measured: A run drawn as points over the others.
    """
    several = [sources] if isinstance(sources, Store | Run) else list(sources)
    runs = [_run_of(source) for source in several]
    if measured is not None:
        runs.append(replace(_run_of(measured), measured_overlay=True))
    return _with_unique_labels(runs)


def of_kind(runs: Iterable[Run], kind: RunKind) -> list[Run]:
    """The runs of a kind."""
    return [run for run in runs if run.store.is_of(kind)]


def all_runs(runs: Sequence[Run], measured: Run | None) -> list[Run]:
    """The runs of a figure that draws the measured overlay like the others."""
    return [*runs, measured] if measured is not None else list(runs)


def _run_of(source: Source) -> Run:
    if isinstance(source, Run):
        return source
    name = _name(source)
    return Run(store=source, label=_shortened(name, _LABEL_MOST), name=name, rows=_rows(source))


def _rows(store: Store) -> pd.DataFrame:
    """The store's wide frame with every column that a figure may use, even if the store has no row."""
    missing = [column for column in _EXPECTED_COLUMNS if column not in store.scalars.columns]
    return store.scalars.assign(**dict.fromkeys(missing))


def _shortened(name: str, most: int) -> str:
    """A name cut in the middle to a number of letters."""
    kept = most - 1
    return name if len(name) <= most else f"{name[: kept - kept // 2].rstrip()}…{name[-(kept // 2) :].lstrip()}"


def _name(store: Store) -> str:
    """The system's name with its changes."""
    system = store.manifest.get("system") or {}
    name = str(system.get("name") or store.path.stem)
    overrides: dict[str, Any] = store.manifest.get("overrides") or {}
    last_steps = [key.rsplit(".", 1)[-1] for key in overrides]
    plain = len(set(last_steps)) == len(last_steps)
    shown = dict(zip(last_steps, overrides.values(), strict=True)) if plain else overrides
    return changed_name(name, shown)


def _with_unique_labels(runs: Iterable[Run]) -> list[Run]:
    unique: list[Run] = []
    for run in runs:
        taken = {other.entry for other in unique}
        candidates = [run.label, f"{run.label} ({_shortened(run.store.path.stem, _STEM_MOST)})"]
        candidates += [f"{run.label} ({number})" for number in range(2, len(taken) + 3)]
        # The run itself where its label is free: it keeps the rows that other figures selected.
        named = (run if label == run.label else replace(run, label=label) for label in candidates)
        unique.append(next(one for one in named if one.entry not in taken))
    return unique
