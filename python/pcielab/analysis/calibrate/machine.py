"""Calibrating one machine: facts, starting values, structure, joint fit."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace

import numpy as np

from pcielab import _core
from pcielab.analysis.calibrate.calibration import Calibration
from pcielab.analysis.calibrate.facts import BASE_HOST, DUAL_BASE_HOST, IDLE_BASE_HOST, Facts, read_facts
from pcielab.analysis.calibrate.fit import Estimate, Evidence, JointFit, Unknown
from pcielab.analysis.calibrate.idle import (
    Found,
    has_idle_states,
    rough,
    sleeping_gap,
    stalls,
    wake_ups,
)
from pcielab.analysis.calibrate.measured import Measured, Row
from pcielab.analysis.calibrate.parameters import (
    LINK_TIME,
    LINK_UNIT,
    PARAMETERS,
    PLACEMENT,
    STRUCTURES,
    TRANSLATION,
    WALKERS,
    WALKS_UNDER_LOAD,
    Parameter,
)
from pcielab.analysis.calibrate.refresh import refreshes
from pcielab.analysis.calibrate.residuals import Vector
from pcielab.analysis.calibrate.scatter import scatter
from pcielab.analysis.calibrate.start import contradictions, solve_start
from pcielab.analysis.calibrate.structure import Choice, choose
from pcielab.analysis.calibrate.twin import Progress, Twin, Values
from pcielab.errors import InputError

_ROWS_MOST = 400
"""Of more rows, a part that is spread evenly over the suite is enough, and takes a part of the time."""
_FAR_OFF = 25.0
"""A row that is left this many units off is not explained by any values."""
_UNEXPLAINED_MOST = 0.5
"""If more rows than this share are not explained, the rows are not of a machine that can be described."""


def calibrate(
    measured: Measured,
    name: str,
    *,
    title: str | None = None,
    constants: Values | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Calibration:
    """The twin of the machine that was measured.

    Args:
        measured: Its rows, and what is recorded of it.
        name: Name of the system.
        title: One line for people; without it, where the rows came from.
        constants: Constants of the card by dotted key, where they are not those of its device profile.
        seed: Names the draws of the simulation.
        progress: Called while rows are simulated.

    Raises:
        InputError: The rows are of another card, or there is nothing that can be said.
    """
    facts = _facts(measured, name)
    idle = facts.base_host == IDLE_BASE_HOST
    chosen = _thinned(measured.rows)
    rows = rough(chosen) if idle else chosen
    warnings = [*measured.warnings, *facts.warnings, *_remarks(measured, facts, rows)]
    facts.system["title"] = title or f"{measured.source}, calibrated from {len(rows)} rows"
    _core.check_system(json.dumps(facts.system))
    twin = Twin(facts.system, rows, seed=seed, progress=progress)
    twin.keep(constants or {})
    base = {one.key: twin.value(one.key) for one in PARAMETERS}
    scatter_known = not idle and _keep_scatter(twin, measured)
    refresh_known = not idle and _keep_refresh(twin, measured)
    found = _asleep(twin, measured) if idle else []
    choices = _solved(twin, facts)
    twin.phase = "joint fit"
    estimates, left = _fitted(twin, _present(twin), base)
    found += _kept(twin, [stalls(twin, chosen)]) if idle else []
    warnings += _unexplained(rows, left)
    return Calibration(
        twin.system,
        facts,
        tuple(estimates),
        tuple(choices),
        refresh_known,
        scatter_known,
        tuple(found),
        rows,
        left,
        tuple(warnings),
        measured.source,
    )


def _facts(measured: Measured, name: str) -> Facts:
    if has_idle_states(measured.rows):
        return read_facts(measured.texts, measured.source, name, IDLE_BASE_HOST)
    facts = read_facts(measured.texts, measured.source, name, BASE_HOST)
    if facts.system["host"]["sockets"] > 1:
        facts = read_facts(measured.texts, measured.source, name, DUAL_BASE_HOST)
    return facts


def _thinned(rows: Sequence[Row]) -> tuple[Row, ...]:
    if len(rows) <= _ROWS_MOST:
        return tuple(rows)
    numbers = sorted({round(number) for number in np.linspace(0, len(rows) - 1, _ROWS_MOST)})
    return tuple(rows[number] for number in numbers)


def _remarks(measured: Measured, facts: Facts, rows: Sequence[Row]) -> Iterator[str]:
    if len(rows) < len(measured.rows):
        yield f"{len(rows)} of {len(measured.rows)} rows were used, spread evenly over the suite"
    if facts.base_host == IDLE_BASE_HOST:
        yield (
            "idle states: averages and write bandwidths hang on stalls, which differ from test to test: they tell "
            "how often, and are not fitted one by one"
        )
    if not measured.refresh:
        yield "no distribution of 64 B cold DMA reads over 8 KiB: what it would tell is as on the base host"
    # Lines of the test before may be left on another socket, and make a cold read fast.
    if facts.system["host"]["sockets"] == 1:
        yield from contradictions(rows, PARAMETERS)


def _asleep(twin: Twin, measured: Measured) -> list[Found]:
    on_card_ns = float(twin.value("device.dma.read_overhead_ns"))
    return _kept(twin, [wake_ups(measured.refresh, on_card_ns), sleeping_gap(twin)])


def _kept(twin: Twin, found: Sequence[Found | None]) -> list[Found]:
    """What was found, which the twin has from now on."""
    told = [one for one in found if one is not None]
    for one in told:
        twin.keep(one.values)
    return told


def _keep_scatter(twin: Twin, measured: Measured) -> bool:
    found = scatter(measured.refresh)
    if found is not None:
        twin.keep({f"host.root_complex.{key}": value for key, value in asdict(found).items()})
    return found is not None


def _keep_refresh(twin: Twin, measured: Measured) -> bool:
    found = refreshes(measured.refresh, twin.value("host.memory.refresh.interval_ns"))
    if found is not None:
        twin.keep({f"host.memory.refresh.{key}": value for key, value in asdict(found).items()})
    return found is not None


def _present(twin: Twin) -> list[Parameter]:
    """The parameters that the machine has."""
    return [one for one in PARAMETERS if one.when(twin.system) and twin.value(one.key) is not None]


def _solved(twin: Twin, facts: Facts) -> list[Choice]:
    """Starting values and structure; where the memory is and how pages are translated come first."""
    base = {one.key: twin.value(one.key) for one in PARAMETERS}

    def solve(variant: Twin) -> None:
        solve_start(variant, _present(variant), base)

    first = [PLACEMENT, TRANSLATION] if facts.unplaced else [TRANSLATION]
    found = [choose(twin, structure, solve) for structure in first]
    solve(twin)
    twin.phase = "structure"

    def solve_some(keys: Sequence[str]) -> Callable[[Twin], None]:
        return lambda variant: solve_start(variant, [one for one in _present(variant) if one.key in keys], base)

    found.append(choose(twin, WALKERS, solve_some(WALKS_UNDER_LOAD)))
    found.append(choose(twin, LINK_UNIT, solve_some(LINK_TIME)))
    found += [choose(twin, structure) for structure in STRUCTURES]
    return [choice for choice in found if choice is not None]


def _fitted(twin: Twin, parameters: Sequence[Parameter], base: Values) -> tuple[list[Estimate], Vector]:
    """Fits all; those without evidence go back to the base, and the others are fitted again."""
    unknowns = [Unknown(one, float(base[one.key])) for one in parameters]
    lost: dict[str, Estimate] = {}
    evidence: Evidence = {}
    while unknowns:
        estimates, left = JointFit([twin], unknowns, evidence).run(patient=not lost)
        untold = [one for one in estimates if not one.identified]
        if not untold:
            kept = {one.parameter.key: one for one in estimates} | lost
            return [kept[one.key] for one in parameters], left
        for one in untold:
            value = base[one.parameter.key]
            twin.keep({one.parameter.key: value})
            lost[one.parameter.key] = replace(one, value=value, evidence=())
        unknowns = [one for one in unknowns if one.parameter.key not in lost]
    raise InputError("these rows do not determine any parameter: give more rows of the suite paper")


def _unexplained(rows: Sequence[Row], left: Vector) -> list[str]:
    off = np.abs(left).reshape(-1, 2).max(axis=1)
    far = [rows[int(number)].label for number in np.argsort(-off, kind="stable") if off[number] > _FAR_OFF]
    if not far:
        return []
    first = ", ".join(far[:3])
    if len(far) > _UNEXPLAINED_MOST * len(rows):
        raise InputError(
            f"{len(far)} of {len(rows)} rows are not explained by any values, first of all {first}: are they of "
            "this card, and all of one machine?"
        )
    return [f"{len(far)} of {len(rows)} rows are not explained by any values, first of all {first}"]
