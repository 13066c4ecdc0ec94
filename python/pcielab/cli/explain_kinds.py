"""The rows of `pcielab explain` of any kind of run: a value, the limit that binds it, and the other limits."""

import math
from typing import TYPE_CHECKING

from pcielab.cli.output import Cell, Format, print_rows, say

if TYPE_CHECKING:
    from pcielab.analysis.explain import Explained, ExplainedRun
    from pcielab.store import Store

_SHOWN_OTHERS = _SHOWN_REASONS = 2
_MANY_TIMES = 10.0


def print_explained(store: "Store", found: "ExplainedRun", output_format: Format) -> None:
    """Print the rows; the notes are messages."""
    for note in found.notes:
        say(note)
    if output_format is Format.TABLE:
        asked = {key.removesuffix("_bytes") for row in found.rows for key in row.asked}
        rows = _distinguishing([_narrow(row) for row in found.rows], asked)
    else:
        rows = [_wide(row, store.origin) for row in found.rows]
    limits = ", modelled limits" if any(row.limits for row in found.rows) else ""
    print_rows(rows, output_format, f"{store.title}: {store.origin} values{limits} of {found.about}")


def _wide(row: "Explained", origin: str) -> dict[str, Cell]:
    binding = row.limits[0] if row.limits else None
    return {
        "test": row.test,
        "family": row.family,
        "name": row.name,
        **row.asked,
        "origin": origin,
        "value": row.value,
        "unit": row.unit,
        "bound": binding.name if binding else None,
        "bound_value": binding.value if binding else None,
        "share_percent": 100 * row.share if row.share is not None else None,
        "other_bounds": "; ".join(f"{limit.name} {limit.value:.6g}" for limit in row.limits[1:]) or None,
        **row.parts,
        "may_explain": "; ".join(row.reasons) or None,
    }


def _narrow(row: "Explained") -> dict[str, Cell]:
    binding = row.limits[0] if row.limits else None
    others = [f"{limit.name} {_beside(limit.value, binding.value)}" for limit in row.limits[1:] if binding]
    return {
        "test": row.test,
        "name": row.name,
        **{key.removesuffix("_bytes"): cell for key, cell in row.asked.items()},
        "result": row.value,
        "unit": row.unit,
        "bound": binding.name if binding else None,
        "limit": binding.value if binding else None,
        "share_%": 100 * row.share if row.share is not None else None,
        "others": ", ".join(others[:_SHOWN_OTHERS]) or None,
        "may_explain": "; ".join(row.reasons[:_SHOWN_REASONS]) or None,
    }


def _beside(value: float, binding: float) -> str:
    times = value / binding if binding else math.inf
    if not math.isfinite(times):
        return "far above"
    return f"{times:.0f} times" if times >= _MANY_TIMES else f"{100 * (times - 1):+.0f} %"


def _distinguishing(rows: list[dict[str, Cell]], asked: set[str]) -> list[dict[str, Cell]]:
    """The rows without empty columns, and without parameters that all of them share."""
    dropped = {
        key
        for key in (rows[0] if rows else ())
        if all(row[key] is None for row in rows)
        or (len(rows) > 1 and key in asked and len({row[key] for row in rows}) == 1)
    }
    return [{key: cell for key, cell in row.items() if key not in dropped} for row in rows]
