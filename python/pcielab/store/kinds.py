"""The kinds of runs, and what the rows of each hold. A kind has a folder of its own, `pcielab.kinds.NAME`.

Folders are found by name: they hold what explains, compares and draws their runs, so they are above the store. A
new kind is its folder and its word in `RunKind`; the compiled half tells the kind of a test from its parameters
(`crates/pcie-store/src/metrics.rs`).
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

if TYPE_CHECKING:
    import pandas as pd

RunKind: TypeAlias = Literal["transfers", "messages", "frames", "flows", "tools", "traces", "memory"]
"""Kind of a run's tests: `tools` is what other tools measured, `traces` recorded DMA played on a host,
`memory` lines of a CXL expander."""
KINDS: tuple[RunKind, ...] = get_args(RunKind)
Type: TypeAlias = tuple[Any, str]
"""Python types of a value, and their name in a refusal."""
Metric: TypeAlias = tuple[str, str, int, float]
"""A column of a report's tables: metric, heading, decimals, divisor."""
TEXT, WHOLE, NUMBER = (str, "a text"), (int, "a whole number"), ((int, float), "a number")
SWITCH: Type = (bool, "true or false")
Part = TypeVar("Part")


def _as_it_is(_store: Any, tests: "pd.DataFrame") -> "pd.DataFrame":
    return tests


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What the rows of a kind hold.

    Attributes:
        types: Types of the parameters of its tests.
        shown: Parameters in the tables of reports, in their order; of all kinds together where a kind has no
            table of its own.
        heads: Headings of these columns, where they are not the column's name.
        metrics: Metrics in the tables of reports besides those of all kinds.
        noun: What its rows are, in the plural.
        rows: Its tests as rows, from the store and the frame of its tests: some have rows within a test.
        table: Rows of another shape than its tests have: by `flow_table`, parameters and metrics.
    """

    types: Mapping[str, Type]
    shown: tuple[str, ...] = ()
    heads: Mapping[str, str] = field(default_factory=dict)
    metrics: tuple[Metric, ...] = ()
    noun: str = "tests"
    rows: "Callable[[Any, pd.DataFrame], pd.DataFrame]" = _as_it_is
    table: "Table | None" = None


@dataclass(frozen=True)
class Table:
    """The rows of a kind whose tests are no rows.

    Attributes:
        rows: One row for each thing within a test, with its metrics.
        parameters: Their parameters in the tables of reports.
        metrics: Their metrics there; times are in a readable unit.
    """

    rows: "Callable[[Any], pd.DataFrame]"
    parameters: tuple[str, ...]
    metrics: tuple[Metric, ...]


@cache
def columns_of(kind: RunKind) -> Columns:
    """What the rows of a kind hold: `COLUMNS` of its folder."""
    return part_of(kind, Columns)


def part_of(kind: RunKind, of: type[Part], module: str = "") -> Part:
    """A part of a kind's folder, by its type: `EXPLAIN` of its module `explain`, for example."""
    name = f"pcielab.kinds.{kind}"
    found = getattr(importlib.import_module(f"{name}.{module}" if module else name), (module or "columns").upper())
    assert isinstance(found, of), (kind, module)
    return found
