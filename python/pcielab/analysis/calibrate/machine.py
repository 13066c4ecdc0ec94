"""Calibrate one machine: recorded values, starting values, structure, joint fit."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace

import numpy as np

from pcielab import _core
from pcielab.analysis.calibrate.calibration import Calibration, not_measured
from pcielab.analysis.calibrate.fit import Estimate, Evidence, JointFit, Unknown
from pcielab.analysis.calibrate.idle import Found, has_idle_states, rough, sleeping_gap, stalls, wake_ups
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
from pcielab.analysis.calibrate.recorded_system import (
    BASE_HOST,
    DUAL_BASE_HOST,
    IDLE_BASE_HOST,
    RecordedSystem,
    read_recorded_system,
)
from pcielab.analysis.calibrate.refresh import Refreshes, refreshes
from pcielab.analysis.calibrate.residuals import Vector
from pcielab.analysis.calibrate.scatter import Scatter, scatter
from pcielab.analysis.calibrate.start import contradictions, solve_start
from pcielab.analysis.calibrate.structure import Choice, choose
from pcielab.analysis.calibrate.twin import Progress, Twin, Values
from pcielab.errors import InputError, refusal, with_message

_ROWS_MOST = 400
"""Of more rows, this many are used, spread evenly over the suite."""
_FAR_OFF = 25.0
"""Residual, in units of the best error to expect, from which a row counts as unexplained."""
_UNEXPLAINED_MOST = 0.5
"""Share of unexplained rows above which calibration is refused."""


def calibrate(
    measured: Measured,
    name: str,
    *,
    title: str | None = None,
    constants: Values | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Calibration:
    """Calibrate the twin of a measured machine.

    Args:
        measured: Its rows and files.
        name: Name of the system.
        title: One line for people; None: the source and the number of rows.
        constants: Constants of the card by dotted key that differ from its device profile.
        seed: Seed of the simulation.
        progress: Called while rows are simulated.

    Raises:
        InputError: The rows are of another device, or do not determine any parameter.
    """
    try:
        return _calibrated(measured, name, title, constants, seed, progress)
    except InputError as error:
        if measured.source in str(error):
            raise
        raise with_message(error, f"{measured.source}: {error}") from None


def _calibrated(
    measured: Measured,
    name: str,
    title: str | None,
    constants: Values | None,
    seed: int,
    progress: Progress | None,
) -> Calibration:
    recorded = _recorded_system(measured, name)
    idle = recorded.base_host == IDLE_BASE_HOST
    chosen = _thinned(measured.rows)
    rows = rough(chosen) if idle else chosen
    caution = not_measured(measured.origin)
    warnings = [*([caution] if caution else []), *measured.warnings, *recorded.warnings]
    warnings += _remarks(measured, recorded, rows)
    named = title or f"{measured.source}, calibrated from {len(rows)} rows"
    if caution:
        named = title or f"{measured.source}, fitted to {len(rows)} {measured.origin} rows"
        recorded.system |= {"calibrated": False}
    recorded.system["title"] = f"UNCALIBRATED: {named}" if caution else named
    _core.System.of_json(json.dumps(recorded.system))
    suite = None if measured.suite is None else _core.Suite.of_json("transfers", measured.suite)
    twin = Twin(recorded.system, rows, suite=suite, seed=seed, progress=progress)
    twin.keep(constants or {})
    base = {one.key: twin.value(one.key) for one in PARAMETERS}
    scatter_known = not idle and _keep_part(twin, "host.root_complex", scatter(measured.refresh))
    interval_ns = twin.value("host.memory.refresh.interval_ns")
    refresh_known = not idle and _keep_part(twin, "host.memory.refresh", refreshes(measured.refresh, interval_ns))
    found = _asleep(twin, measured) if idle else []
    choices = _solved(twin, recorded)
    twin.phase = "joint fit"
    estimates, left = _fitted(twin, _present(twin), base)
    found += _kept(twin, [stalls(twin, chosen)]) if idle else []
    warnings += _unexplained(rows, left)
    return Calibration(
        twin.system,
        recorded,
        tuple(estimates),
        tuple(choices),
        refresh_known,
        scatter_known,
        tuple(found),
        rows,
        left,
        tuple(warnings),
        measured.source,
        given_device=measured.recorded is not None,
        origin=measured.origin,
    )


def _recorded_system(measured: Measured, name: str) -> RecordedSystem:
    if measured.recorded is not None:
        given = measured.recorded
        return replace(given, system={**given.system, "name": name})
    if has_idle_states(measured.rows):
        return read_recorded_system(measured.texts, measured.source, name, IDLE_BASE_HOST)
    recorded = read_recorded_system(measured.texts, measured.source, name, BASE_HOST)
    if recorded.system["host"]["sockets"] > 1:
        recorded = read_recorded_system(measured.texts, measured.source, name, DUAL_BASE_HOST)
    return recorded


def _thinned(rows: Sequence[Row]) -> tuple[Row, ...]:
    if len(rows) <= _ROWS_MOST:
        return tuple(rows)
    numbers = sorted({round(number) for number in np.linspace(0, len(rows) - 1, _ROWS_MOST)})
    return tuple(rows[number] for number in numbers)


def _remarks(measured: Measured, recorded: RecordedSystem, rows: Sequence[Row]) -> Iterator[str]:
    if len(rows) < len(measured.rows):
        yield f"{len(rows)} of {len(measured.rows)} rows were used, spread evenly over the suite"
    if recorded.base_host == IDLE_BASE_HOST:
        yield (
            "idle states: averages and write bandwidths depend on stalls, which differ from test to test: they "
            "give the rate of stalls, and are not fitted row by row"
        )
    if not measured.refresh:
        yield "no distribution of 64 B cold DMA reads over 8 KiB: refresh and scatter are the base host's"
    # With several sockets, lines left on another one by the test before can make a cold read fast.
    if recorded.system["host"]["sockets"] == 1:
        yield from contradictions(rows, PARAMETERS)


def _asleep(twin: Twin, measured: Measured) -> list[Found]:
    on_card_ns = float(twin.value("device.dma.read_overhead_ns"))
    return _kept(twin, [wake_ups(measured.refresh, on_card_ns), sleeping_gap(twin)])


def _kept(twin: Twin, found: Sequence[Found | None]) -> list[Found]:
    """The results that exist; the twin takes their values."""
    kept = [one for one in found if one is not None]
    for one in kept:
        twin.keep(one.values)
    return kept


def _keep_part(twin: Twin, part: str, found: Scatter | Refreshes | None) -> bool:
    """Whether a distribution gave the values of a part of the host; the twin takes them."""
    if found is not None:
        twin.keep({f"{part}.{key}": value for key, value in asdict(found).items()})
    return found is not None


def _present(twin: Twin) -> list[Parameter]:
    """The parameters that the machine has."""
    return [one for one in PARAMETERS if one.when(twin.system) and twin.value(one.key) is not None]


def _solved(twin: Twin, recorded: RecordedSystem) -> list[Choice]:
    """Solve starting values and structure; placement and translation come first."""
    base = {one.key: twin.value(one.key) for one in PARAMETERS}

    def solve(variant: Twin) -> None:
        solve_start(variant, _present(variant), base)

    first = [PLACEMENT, TRANSLATION] if recorded.unplaced else [TRANSLATION]
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
    """Fit all; parameters without evidence return to the base's value, and the others are fitted again."""
    unknowns = [Unknown(one, float(base[one.key])) for one in parameters]
    lost: dict[str, Estimate] = {}
    evidence: Evidence = {}
    while unknowns:
        estimates, left = JointFit([twin], unknowns, evidence).run(patient=not lost)
        unidentified = [one for one in estimates if not one.identified]
        if not unidentified:
            kept = {one.parameter.key: one for one in estimates} | lost
            return [kept[one.key] for one in parameters], left
        for one in unidentified:
            value = base[one.parameter.key]
            twin.keep({one.parameter.key: value})
            lost[one.parameter.key] = replace(one, value=value, evidence=())
        unknowns = [one for one in unknowns if one.parameter.key not in lost]
    raise refusal("missing", "these rows do not determine any parameter: give more rows, latencies and bandwidths")


def _unexplained(rows: Sequence[Row], left: Vector) -> list[str]:
    off = np.abs(left).reshape(-1, 2).max(axis=1)
    far = [rows[int(number)].label for number in np.argsort(-off, kind="stable") if off[number] > _FAR_OFF]
    if not far:
        return []
    first = ", ".join(far[:3])
    if len(far) > _UNEXPLAINED_MOST * len(rows):
        raise refusal(
            "wrong-value",
            f"{len(far)} of {len(rows)} rows fit no values, {first} first: check that they are of this "
            "device, and all of one machine",
        )
    return [f"{len(far)} of {len(rows)} rows fit no values, {first} first"]
