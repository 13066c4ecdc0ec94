"""`export perfetto`: a run as trace events, for ui.perfetto.dev.

Requests of a traced run of a fabric with their phases; of a device, what its store holds (`device_events`).
"""

import json
from pathlib import Path

from pcielab.formats.exporters import device_events, request_events
from pcielab.formats.exporters.exporter import Exporter
from pcielab.outputs import check_file, write_file
from pcielab.store import Store


def _write(store: Store, output: Path, *, overwrite: bool) -> list[str]:
    store.require_speed("a trace")
    check_file(output, overwrite=overwrite)
    warnings: list[str] = []
    if store.kind == "fabric":
        events, times = list(request_events.request_events(store)), request_events.TIMES
    else:
        events, warnings = device_events.device_events(store)
        times = device_events.TIMES[store.kind]
    content = {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"title": store.title, "origin": store.origin, "times": times},
    }
    write_file(output, json.dumps(content, allow_nan=False, separators=(",", ":")).encode(), overwrite=overwrite)
    return warnings


EXPORTER = Exporter(
    "perfetto",
    "Write requests, transfers or steps as trace events, for ui.perfetto.dev; of a fabric, of a traced run.",
    _write,
)
