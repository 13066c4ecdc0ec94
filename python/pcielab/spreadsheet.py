"""Texts in CSV files that a spreadsheet would take for a formula.

Texts of stores and fabrics come from others. One that begins as a formula does gets an apostrophe before it, which
spreadsheets take for "this is text".
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

FORMULA_BEGINS = ("=", "+", "-", "@", "\t", "\r")
"""What the first character of a formula can be, as spreadsheets read a CSV file."""


def guarded(text: str) -> str:
    """A text as it can be written into a CSV file: an apostrophe before what would be a formula."""
    return f"'{text}" if text.startswith(FORMULA_BEGINS) else text


def guarded_frame(frame: "pd.DataFrame") -> "pd.DataFrame":
    """A frame with all texts guarded, those in its head too; numbers stay as they are."""
    shown = frame.copy()
    for column in frame.select_dtypes(exclude="number"):
        shown[column] = frame[column].map(lambda cell: guarded(cell) if isinstance(cell, str) else cell)
    return shown.rename(columns={column: guarded(str(column)) for column in frame.columns})
