"""A calibrated machine, and its complete system file with the source of each value."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import tomli_w

from pcielab.analysis.calibrate.fit import Estimate
from pcielab.analysis.calibrate.idle import IDLE_KEYS, Found
from pcielab.analysis.calibrate.measured import Row
from pcielab.analysis.calibrate.recorded_system import OLDER_HOST, RecordedSystem, part
from pcielab.analysis.calibrate.residuals import Vector
from pcielab.analysis.calibrate.scatter import SCATTER_KEYS
from pcielab.analysis.calibrate.structure import Choice
from pcielab.library.profiles import names
from pcielab.library.profiles.provenance import FittedTo
from pcielab.library.profiles.values import Table

_ROWS_NAMED = 3
_ADDRESSES_A_LINE = 4
NOT_IDENTIFIED = "NOT IDENTIFIED"
"""First words of the note on a value that no row determines."""


@dataclass(frozen=True)
class Calibration:
    """A calibrated machine.

    Attributes:
        system: The resolved system.
        recorded: The values read from files rather than estimated.
        estimates: The fitted parameters.
        choices: The discrete properties.
        refresh_known: Whether the distribution gave the DRAM refresh.
        scatter_known: Whether the distribution gave the scatter of single reads.
        idle: Values of the idle states.
        rows: The rows used.
        left: Their residuals after the fit, two each, in units of the best error to expect.
        warnings: Sentences for the reader.
        source: Name of the folder or store.
        given_device: Whether the device's constants come from a profile, and the rest from a manifest.
        origin: Origin of the rows. Only measured ones calibrate a system.
    """

    system: Table
    recorded: RecordedSystem
    estimates: tuple[Estimate, ...]
    choices: tuple[Choice, ...]
    refresh_known: bool
    scatter_known: bool
    idle: tuple[Found, ...]
    rows: tuple[Row, ...]
    left: Vector = field(repr=False)
    warnings: tuple[str, ...] = ()
    source: str = ""
    given_device: bool = False
    origin: FittedTo = "measured"

    def to_toml(self) -> str:
        """The complete system file, each estimated value with its interval and the rows that show it."""
        system = self.system
        content: Table = {
            "name": system["name"],
            "title": system["title"],
            "calibrated": self.origin == "measured",
            **{key: system[key] for key in ("device_socket", "memory_socket", "program_socket", "iommu")},
            "chunk_bytes": system["chunk_bytes"],
            "device": _device(self),
            "link": system["link"],
            "host": _without_nothing(system["host"]),
            "provenance": _provenance(self),
        }
        # tomli_w cannot write hexadecimal numbers.
        text = tomli_w.dumps(content)
        size = f"chunk_bytes = {system['chunk_bytes']}\n"
        return text.replace(size, f"{size}chunk_addresses = [\n{_addresses(system['chunk_addresses'])}]\n", 1)

    @property
    def fitted_to(self) -> str:
        """The origin of the rows before their names: `simulated `; empty if they were measured."""
        return "" if self.origin == "measured" else f"{self.origin} "

    @property
    def not_identified(self) -> list[str]:
        """Keys that the rows do not determine; they keep the base host's values."""
        keys = [one.parameter.key for one in self.estimates if not one.identified]
        keys += [
            key
            for one in self.choices
            if not one.identified
            for key in one.values
            if key not in self.recorded.sources
        ]
        keys += [key for one in self.choices for key in one.borrowed]
        keys += [key for key, source in self.idle_sources.items() if source is None]
        keys += [] if self.scatter_known else SCATTER_KEYS
        return keys if self.refresh_known else [*keys, "host.memory.refresh"]

    @property
    def idle_sources(self) -> dict[str, str | None]:
        """Evidence for each idle-state key outside the joint fit; None where there is none."""
        if self.system["host"]["idle"] is None:
            return {}
        sources = {key: one.source for one in self.idle for key in one.values}
        fitted = {one.parameter.key for one in self.estimates if one.identified}
        return {key: sources.get(key) for key in IDLE_KEYS if key not in fitted}


def not_measured(origin: FittedTo) -> str | None:
    """What a fit to rows that nobody measured means, as a sentence; None for measured rows."""
    if origin == "measured":
        return None
    return f"the rows are {origin}, not measured: the profile is uncalibrated, and no evidence about a machine"


def _addresses(addresses: Sequence[int]) -> str:
    lines = [addresses[start : start + _ADDRESSES_A_LINE] for start in range(0, len(addresses), _ADDRESSES_A_LINE)]
    return "".join(f"  {' '.join(f'{address:#_x},' for address in line)}\n" for line in lines)


def _device(calibration: Calibration) -> Any:
    """The name of the device profile, or a table of its base and the values that differ; of a file, all values."""
    if calibration.recorded.device not in names("device"):
        return _without_nothing(calibration.system["device"])
    shipped = part("device", calibration.recorded.device)
    differing = _differing(calibration.system["device"], shipped)
    return {"base": calibration.recorded.device, **differing} if differing else calibration.recorded.device


def _differing(table: Table, shipped: Table) -> Table:
    found: Table = {}
    for key, value in table.items():
        other = shipped.get(key)
        if isinstance(value, dict) and isinstance(other, dict):
            inner = _differing(value, other)
            if inner:
                found[key] = inner
        elif value != other and value is not None:
            found[key] = value
    return found


def _without_nothing(table: Table) -> Table:
    """Without keys whose value is None: TOML has no null."""
    return {
        key: _without_nothing(value) if isinstance(value, dict) else value
        for key, value in table.items()
        if value is not None
    }


def _provenance(calibration: Calibration) -> Table:
    keys = {
        **calibration.recorded.sources,
        "host": f"{calibration.recorded.base_host}: values that the rows do not determine",
    }
    for choice in calibration.choices:
        chosen = [key for key in choice.values if choice.identified or key not in calibration.recorded.sources]
        keys |= dict.fromkeys(chosen, _choice_note(calibration, choice))
        borrowed = f"{NOT_IDENTIFIED} by these rows: comes with {choice.structure.key}, from {OLDER_HOST}"
        keys |= dict.fromkeys(choice.borrowed, borrowed)
    for estimate in calibration.estimates:
        keys[estimate.parameter.key] = _note(calibration, estimate)
    for key, evidence in calibration.idle_sources.items():
        keys[key] = evidence or f"{NOT_IDENTIFIED} by these rows: from {calibration.recorded.base_host}"
    refresh = (
        f"{calibration.fitted_to}distribution of 64 B cold DMA reads"
        if calibration.refresh_known
        else f"{NOT_IDENTIFIED}: from the base"
    )
    keys["host.memory.refresh"] = refresh
    scatter = (
        f"{calibration.fitted_to}distribution of 64 B cold DMA reads, around its main mode"
        if calibration.scatter_known
        else f"{NOT_IDENTIFIED}: from the base"
    )
    keys |= dict.fromkeys(SCATTER_KEYS, scatter)
    beside = "manifest" if calibration.given_device else "sys-*.txt"
    rows = f"{len(calibration.rows)} {calibration.fitted_to}rows"
    source = f"{calibration.source}: {rows} and {beside}, by pcielab calibrate"
    notes = " ".join(f"{one[0].upper()}{one[1:]}." for one in calibration.warnings)
    origin = {} if calibration.origin == "measured" else {"origin": calibration.origin}
    unmeasured = {key: "unidentified" for key, note in keys.items() if note.startswith(NOT_IDENTIFIED)}
    return {"source": source, "notes": notes, **origin, "keys": keys, "unmeasured": unmeasured}


def _choice_note(calibration: Calibration, choice: Choice) -> str:
    if not choice.identified:
        return f"{NOT_IDENTIFIED} by these rows: from {calibration.recorded.base_host}"
    rows = calibration.fitted_to + "; ".join(calibration.rows[row].label for row in choice.rows[:_ROWS_NAMED])
    return f"chosen by trying, the next best is {choice.advantage:.0%} further off: {rows}"


def _note(calibration: Calibration, estimate: Estimate) -> str:
    if not estimate.identified:
        return f"{NOT_IDENTIFIED} by these rows: from {calibration.recorded.base_host}"
    rows = calibration.fitted_to + "; ".join(calibration.rows[row].label for row in estimate.evidence)
    if estimate.at_bound:
        low, high = estimate.interval
        return f"{NOT_IDENTIFIED} by itself: at its bound, {low:.3g} to {high:.3g} (95 %), mostly from {rows}"
    return f"+-{estimate.half_width:.2g} (95 %), mostly from {rows}"
