"""Calibrating one machine: facts, starting values, structure, joint fit."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pcielab import _core
from pcielab.calibrate.facts import BASE_HOST, DUAL_BASE_HOST, IDLE_BASE_HOST, Facts, read_facts
from pcielab.calibrate.fit import Estimate, JointFit, Unknown, Vector
from pcielab.calibrate.idle import has_idle_states, rough, wake_ups
from pcielab.calibrate.measured import Measured, Row
from pcielab.calibrate.parameters import PARAMETERS, STRUCTURES, Parameter
from pcielab.calibrate.profile_file import write_profile
from pcielab.calibrate.refresh import refreshes
from pcielab.calibrate.start import solve_start
from pcielab.calibrate.structure import Choice, choose
from pcielab.calibrate.twin import Progress, Twin, Values
from pcielab.errors import InputError
from pcielab.profiles.read import Table

_ROWS_MOST = 400
"""Of more rows, a part that is spread evenly over the suite is enough, and takes a part of the time."""
_FAR_OFF = 25.0
"""A row that is left this many units off is not explained by any values."""


@dataclass(frozen=True)
class Calibration:
    """A calibrated machine.

    Attributes:
        system: The resolved system.
        facts: What was read rather than estimated.
        base_host: The host profile that holds where the rows say nothing.
        estimates: The parameters.
        choices: Properties that are one of a few.
        refresh_known: Whether the refresh was taken from a distribution.
        rows: The rows that were used.
        left: How far they are off afterwards: two numbers each, in units of what can be expected of the best.
        warnings: What a reader should know.
        source: What it was calibrated from.
    """

    system: Table
    facts: Facts
    base_host: str
    estimates: tuple[Estimate, ...]
    choices: tuple[Choice, ...]
    refresh_known: bool
    rows: tuple[Row, ...]
    left: Vector = field(repr=False)
    warnings: tuple[str, ...] = ()
    source: str = ""

    def to_toml(self) -> str:
        """The system file: complete, each estimated value with its interval and the rows that tell it."""
        return write_profile(self)


def calibrate(
    measured: Measured,
    name: str,
    *,
    constants: Values | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Calibration:
    """The twin of the machine that was measured.

    Args:
        measured: Its rows, and what is recorded of it.
        name: Name of the system.
        constants: Constants of the card by dotted key, where they are not those of its device profile.
        seed: Names the draws of the simulation.
        progress: Called while rows are simulated.

    Raises:
        InputError: The rows are of another card, or there is nothing that can be said.
    """
    facts = _facts(measured, name)
    rows = _thinned(measured.rows)
    idle = facts.base_host == IDLE_BASE_HOST
    if idle:
        rows = rough(rows)
    warnings = [*measured.warnings, *facts.warnings]
    if len(rows) < len(measured.rows):
        warnings.append(f"{len(rows)} of {len(measured.rows)} rows were used, spread evenly over the suite")
    _core.check_system(_json(facts.system))
    twin = Twin(facts.system, rows, seed=seed, progress=progress)
    twin.keep(constants or {})
    base = {one.key: twin.value(one.key) for one in PARAMETERS}
    refresh_known = not idle and _keep_refresh(twin, measured, warnings)
    if idle:
        twin.keep(wake_ups(measured.refresh))
        warnings.append("idle states: averages and write bandwidths hang on stalls, and are not fitted closely")
    parameters = [one for one in PARAMETERS if one.when(twin.system) and twin.value(one.key) is not None]
    twin.phase = "starting values"
    solve_start(twin, parameters)
    twin.phase = "structure"
    choices = [choice for structure in STRUCTURES if (choice := choose(twin, structure))]
    twin.phase = "joint fit"
    estimates, left = _fitted(twin, parameters, base)
    warnings += _unexplained(rows, left)
    return Calibration(
        twin.system,
        facts,
        facts.base_host,
        tuple(estimates),
        tuple(choices),
        refresh_known,
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


def _json(system: Table) -> str:
    import json

    return json.dumps(system)


def _keep_refresh(twin: Twin, measured: Measured, warnings: list[str]) -> bool:
    found = refreshes(measured.refresh, twin.value("host.memory.refresh.interval_ns"))
    if found is None:
        warnings.append(
            "no distribution of 64 B cold DMA reads over 8 KiB: the refresh is that of the base host, not identified"
        )
        return False
    twin.keep({"host.memory.refresh.duration_ns": found.duration_ns, "host.memory.refresh.share": found.share})
    return True


def _fitted(twin: Twin, parameters: Sequence[Parameter], base: dict[str, Any]) -> tuple[list[Estimate], Vector]:
    """Fits all; those that the rows do not tell go back to the base, and the others are fitted again."""
    estimates, left = JointFit([twin], [Unknown(one, float(base[one.key])) for one in parameters]).run()
    unknown = [one for one in estimates if not one.identified]
    if not unknown:
        return estimates, left
    twin.keep({one.parameter.key: base[one.parameter.key] for one in unknown})
    known = [one.parameter for one in estimates if one.identified]
    if not known:
        raise InputError("no parameter is told by the rows that are there: give more rows of the suite paper")
    again, left = JointFit([twin], [Unknown(one, float(base[one.key])) for one in known]).run()
    kept = {one.parameter.key: one for one in again}
    flagged = {
        one.parameter.key: Estimate(one.parameter, base[one.parameter.key], one.half_width, (), False)
        for one in unknown
    }
    return [kept.get(one.key) or flagged[one.key] for one in parameters], left


def _unexplained(rows: Sequence[Row], left: Vector) -> list[str]:
    off = np.abs(left).reshape(-1, 2).max(axis=1)
    far = [rows[int(number)].label for number in np.argsort(-off, kind="stable") if off[number] > _FAR_OFF]
    if not far:
        return []
    return [f"{len(far)} rows are not explained by any values, first of all {', '.join(far[:3])}"]
