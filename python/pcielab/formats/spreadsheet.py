"""Texts in CSV files that a spreadsheet would take for a formula.

Texts of stores and fabrics come from others. One that begins as a formula does gets an apostrophe before it, which
spreadsheets take for "this is text". Numbers stay as they are.
"""

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pandas as pd

FORMULA_BEGINS = ("=", "+", "-", "@", "\t", "\r")
"""What the first character of a formula can be, as spreadsheets read a CSV file."""

Cell = TypeVar("Cell")


def guarded_cell(cell: Cell) -> Cell | str:
    """A cell as it can be written into a CSV file: an apostrophe before a text that would be a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_BEGINS) else cell


def guarded_frame(frame: "pd.DataFrame") -> "pd.DataFrame":
    """A frame with its texts guarded, those in its head too."""
    shown = frame.rename(columns={column: guarded_cell(str(column)) for column in frame.columns})
    for column in shown.select_dtypes(exclude="number"):
        texts = shown[column].astype("string")
        if texts.str.startswith(FORMULA_BEGINS).any():
            shown[column] = shown[column].map(guarded_cell)
    return shown
