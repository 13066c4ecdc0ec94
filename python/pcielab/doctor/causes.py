"""The causes of low numbers that findings and advice name: `causes.toml`, read once."""

import tomllib
from functools import cache
from importlib import resources
from typing import Literal

from pcielab.doctor.tree import Record


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
    text = (resources.files("pcielab.doctor") / "causes.toml").read_text(encoding="utf-8")
    return {key: Cause.model_validate(table) for key, table in tomllib.loads(text).items()}
