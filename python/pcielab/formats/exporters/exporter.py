"""The type of exporters, and those that write one file: JSON, tables, trace events."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pcielab.errors import refusal
from pcielab.formats.spreadsheet import guarded_frame
from pcielab.kinds.rooms import room_of
from pcielab.outputs import check_file, write_file
from pcielab.store import Store
from pcielab.wording import shown

if TYPE_CHECKING:
    import pandas as pd


class Write(Protocol):
    """Writes a store to a path, or raises InputError and writes nothing."""

    def __call__(self, store: Store, output: Path, *, overwrite: bool) -> Sequence[str] | None:
        """Write `store` to `output`, which may exist only if `overwrite` is given.

        Returns:
            Warnings for the reader of the output, a line each, or None.
        """
        ...


@dataclass(frozen=True)
class Exporter:
    """A format that stores can be written in."""

    name: str
    """Name on the command line."""
    help: str
    """One line of help."""
    write: Write


NOT_IDENTICAL = ("started", "machine")
"""Manifest keys that differ between runs of the same version, system, suite and seed."""


def _encoded(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def _write_json(store: Store, output: Path, *, overwrite: bool) -> None:
    """The whole store, without its start time and computer; tests are a line each, so that `diff` can compare."""
    check_file(output, overwrite=overwrite)
    manifest = {key: value for key, value in store.manifest.items() if key not in NOT_IDENTICAL}
    tests = ",\n".join(_encoded(record) for record in store.records())
    attachments = _encoded(store.attachments)
    text = f'{{"manifest":{_encoded(manifest)},\n"tests":[\n{tests}\n],\n"attachments":{attachments}}}\n'
    write_file(output, text.encode(), overwrite=overwrite)


JSON = Exporter(
    "json", "Write everything, distributions included; identical runs give identical bytes.", _write_json
)


def _csv(table: "pd.DataFrame") -> bytes:
    return guarded_frame(table).to_csv(index=False, lineterminator="\n").encode()


def _write_csv(store: Store, output: Path, *, overwrite: bool) -> None:
    check_file(output, overwrite=overwrite)
    write_file(output, _csv(store.frame), overwrite=overwrite)


def _write_parquet(store: Store, output: Path, *, overwrite: bool) -> None:
    check_file(output, overwrite=overwrite)
    try:
        content = store.frame.to_parquet(index=False)
    except (TypeError, ValueError) as error:  # a foreign store, whose tests have a parameter of several types
        raise refusal(
            "unsupported",
            f"{store.path}: a column has values of several types ({shown(str(error))}): export csv or json",
        ) from None
    write_file(output, content, overwrite=overwrite)


def _write_requests(store: Store, output: Path, *, overwrite: bool) -> None:
    from pcielab.kinds.flows.rows import request_table

    check_file(output, overwrite=overwrite)
    table = request_table(store)
    table.insert(0, "origin", store.origin)
    content = _csv(table) if output.suffix == ".csv" else table.to_parquet(index=False)
    write_file(output, content, overwrite=overwrite)


CSV = Exporter("csv", "Write one CSV table, a row per test.", _write_csv)
PARQUET = Exporter("parquet", "Write one Parquet table, a row per test.", _write_parquet)
REQUESTS = Exporter(
    "requests", "Write every request of a traced run of flows, as Parquet or *.csv.", _write_requests
)


def _write_perfetto(store: Store, output: Path, *, overwrite: bool) -> list[str]:
    """Trace events: stores of devices have no time stamps, so the kind of the run says what its times are."""
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


PERFETTO = Exporter(
    "perfetto",
    "Write requests, transfers or steps as trace events, for ui.perfetto.dev; of a fabric, of a traced run.",
    _write_perfetto,
)
