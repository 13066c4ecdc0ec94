"""Numbers in the text and the tables of the documentation, and where each comes from.

A number needs no entry in `numbers.toml` if it is

* in a fenced block of its page: `test_documents` runs these,
* between two comments that name a command (`<!-- bounds: make trust-tables -->`): that command writes it,
* on a page that a script writes and a test compares (`WRITTEN`), or
* a whole number up to 12, or a power of two: counts, and sizes that the reader may choose.

All others are in `numbers.toml`, by page and section, with their origin.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pydantic import BaseModel, ConfigDict, Field

from pcielab.library.input_files import read_toml

from .blocks import DOCUMENTS, ROOT

Origin: TypeAlias = Literal[
    "recomputed",
    "source",
    "measured",
    "setting",
    "arithmetic",
    "command",
    "name",
    "question",
    "experiment",
]
"""`recomputed`: the function `by` of `recomputed.py` gives them, and a test compares. `source`: figures of a
source that the text names. `measured`: rows of published measurements. `setting`: limits and constants of code,
profiles or a specification. `arithmetic`: they follow from numbers beside them. `command`: the command `by` prints
them, and no test compares. `name`: versions, years and products. `question`: a reader's example. `experiment`:
results of experiments that no command of this repository repeats."""
WRITTEN = {
    "reference/api.md": "generate/__main__.py",
    "reference/doctor.md": "generate/__main__.py",
    "reference/fabric-paper.md": "tests/test_fabric.py",
    "reference/hardware.md": "generate/__main__.py",
    "reference/expanders.md": "generate/__main__.py",
    "reference/loads-and-stores.md": "generate/__main__.py",
    "reference/kpio-paper.md": "tests/test_published_messages.py",
    "reference/loaded-hosts.md": "generate/__main__.py",
    "reference/paper.md": "tests/test_paper_commands.py",
    "reference/profiles.md": "generate/__main__.py",
    "reference/published-figures.md": "generate/__main__.py",
    "reference/rtl-registers.md": "rtl/tb/test_registers.py",
}
"""Pages that a script writes, and what compares them."""
PAGES = [page for page in DOCUMENTS if str(page.relative_to(ROOT)).removeprefix("docs/") not in WRITTEN]
LEDGER = Path(__file__).with_name("numbers.toml")
_NUMBER = re.compile(r"(?<![\w.#/-])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w.]*\d)")
_MARKED = re.compile(r"<!-- ([\w ]+): make [\w-]+ -->.*?<!-- end of \1 -->", re.DOTALL)
_SMALL = 12


class Entry(BaseModel):
    """Numbers of a section of a page, and their origin."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    page: str
    section: str
    origin: Origin
    numbers: list[str] = Field(min_length=1)
    by: str = ""


@dataclass(frozen=True)
class Section:
    """The numbers of a section that need an entry, in their order."""

    page: str
    title: str
    numbers: tuple[str, ...]


@cache
def entries() -> list[Entry]:
    """All entries."""
    return [Entry.model_validate(entry) for entry in read_toml(LEDGER)["entry"]]


def sections(page: Path) -> Iterator[Section]:
    """The sections of a page with numbers that need an entry."""
    tokens = MarkdownIt("commonmark").enable("table").parse(_MARKED.sub("", page.read_text(encoding="utf-8")))
    shown = set(_NUMBER.findall(" ".join(token.content for token in tokens if token.type == "fence")))
    found: dict[str, list[str]] = {}
    title = ""
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type != "inline":
            continue
        text = _text(token)
        if before is not None and before.type == "heading_open":
            title = text
        needed = [number for number in _NUMBER.findall(text) if number not in shown and not _is_plain(number)]
        found.setdefault(title, []).extend(needed)
    name = str(page.relative_to(ROOT))
    yield from (Section(name, title, tuple(numbers)) for title, numbers in found.items() if numbers)


def entered(section: Section) -> Counter[str]:
    """The numbers of a section's entries."""
    known = [entry for entry in entries() if (entry.page, entry.section) == (section.page, section.title)]
    return Counter(number for entry in known for number in entry.numbers)


def _text(token: Token) -> str:
    """Running text without code."""
    parts = token.children or []
    return "".join(part.content if part.type in ("text", "softbreak") else " " for part in parts)


def _is_plain(number: str) -> bool:
    """Whether it is a small whole number or a power of two."""
    value = float(number.replace(",", ""))
    return value.is_integer() and (value <= _SMALL or int(value).bit_count() == 1)
