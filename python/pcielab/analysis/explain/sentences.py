"""What two runs' differences change, in sentences: `link.tags 32 -> 256: reads up to 256 B gain 8 to 365 %`.

The compiled half (`crates/pcie-why/src/two_runs.rs`) words them. A clause is on tests of one sort, like reads or
latencies, over their sizes. Effects below one percent are nothing.
"""

import json
from collections.abc import Mapping
from typing import Any

from pcielab import _core
from pcielab.analysis.explain.moved import Contrast


def sentences(found: Contrast) -> list[str]:
    """The effect of all differences together; then, if there are several, of those with the largest effects."""
    return _core.explained_differences(json.dumps(differences(found)))


def differences(found: Contrast) -> dict[str, Any]:
    """The differences and tests of two runs, as the compiled half takes them."""
    rows = [
        {
            "test": row.test,
            "name": row.name,
            "sort": row.sort,
            "size_bytes": size_of(row.parameters),
            "unit": row.unit,
            "a": row.a,
            "b": row.b,
            "effects_percent": row.effects_percent,
            "bounds": row.bounds,
        }
        for row in found.rows
    ]
    changes = [[str(one) for one in change] for change in found.changes]
    return {"changes": changes, "is_simulated": found.simulated, "rows": rows}


def size_of(parameters: Mapping[str, Any]) -> int | None:
    """Bytes of a transfer, frame, message or request."""
    for key in ("size_bytes", "frame_bytes"):
        size = parameters.get(key)
        if size is not None and size == size:
            return int(size)
    return None
