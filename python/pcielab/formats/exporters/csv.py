"""`export csv`: one table for spreadsheets and scripts, numbers in full precision."""

from pathlib import Path

from pcielab.formats.exporters.exporter import Exporter
from pcielab.formats.spreadsheet import guarded_frame
from pcielab.outputs import check_file, write_file
from pcielab.store import Store


def _write(store: Store, output: Path, *, overwrite: bool) -> None:
    check_file(output, overwrite=overwrite)
    text = guarded_frame(store.frame).to_csv(index=False, lineterminator="\n")
    write_file(output, text.encode(), overwrite=overwrite)


EXPORTER = Exporter("csv", "Write one CSV table, a row per test.", _write)
