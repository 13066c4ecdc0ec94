"""Exports of one table for spreadsheets, scripts and data frames, numbers in full precision.

`csv` and `parquet` have a row per test; `requests` has every request of a traced run of flows.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from pcielab.errors import refusal
from pcielab.formats.exporters.exporter import Exporter
from pcielab.formats.spreadsheet import guarded_frame
from pcielab.outputs import check_file, write_file
from pcielab.store import Store
from pcielab.wording import shown

if TYPE_CHECKING:
    import pandas as pd


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
