"""Flows as frames: from lists, CSV and Parquet files; checked, with defaults and names.

Files may hold millions of flows, so whole columns are checked at once. An empty cell stands for an absent key.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.csv
import pyarrow.parquet
from pydantic import TypeAdapter, ValidationError

from pcielab.errors import InputError
from pcielab.library.fabrics.parts import Flow
from pcielab.library.input_files import read_bytes
from pcielab.library.validation import checked, remedy_of, suggestion
from pcielab.wording import named, printable, shown

MOST_FLOWS = 10_000_000
"""Most flows of a file."""
_MOST_BYTES = 2 << 30
_WHOLE = re.compile(r"[+-]?\d{1,20}", re.ASCII)
_COLUMNS: dict[str, TypeAdapter[list[Any]]] = {
    key: TypeAdapter(list[field.rebuild_annotation()], config=Flow.model_config)  # type: ignore[misc, arg-type]
    for key, field in Flow.model_fields.items()
}


def frame_of(flows: Iterable[Flow], where: str) -> pd.DataFrame:
    """Checked flows as a frame.

    Raises:
        InputError: There are no flows, or two have the same name.
    """
    frame = pd.DataFrame([flow.model_dump() for flow in flows], columns=list(Flow.model_fields))
    frame["standalone_gbytes_per_s"] = frame["standalone_gbytes_per_s"].astype("float64")
    return _with_names(frame, where)


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
    return _with_names(pd.DataFrame(columns), str(path))


def flows_of(frame: pd.DataFrame, where: str) -> list[Flow]:
    """The checked flows of a frame."""
    flows = []
    for number, row in enumerate(frame.to_dict("records"), start=1):
        filled = {str(key): value for key, value in row.items() if not _is_empty(value)}
        given = {key: _READ[key](value) if key in _READ else value for key, value in filled.items()}
        flows.append(checked(Flow, given, f"{where}: flow {number}"))
    return flows


def check_names(flows: pd.DataFrame, where: str) -> None:
    """Refuse repeated names, since results refer to flows by name; and an empty frame."""
    if not len(flows):
        raise InputError(f"{where}: has no flows: give at least one")
    again = flows["name"].duplicated().to_numpy()
    if again.any():
        number = int(again.argmax())
        name = named(str(flows["name"].iloc[number]))
        raise InputError(
            f"{where}: flow {number + 1}: name is {name}: another flow has this name: give unique names"
        )


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
    number = next((number for number, value in enumerate(given) if _is_empty(value)), None)
    if number is not None and missing is ...:
        raise InputError(f"{path}: flow {number + 1}: {key} is empty: give {field.description}")
    read = _READ.get(key)
    try:
        values: list[Any] = [missing if _is_empty(value) else read(value) if read else value for value in given]
        return _COLUMNS[key].validate_python(values)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        number = int(detail["loc"][0])
        meaning = " ".join((field.description or "").split()).rstrip(".")
        raise InputError(
            f"{path}: flow {number + 1}: {key} is {shown(given[number])}: {remedy_of(detail, Flow)} ({meaning})"
        ) from None


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _whole(value: Any) -> Any:
    """A whole number, which CSV has as text, and Parquet as a float if the column has empty cells."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _real(value: Any) -> Any:
    """A real number, which CSV has as text, and Parquet may have as an integer."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value


_READ = {
    "size_bytes": _whole,
    "outstanding": _whole,
    "socket": _whole,
    "queue": _whole,
    "standalone_gbytes_per_s": _real,
}


def _with_names(flows: pd.DataFrame, where: str) -> pd.DataFrame:
    """Name unnamed flows by their ends, with a number for several between two nodes."""
    unnamed = flows["name"] == ""
    if unnamed.any():
        arrow = flows["source"].astype(str) + "->" + flows["destination"].astype(str)
        nth = arrow.where(unnamed, None).groupby(arrow.where(unnamed, None)).cumcount()
        counted = arrow.where(~(nth > 0), arrow + " (" + (nth + 1).astype(str) + ")")
        flows["name"] = flows["name"].where(~unnamed, counted)
    check_names(flows, where)
    return flows
