"""The columns of a store's rows on a page: what a row is, its values, its parameters, and the rest."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pandas as pd

from pcielab.analysis.compare.pairs import METRICS
from pcielab.kinds.flows.rows import FLOW_KEYS
from pcielab.library.suites.parameter import PARAMETERS
from pcielab.store import Store

Kind: TypeAlias = Literal["name", "value", "parameter"]

_NAMES = ("id", "name", "experiment", "flow", "connection", "pair")
_VALUES = ("bandwidth_gbps", "gbytes_per_s", "dropped_share", "median_ns", "p50_ns", "p99_ns")
"""Values that come first, where a store has them; the others follow the parameters."""
_LAST = ("family", "message", "note")
_LEFT_OUT = ("status", "connections")
"""The status stands beside the name if a test failed; connections have rows of their own."""
_OF_PAIRS = ("test_a", "test_b", "family")
_OF_FLOWS = ("sweep", "value", "discipline", *FLOW_KEYS)
_HEADS = {
    **{parameter.key: parameter.heading for parameter in PARAMETERS},
    "id": "#",
    "test_a": "# in A",
    "test_b": "# in B",
    "gbytes_per_s": "bandwidth (GB/s)",
    "sweep": "swept",
    "discipline": "credits",
    "source": "from",
    "destination": "to",
}
_SIDES = {"a": "A", "b": "B"}
_UNITS = (
    ("_gbytes_per_s", "GB/s"),
    ("_per_second", "1/s"),
    ("_percent", "%"),
    ("_gbps", "Gb/s"),
    ("_bytes", "B"),
    ("_ns", "ns"),
)
"""Ends of columns' names and the units that they stand for."""


@dataclass(frozen=True)
class Column:
    """A column of a table on a page.

    Attributes:
        key: Its key in rows.
        head: Its heading, with the unit.
        kind: Whether it names the row, or is a value (rounded) or a parameter (shown in full).
    """

    key: str
    head: str
    kind: Kind


def columns_of_tests(store: Store, frame: pd.DataFrame) -> list[Column]:
    """The columns of a store's tests: names, first values, parameters, other values.

    Parameters that all rows share and values that no row has are left out.
    """
    # In a frame, `transactions` is the number that ran.
    parameters = {*_OF_FLOWS, "transactions_asked", *store.tests.columns} - {"transactions"}
    plain = [key for key in map(str, frame) if key not in (*_NAMES, *_LAST, *_LEFT_OUT)]
    values = [key for key in plain if key not in parameters and frame[key].notna().any()]
    failed = ["status"] if "status" in frame and (frame["status"] != "ok").any() else []
    return [
        *_columns("name", [*(key for key in _NAMES if key in frame), *failed]),
        *_columns("value", [key for key in _VALUES if key in values]),
        *_columns("parameter", [key for key in plain if key in parameters and _tells(frame[key])]),
        *_columns("value", [key for key in values if key not in _VALUES]),
        *_columns("name", [key for key in _LAST if key in frame and _tells(frame[key])]),
    ]


def columns_of_pairs(rows: pd.DataFrame) -> list[Column]:
    """The columns of pairs of tests: names, differences, the values of both, parameters, the tests' numbers."""
    metrics = tuple(f"{metric}_" for metric in METRICS)
    every = [str(key) for key in rows]
    values = [key for key in every if key.startswith(metrics) and rows[key].notna().any()]
    names = [key for key in ("name", "flow", "connection", "pair") if key in rows]
    asked = [key for key in every if key not in (*names, *values, *_OF_PAIRS, *_LEFT_OUT) and _tells(rows[key])]
    return [
        *_columns("name", names),
        *_columns("value", sorted(values, key=_by_metric)),
        *_columns("parameter", asked),
        *_columns("name", _OF_PAIRS),
    ]


def columns_of_summary(summary: pd.DataFrame) -> list[Column]:
    """The columns of the summary of a comparison."""
    texts = ("name", "metric", "unit", "origin_a", "origin_b")
    return [Column(key, head_of(key), "name" if key in texts else "value") for key in map(str, summary)]


def _by_metric(key: str) -> tuple[int, bool]:
    """Metrics in order, and of each its difference first."""
    metrics = list(METRICS)
    return metrics.index(key.partition("_")[0]), "_difference_" not in key


def _columns(kind: Kind, keys: Iterable[str]) -> Iterator[Column]:
    return (Column(key, head_of(key), kind) for key in keys)


def _tells(column: "pd.Series[Any]") -> bool:
    """Whether a column tells rows apart, or describes the only row."""
    return column.nunique(dropna=False) > 1 or (len(column) == 1 and bool(column.notna().all()))


def head_of(key: str) -> str:
    """The heading of a column, with its unit: `median_ns` is `median (ns)`."""
    if key in _HEADS:
        return _HEADS[key]
    end, unit = next(((end, unit) for end, unit in _UNITS if key.endswith(end)), ("", ""))
    words = " ".join(_SIDES.get(word, word) for word in key.removesuffix(end).split("_"))
    return f"{words} ({unit})" if unit else words
