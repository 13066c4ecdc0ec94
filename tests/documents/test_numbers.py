"""Every number of the documentation has a known origin; those that are cheap to compute are computed again."""

import re
from collections import Counter
from pathlib import Path

import pytest

from . import numbers
from .blocks import ROOT
from .numbers import LEDGER, PAGES, WRITTEN, Entry, entered, entries, sections
from .recomputed import RECOMPUTED

MAKEFILES = (ROOT / "Makefile", ROOT / "bench/checks.mk")


def title(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_every_number_of_a_page_has_an_origin(page: Path) -> None:
    for section in sections(page):
        found, known = Counter(section.numbers), entered(section)
        where = f"{section.page}, {section.title}"
        assert not found - known, f"{where}: show them in a block, or add them to {LEDGER.name} with their origin"
        assert not known - found, f"{where}: no longer there: remove them from {LEDGER.name}"


def test_every_entry_is_of_a_section_with_numbers() -> None:
    known = {(section.page, section.title) for page in PAGES for section in sections(page)}
    assert [entry for entry in entries() if (entry.page, entry.section) not in known] == []


@pytest.mark.parametrize("name", RECOMPUTED)
def test_a_number_is_what_its_computation_gives(name: str) -> None:
    users = [entry for entry in entries() if entry.origin == "recomputed" and entry.by == name]
    assert users, f"no entry of {LEDGER.name} names it"
    for entry in users:
        assert entry.numbers == RECOMPUTED[name](), f"{entry.page}, {entry.section}"


@pytest.mark.parametrize("entry", [entry for entry in entries() if entry.by], ids=lambda entry: entry.by)
def test_what_gives_a_number_exists(entry: Entry) -> None:
    if entry.origin == "recomputed":
        assert entry.by in RECOMPUTED
        return
    assert entry.origin == "command"
    tool, name, *_ = entry.by.split()
    if tool == "make":
        targets = re.findall(r"^([\w-]+):", "\n".join(file.read_text() for file in MAKEFILES), re.MULTILINE)
        assert name in targets
    else:
        assert tool == "pcielab" or (ROOT / name).is_file()


def test_pages_that_scripts_write_exist_and_are_compared() -> None:
    for page, compared_by in WRITTEN.items():
        assert (ROOT / "docs" / page).is_file()
        assert (ROOT / compared_by).is_file()


def test_numbers_are_read_from_text_and_tables_but_not_from_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbers, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "# Rates\n\nIt reads 41.5 of 1,000 `--tags 77`, and 99 as below; 64 B, 7 times.\n\n"
        "| a | b |\n|---|---|\n| 13.2 | x |\n\n```console\n99\n```\n\n"
        "<!-- table: make closeness -->\n| 55 |\n<!-- end of table -->\n",
        encoding="utf-8",
    )
    assert [section.numbers for section in sections(page)] == [("41.5", "1,000", "13.2")]
