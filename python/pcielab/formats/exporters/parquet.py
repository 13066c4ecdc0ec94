"""`export parquet`: the table of `export csv`, for data-frame tools."""

from pathlib import Path

from pcielab.errors import InputError
from pcielab.formats.exporters.exporter import Exporter
from pcielab.outputs import check_file, write_file
from pcielab.store import Store
from pcielab.wording import shown


def _write(store: Store, output: Path, *, overwrite: bool) -> None:
    check_file(output, overwrite=overwrite)
    try:
        content = store.frame.to_parquet(index=False)
    except (TypeError, ValueError) as error:  # a foreign store, whose tests have a parameter of several types
        raise InputError(
            f"{store.path}: a column has values of several types ({shown(str(error))}): export csv or json"
        ) from None
    write_file(output, content, overwrite=overwrite)


EXPORTER = Exporter("parquet", "Write one Parquet table, a row per test.", _write)
