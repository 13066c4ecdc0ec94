"""The system file of a calibrated machine: complete, and each value with where it comes from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tomli_w

from pcielab.analysis.calibrate.fit import Estimate
from pcielab.analysis.calibrate.scatter import SCATTER_KEYS
from pcielab.analysis.calibrate.structure import Choice
from pcielab.library.profiles.read import Table, load

if TYPE_CHECKING:
    from pcielab.analysis.calibrate.machine import Calibration

_ROWS_NAMED = 3
_ADDRESSES_A_LINE = 4
NOT_IDENTIFIED = "NOT IDENTIFIED"
"""How the note on a value begins that no row tells."""


def write_profile(calibration: "Calibration") -> str:
    """The file as TOML."""
    system = calibration.system
    content: Table = {
        "name": system["name"],
        "title": system["title"],
        "calibrated": True,
        **{key: system[key] for key in ("device_socket", "memory_socket", "program_socket", "iommu")},
        "chunk_bytes": system["chunk_bytes"],
        "device": _device(calibration),
        "link": system["link"],
        "host": _without_nothing(system["host"]),
        "provenance": _provenance(calibration),
    }
    # Addresses are read in hexadecimal, which the writer does not know.
    text = tomli_w.dumps(content)
    size = f"chunk_bytes = {system['chunk_bytes']}\n"
    return text.replace(size, f"{size}chunk_addresses = [\n{_addresses(system['chunk_addresses'])}]\n", 1)


def _addresses(addresses: Sequence[int]) -> str:
    lines = [addresses[start : start + _ADDRESSES_A_LINE] for start in range(0, len(addresses), _ADDRESSES_A_LINE)]
    return "".join(f"  {' '.join(f'{address:#_x},' for address in line)}\n" for line in lines)


def _device(calibration: "Calibration") -> Any:
    """The name of the device profile, with what differs from it."""
    shipped = load("device", calibration.facts.device).content
    differing = _differing(calibration.system["device"], shipped)
    return {"base": calibration.facts.device, **differing} if differing else calibration.facts.device


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
    """Without keys whose value is None, which TOML has no word for."""
    return {
        key: _without_nothing(value) if isinstance(value, dict) else value
        for key, value in table.items()
        if value is not None
    }


def _provenance(calibration: "Calibration") -> Table:
    keys = {**calibration.facts.sources, "host": f"{calibration.facts.base_host}: what the rows do not tell"}
    for choice in calibration.choices:
        chosen = [key for key in choice.values if choice.identified or key not in calibration.facts.sources]
        keys |= dict.fromkeys(chosen, _choice_note(calibration, choice))
    for estimate in calibration.estimates:
        keys[estimate.parameter.key] = _note(calibration, estimate)
    for key, telling in calibration.idle_sources.items():
        keys[key] = telling or f"{NOT_IDENTIFIED} by these rows: from {calibration.facts.base_host}"
    refresh = (
        "distribution of 64 B cold DMA reads" if calibration.refresh_known else f"{NOT_IDENTIFIED}: from the base"
    )
    keys["host.memory.refresh"] = refresh
    scatter = (
        "distribution of 64 B cold DMA reads, around its main mode"
        if calibration.scatter_known
        else f"{NOT_IDENTIFIED}: from the base"
    )
    keys |= dict.fromkeys(SCATTER_KEYS, scatter)
    source = f"{calibration.source}: {len(calibration.rows)} rows and sys-*.txt, by pcielab calibrate"
    notes = " ".join(f"{one[0].upper()}{one[1:]}." for one in calibration.warnings)
    return {"source": source, "notes": notes, "keys": keys}


def _choice_note(calibration: "Calibration", choice: Choice) -> str:
    if not choice.identified:
        return f"{NOT_IDENTIFIED} by these rows: from {calibration.facts.base_host}"
    rows = "; ".join(calibration.rows[row].label for row in choice.rows[:_ROWS_NAMED])
    return f"chosen by trying, the next best is {choice.advantage:.0%} further off: {rows}"


def _note(calibration: "Calibration", estimate: Estimate) -> str:
    if not estimate.identified:
        return f"{NOT_IDENTIFIED} by these rows: from {calibration.facts.base_host}"
    rows = "; ".join(calibration.rows[row].label for row in estimate.evidence)
    if estimate.at_bound:
        low, high = estimate.interval
        return f"{NOT_IDENTIFIED} by itself: at its bound, {low:.3g} to {high:.3g} (95 %), mostly from {rows}"
    return f"+-{estimate.half_width:.2g} (95 %), mostly from {rows}"
