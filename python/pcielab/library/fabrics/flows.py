"""Flows of fabrics as objects and as frames; the compiled half checks them, and gives defaults and names.

`flow_files` reads CSV and Parquet files. pandas is loaded with the first frame.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pcielab import _core
from pcielab.library.fabrics.parts import Flow

if TYPE_CHECKING:
    import pandas as pd

KEYS = tuple(field.name for field in fields(Flow))
"""The keys of flows, which are the columns of their frames."""


def columns_of(flows: Sequence[Flow], where: str) -> dict[str, list[Any]]:
    """Flows as checked columns with names.

    Raises:
        InputError: There are no flows, one is wrong, or two have the same name.
    """
    return checked_columns({key: [getattr(flow, key) for flow in flows] for key in KEYS}, where)


def checked_columns(columns: Mapping[Any, Iterable[Any]], where: str) -> dict[str, list[Any]]:
    """Columns of flows: checked, with defaults for empty cells and absent columns, and names."""
    return _core.flow_columns([*map(str, columns)], [[*cells] for cells in columns.values()], where)


def flows_in(columns: Mapping[str, list[Any]]) -> list[Flow]:
    """The flows of checked columns."""
    return [Flow(**dict(zip(columns, cells, strict=True))) for cells in zip(*columns.values(), strict=True)]


def frame_in(columns: Mapping[str, list[Any]]) -> "pd.DataFrame":
    """The frame of checked columns."""
    import pandas as pd

    return pd.DataFrame(columns).astype({"standalone_gbytes_per_s": "float64"})


def frame_of(flows: Sequence[Flow], where: str) -> "pd.DataFrame":
    """Flows as a checked frame; errors as `columns_of`."""
    return frame_in(columns_of(flows, where))


def cells_of(frame: "pd.DataFrame") -> dict[str, list[Any]]:
    """The columns of a frame."""
    return {str(key): shared(frame[key].tolist()) for key in frame.columns}


def shared(cells: Iterable[Any]) -> list[Any]:
    """The cells, with equal texts as one object, and equal whole numbers: those of many flows fill memory."""
    known: dict[type, dict[Any, Any]] = {str: {}, int: {}}
    return [known[type(cell)].setdefault(cell, cell) if type(cell) in known else cell for cell in cells]


def checked_frame(frame: "pd.DataFrame", where: str) -> "pd.DataFrame":
    """A frame of flows, checked; errors as `columns_of`."""
    return frame_in(checked_columns(cells_of(frame), where))


def flows_of(frame: "pd.DataFrame", where: str) -> list[Flow]:
    """The checked flows of a frame; errors as `columns_of`."""
    return flows_in(checked_columns(cells_of(frame), where))
