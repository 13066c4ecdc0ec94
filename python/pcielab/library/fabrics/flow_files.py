"""Flows in CSV and Parquet files.

Files may hold millions of flows, so whole columns are checked at once. An empty cell stands for an absent key.
"""

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.csv
import pyarrow.parquet

from pcielab import _core
from pcielab.errors import InputError, refusal
from pcielab.library.fabrics.flows import KEYS, shared
from pcielab.library.input_files import read_bytes
from pcielab.wording import printable

MOST_FLOWS = 10_000_000
"""Most flows of a file."""
_MOST_BYTES = 2 << 30


def read_columns(path: Path) -> dict[str, list[Any]]:
    """The flows of a CSV or Parquet file, whose columns are the keys of a flow: checked, with defaults and names.

    Raises:
        InputError: The file cannot be read, or a flow in it is wrong; the message names file, flow, key and value.
    """
    try:
        table = _table(path)
        names: list[str] = table.column_names
        cells = [shared(table.column(at).to_pylist()) if name in KEYS else [] for at, name in enumerate(names)]
    except InputError:
        raise
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise refusal("malformed", f"{path}: cannot be read as flows: {printable(reason)}") from None
    return _core.flow_columns(names, cells, str(path))


def _table(path: Path) -> pyarrow.Table:
    if path.stat().st_size > _MOST_BYTES:
        raise refusal("too-large", f"{path}: is longer than {_MOST_BYTES >> 30} GiB: give a shorter file")
    source = path if path.is_file() else pyarrow.BufferReader(read_bytes(path))
    if path.suffix == ".parquet":
        with pyarrow.parquet.ParquetFile(source) as file:
            _check_count(file.metadata.num_rows, path)
            return file.read()
    texts = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(KEYS, pyarrow.string()),
        null_values=[""],
        strings_can_be_null=True,
    )
    parsed = pyarrow.csv.ParseOptions(newlines_in_values=True)
    # Arrow's own pool keeps tens of megabytes of what was read.
    pool = pyarrow.system_memory_pool()
    table = pyarrow.csv.read_csv(source, parse_options=parsed, convert_options=texts, memory_pool=pool)
    _check_count(table.num_rows, path)
    return table


def _check_count(rows: int, path: Path) -> None:
    if rows > MOST_FLOWS:
        raise refusal("too-large", f"{path}: has {rows} flows: give {MOST_FLOWS} at most")
