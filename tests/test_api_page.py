"""The page of the Python API lists every name; `python -m generate --check` compares it with the docstrings."""

from pathlib import Path

import pcielab

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"


def test_the_page_has_every_name() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in dir(pcielab) if name != "__version__" and f"### pcielab.{name}\n" not in page] == []
    assert "`tests`: Only these: numbers of tests" in page
