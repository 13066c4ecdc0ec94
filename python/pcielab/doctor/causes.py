"""The causes of low numbers that findings and advice name: `causes.toml`, read once."""

from functools import cache
from pathlib import Path
from typing import Literal

from pcielab.doctor.tree import Record
from pcielab.library.input_files import read_toml


class Cause(Record):
    """One cause."""

    title: str
    grade: Literal["A", "B", "C", "D"]
    """A.

    Controlled measurement or paper; B: report with before and after; C: statement; D: specification alone.
    """
    looks_like: str
    check: str
    """How to check it by hand."""
    expect: str
    """What it was measured to cost."""
    remedy: str
    symptoms: tuple[str, ...]
    """Kinds of rows of a run in which it is worth a check."""
    sources: tuple[str, ...]


@cache
def causes() -> dict[str, Cause]:
    """All causes by their key, in the order of the file."""
    tables = read_toml(Path(__file__).with_name("causes.toml"))
    return {key: Cause.model_validate(table) for key, table in tables.items()}
