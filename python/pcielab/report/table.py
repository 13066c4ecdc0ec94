"""Tables of the rows of a run, one for each family: varying parameters in columns, shared ones in the caption."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from pcielab.charts.axes import size_text
from pcielab.charts.run import PARAMETER_COLUMNS, Run
from pcielab.library.suites.parameter import PARAMETERS
from pcielab.store.kinds import KINDS, Metric, columns_of
from pcielab.wording import time_unit

_HEADS: Mapping[str, str] = {key: head for kind in KINDS for key, head in columns_of(kind).heads.items()}
"""Heads of columns; of all others, the column's name."""
# Metric, head, decimals, divisor.
_METRICS: tuple[Metric, ...] = (
    ("bandwidth", "Gb/s", 2, 1.0),
    ("bandwidth_low", "95 % from", 2, 1.0),
    ("bandwidth_high", "95 % to", 2, 1.0),
    ("rate", "M/s", 3, 1e6),
    ("time", "time (ms)", 2, 1e6),
    ("median", "median (ns)", 1, 1.0),
    ("average", "average (ns)", 1, 1.0),
    ("average_total", "with loop (ns)", 1, 1.0),
    ("minimum", "min (ns)", 1, 1.0),
    ("p95", "95 % (ns)", 1, 1.0),
    ("p99", "99 % (ns)", 1, 1.0),
    ("p999", "99.9 % (ns)", 1, 1.0),
    ("maximum", "max (ns)", 1, 1.0),
    ("cpu", "core (ns)", 1, 1.0),
    ("downstream_bytes", "bytes down", 1, 1.0),
    ("upstream_bytes", "bytes up", 1, 1.0),
    ("control_share", "control (%)", 1, 0.01),
    ("outliers", "outliers", 0, 1.0),
    ("by_stores", "by stores", 0, 1.0),
    ("overtook", "overtook", 0, 1.0),
    ("samples", "samples", 0, 1.0),
)
_SIZES = ("window_bytes",)


@dataclass(frozen=True)
class Line:
    """One row of a table.

    Attributes:
        cells: Texts, parameters first.
        status: `ok`, `not-supported`, `failed` or `interrupted`.
        message: Reason for another status than `ok`, or a note.
    """

    cells: list[str]
    status: str
    message: str


@dataclass(frozen=True)
class FamilyTable:
    """The rows of one family.

    Attributes:
        family: Its name.
        badge: Origin of the numbers.
        constant: Parameters that all rows share, for the caption.
        heads: Column heads.
        parameters: Number of columns, from the left, that are parameters.
        lines: The rows in suite order.
        faults: Number of rows by status, without `ok`.
        has_messages: Whether a row has a message.
    """

    family: str
    badge: str
    constant: list[str]
    heads: list[str]
    parameters: int
    lines: list[Line]
    faults: dict[str, int]
    has_messages: bool


def family_tables(run: Run) -> Iterator[FamilyTable]:
    """The tables of a run, families in suite order; with the rows of the kind, as a row for each flow.

    For an emulated run, they have parameters and status only.
    """
    columns = columns_of(run.store.kind)
    rows, parameters, metrics = (
        (columns.rows(run.store, run.rows), PARAMETER_COLUMNS, (*_METRICS, *columns.metrics))
        if columns.table is None
        else (columns.table.rows(run.store), columns.table.parameters, columns.table.metrics)
    )
    for family, of_family in rows.groupby("family", sort=False):
        known = [column for column in parameters if column in of_family]
        yield _table(str(family), run, of_family, known, metrics)


def _table(
    family: str,
    run: Run,
    rows: pd.DataFrame,
    parameters: Sequence[str],
    known_metrics: Sequence[Metric],
) -> FamilyTable:
    varying = [column for column in parameters if _varies(column, rows[column])]
    shared = rows.iloc[0]
    constant = [
        f"{_HEADS.get(column, column)} {_parameter(column, shared[column])}"
        for column in parameters
        if column not in varying and _worth_saying(column, shared[column])
    ]
    if run.store.tells_speed and run.store.latency_includes and "median" in rows and rows["median"].notna().any():
        constant.append(f"a latency includes: {run.store.latency_includes}")
    shown = known_metrics if run.store.tells_speed else ()
    metrics = [metric for metric in shown if metric[0] in rows.columns and rows[metric[0]].notna().any()]
    if columns_of(run.store.kind).table is not None:
        metrics = [_in_readable_unit(metric, rows) for metric in metrics]
    lines = [
        Line(
            cells=[_parameter(column, row[column]) for column in varying]
            + [_number(row[name], decimals, divisor) for name, _, decimals, divisor in metrics],
            status=row["status"],
            message=row.get("message") or row.get("note") or "",
        )
        for row in rows.to_dict("records")
    ]
    statuses = rows["status"].value_counts()
    return FamilyTable(
        family=family,
        badge=run.badge,
        constant=constant,
        heads=[_HEADS.get(column, column) for column in varying] + [head for _, head, _, _ in metrics],
        parameters=len(varying),
        lines=lines,
        faults={str(status): int(count) for status, count in statuses.items() if status != "ok"},
        has_messages=any(line.message for line in lines),
    )


def _in_readable_unit(metric: Metric, rows: pd.DataFrame) -> Metric:
    """A column of times in its readable unit; other columns unchanged."""
    name, head, decimals, divisor = metric
    if not name.endswith("_ns"):
        return metric
    unit, unit_ns = time_unit(rows[name].max())
    return name, head.replace("(ns)", f"({unit})"), decimals, divisor * unit_ns


def _varies(column: str, values: pd.Series) -> bool:
    """Whether a parameter varies; missing stores of descriptors do not count, as the column `way` shows them."""
    return bool(values.nunique(dropna=column in ("store_bytes", "store_kind")) > 1)


def _worth_saying(column: str, value: object) -> bool:
    """Whether a shared parameter differs from its plain value, like an offset of 0 or a stride of 1."""
    plain = {
        **{one.key: one.default for one in PARAMETERS if one.kind in ("whole", "switch")},
        "pressure": 0,
        "store_bytes": 8,
        "store_kind": "plain",
        "socket": 0,
        "queue": 0,
        "arrivals": "even",
    }
    return not pd.isna(value) and plain.get(column) != value  # type: ignore[call-overload]


def _parameter(column: str, value: object) -> str:
    if value is None or value != value:
        return "-"
    if column in _SIZES:
        return size_text(float(str(value)))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _number(value: float | bool, decimals: int, divisor: float) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if pd.isna(value) else f"{value / divisor:,.{decimals}f}"
