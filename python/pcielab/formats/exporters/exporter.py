"""The type of exporters, and those that write one file: JSON and tables."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pcielab.errors import refusal
from pcielab.formats.spreadsheet import guarded_frame
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


def _write_trace(store: Store, output: Path, *, overwrite: bool) -> None:
    import pandas as pd

    from pcielab.kinds.lanes import traced_tests

    tests = traced_tests(store)
    check_file(output, overwrite=overwrite)
    of_tests = [store.trace(test["id"]).assign(id=test["id"], test=test["name"]) for test in tests]
    table = pd.concat(of_tests, ignore_index=True)
    table = table[["id", "test", *table.columns[:-2]]]
    table.insert(0, "origin", store.origin)
    content = table.to_parquet(index=False) if output.suffix == ".parquet" else _csv(table)
    write_file(output, content, overwrite=overwrite)


CSV = Exporter("csv", "Write one CSV table, a row per test.", _write_csv)
PARQUET = Exporter("parquet", "Write one Parquet table, a row per test.", _write_parquet)
REQUESTS = Exporter(
    "requests", "Write every request of a traced run of flows, as Parquet or *.csv.", _write_requests
)
TRACE = Exporter(
    "trace",
    "Write every TLP, phase and counter of a run with --trace, as CSV or *.parquet.",
    _write_trace,
)
