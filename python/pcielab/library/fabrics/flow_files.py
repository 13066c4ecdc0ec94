"""Flows in CSV and Parquet files.

Files may hold millions of flows, so whole columns are checked at once. An empty cell stands for an absent key.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.csv
import pyarrow.parquet
from pydantic import TypeAdapter, ValidationError

from pcielab.errors import InputError
from pcielab.library.alike import suggestion
from pcielab.library.fabrics.flows import READ, check_names, is_empty, names_of
from pcielab.library.fabrics.parts import Flow
from pcielab.library.input_files import read_bytes
from pcielab.library.validation import remedy_of
from pcielab.wording import named, printable, shown

MOST_FLOWS = 10_000_000
"""Most flows of a file."""
_MOST_BYTES = 2 << 30
_COLUMNS: dict[str, TypeAdapter[list[Any]]] = {
    key: TypeAdapter(list[field.rebuild_annotation()], config=Flow.model_config)  # type: ignore[misc, arg-type]
    for key, field in Flow.model_fields.items()
}


def read_flows(path: Path) -> pd.DataFrame:
    """The flows of a CSV or Parquet file, whose columns are the keys of a flow.

    Raises:
        InputError: The file cannot be read, or a flow in it is wrong; the message names file, flow, key and value.
    """
    read = _read(path)
    for name in read.names:
        if name not in Flow.model_fields:
            raise InputError(f"{path}: unknown column {named(name)}: {suggestion(name, Flow.model_fields)}")
        if read.names.count(name) > 1:
            raise InputError(f"{path}: column {name}: occurs twice: give it once")
    if not read.rows:
        raise InputError(f"{path}: has no flows: give at least one")
    columns = {}
    for key, field in Flow.model_fields.items():
        if key not in read.names and field.is_required():
            raise InputError(f"{path}: missing column {key} ({field.description})")
        columns[key] = _checked(key, read.values.get(key, [None] * read.rows), path)
    columns["name"] = list(
        names_of(zip(*(columns[key] for key in ("name", "source", "destination")), strict=True))
    )
    check_names(columns["name"], str(path))
    return pd.DataFrame(columns)


@dataclass(frozen=True)
class _Read:
    """The unchecked columns of a file, in order."""

    names: list[str]
    values: dict[str, list[Any]]
    rows: int


def _read(path: Path) -> _Read:
    try:
        table = _table(path)
        values = {key: table[key].to_pylist() for key in Flow.model_fields if table.column_names.count(key) == 1}
        return _Read(table.column_names, values, table.num_rows)
    except InputError:
        raise
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise InputError(f"{path}: cannot be read as flows: {printable(reason)}") from None


def _table(path: Path) -> pyarrow.Table:
    if path.stat().st_size > _MOST_BYTES:
        raise InputError(f"{path}: is longer than {_MOST_BYTES >> 30} GiB: give a shorter file")
    source = path if path.is_file() else pyarrow.BufferReader(read_bytes(path))
    if path.suffix == ".parquet":
        with pyarrow.parquet.ParquetFile(source) as file:
            _check_count(file.metadata.num_rows, path)
            return file.read()
    texts = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(Flow.model_fields, pyarrow.string()),
        null_values=[""],
        strings_can_be_null=True,
    )
    parsed = pyarrow.csv.ParseOptions(newlines_in_values=True)
    table = pyarrow.csv.read_csv(source, parse_options=parsed, convert_options=texts)
    _check_count(table.num_rows, path)
    return table


def _check_count(rows: int, path: Path) -> None:
    if rows > MOST_FLOWS:
        raise InputError(f"{path}: has {rows} flows: give {MOST_FLOWS} at most")


def _checked(key: str, given: Sequence[Any], path: Path) -> list[Any]:
    """The values of a column, with the default for empty cells."""
    field = Flow.model_fields[key]
    missing = ... if field.is_required() else field.default
    number = next((number for number, value in enumerate(given) if is_empty(value)), None)
    if number is not None and missing is ...:
        raise InputError(f"{path}: flow {number + 1}: {key} is empty: give {field.description}")
    read = READ.get(key)
    try:
        values: list[Any] = [missing if is_empty(value) else read(value) if read else value for value in given]
        return _COLUMNS[key].validate_python(values)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        number = int(detail["loc"][0])
        meaning = " ".join((field.description or "").split()).rstrip(".")
        raise InputError(
            f"{path}: flow {number + 1}: {key} is {shown(given[number])}: {remedy_of(detail, Flow)} ({meaning})"
        ) from None
