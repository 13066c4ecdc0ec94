"""`export csv`: one table for spreadsheets and scripts, numbers in full precision."""

from pathlib import Path

from pcielab.exporters.exporter import Exporter
from pcielab.exporters.table import table
from pcielab.outputs import write_file
from pcielab.store import Store


def _write(store: Store, output: Path, *, overwrite: bool) -> None:
    write_file(output, table(store).to_csv(index=False, lineterminator="\n").encode(), overwrite=overwrite)


EXPORTER = Exporter("csv", "Write one CSV table, a row per test.", _write)
