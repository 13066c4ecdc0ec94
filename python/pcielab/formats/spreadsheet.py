"""Guard CSV files against texts that a spreadsheet would take for a formula.

Texts of stores and fabrics may come from untrusted files. One that begins like a formula gets an apostrophe as
prefix, which marks text in spreadsheets. Numbers stay unchanged.
"""

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pandas as pd

FORMULA_BEGINS = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a formula, as spreadsheets read a CSV file."""

Cell = TypeVar("Cell")


def guarded_cell(cell: Cell) -> Cell | str:
    """A cell of a CSV file, with an apostrophe before a text that would be a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_BEGINS) else cell


def guarded_frame(frame: "pd.DataFrame") -> "pd.DataFrame":
    """A frame with guarded texts and column names."""
    shown = frame.rename(columns={column: guarded_cell(str(column)) for column in frame.columns})
    for column in shown.select_dtypes(exclude="number"):
        texts = shown[column].astype("string")
        if texts.str.startswith(FORMULA_BEGINS).any():
            shown[column] = shown[column].map(guarded_cell)
    return shown
