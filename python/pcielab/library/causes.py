"""The causes of low numbers that the doctor's findings and `normal` name, from `causes.toml`.

`crates/pcie-doctor` embeds the same file.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pcielab.library.input_files import read_toml


@dataclass(frozen=True)
class Cause:
    """One cause."""

    title: str
    grade: Literal["A", "B", "C", "D"]
    """A: controlled measurement or paper; B: report with before and after; C: statement; D: specification only."""
    looks_like: str
    check: str
    """How to check it by hand."""
    expect: str
    """Its measured cost."""
    remedy: str
    symptoms: tuple[str, ...]
    """Kinds of rows of a run that suggest checking for it."""
    sources: tuple[str, ...]
    maker: str = ""
    """Maker of processors: others do not have the cause; empty: any."""
    not_engine: str = ""
    """Engine that rules it out, a word of `ENGINES`; empty: none."""


@cache
def causes() -> dict[str, Cause]:
    """All causes by their key, in the order of the file."""
    tables = read_toml(Path(__file__).with_name("causes.toml"))
    return {
        key: Cause(**table | {name: tuple(table[name]) for name in ("symptoms", "sources")})
        for key, table in tables.items()
    }
