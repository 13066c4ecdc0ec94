"""`export requests`: every request of a traced run of a fabric as a row of Parquet or, for `*.csv`, CSV."""

from pathlib import Path

from pcielab.formats.exporters.exporter import Exporter
from pcielab.formats.spreadsheet import guarded_frame
from pcielab.outputs import check_file, write_file
from pcielab.store import Store


def _write(store: Store, output: Path, *, overwrite: bool) -> None:
    from pcielab.store.flows import request_table

    check_file(output, overwrite=overwrite)
    table = request_table(store)
    table.insert(0, "origin", store.origin)
    if output.suffix == ".csv":
        content = guarded_frame(table).to_csv(index=False, lineterminator="\n").encode()
    else:
        content = table.to_parquet(index=False)
    write_file(output, content, overwrite=overwrite)


EXPORTER = Exporter("requests", "Write every request of a traced run of a fabric, as Parquet or *.csv.", _write)
