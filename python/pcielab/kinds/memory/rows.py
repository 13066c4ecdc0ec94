"""The expander of a run of lines, and its tests as rows."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pcielab import _core
from pcielab.errors import found_in, refusal
from pcielab.library.expanders import ExpanderProfile
from pcielab.store import Store

STATIONS = ("slots-to-memory", "memory-banks", "refresh", "memory-bus", "slots-from-memory")
"""What a line passes, in its order; `refresh` delays banks."""


def expander_of_run(manifest: Mapping[str, Any], source: Path) -> ExpanderProfile:
    """The complete expander of a run of lines.

    Raises:
        InputError: The manifest has none, or it is wrong.
    """
    described = manifest.get("expander")
    if described is None:
        raise refusal("missing", f"{source}: manifest: `expander` is missing: give a run of --test mem-rd")
    with found_in(source):
        return ExpanderProfile(_core.Expander.of_json(json.dumps(described), "manifest: expander"))


def rows_of(store: Store) -> Iterator[dict[str, Any]]:
    """The finished tests, in their order: parameters, metrics, and the wait and load of each station."""
    for record in store.records():
        if record["status"] != "ok" or not record["scalars"]:
            continue
        whole = {row["metric"]: float(row["value"]) for row in record["scalars"] if not row["subject"]}
        stations = {
            f"{row['subject']} {row['metric']}": float(row["value"]) for row in record["scalars"] if row["subject"]
        }
        own = {key: record[key] for key in ("id", "family", "name")}
        yield {**own, **record["parameters"], **whole, "stations": stations}
