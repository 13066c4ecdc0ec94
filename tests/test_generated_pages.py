"""Reference pages that `make generate` writes are current."""

import importlib
from pathlib import Path

import pytest

from generate.__main__ import WRITTEN

ROOT = Path(__file__).parents[1]
ELSEWHERE = ("docs/reference/api.md", "docs/reference/loaded-hosts.md")
"""Pages that `test_api_page.py` and `test_loaded_hosts.py` compare."""
PAGES = [name for name in WRITTEN if name.endswith(".md") and name not in ELSEWHERE]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_current(page: str) -> None:
    module, _, function = WRITTEN[page].partition(":")
    made: str = getattr(importlib.import_module(f"generate.{module}"), function)()
    assert (ROOT / page).read_text(encoding="utf-8") == made, "run make generate"
