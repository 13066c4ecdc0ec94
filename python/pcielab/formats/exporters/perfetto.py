"""`export perfetto`: a run as trace events, for ui.perfetto.dev.

Stores of devices have no time stamps: the kind of the run says what its times are (`events` of its folder in
`pcielab.kinds`).
"""

import json
from pathlib import Path

from pcielab.formats.exporters.exporter import Exporter
from pcielab.kinds.rooms import room_of
from pcielab.outputs import check_file, write_file
from pcielab.store import Store


def _write(store: Store, output: Path, *, overwrite: bool) -> list[str]:
    store.require_speed("a trace")
    check_file(output, overwrite=overwrite)
    of_kind = room_of(store).events
    events, warnings = of_kind.of(store)
    content = {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"title": store.title, "origin": store.origin, "times": of_kind.times},
    }
    write_file(output, json.dumps(content, allow_nan=False, separators=(",", ":")).encode(), overwrite=overwrite)
    return warnings


EXPORTER = Exporter(
    "perfetto",
    "Write requests, transfers or steps as trace events, for ui.perfetto.dev; of a fabric, of a traced run.",
    _write,
)
