"""`export parquet`: the table of `export csv`, for data-frame tools."""

from pathlib import Path

from pcielab.formats.exporters.exporter import Exporter
from pcielab.outputs import check_file, write_file
from pcielab.store import Store


def _write(store: Store, output: Path, *, overwrite: bool) -> None:
    check_file(output, overwrite=overwrite)
    write_file(output, store.frame.to_parquet(index=False), overwrite=overwrite)


EXPORTER = Exporter("parquet", "Write one Parquet table, a row per test.", _write)
