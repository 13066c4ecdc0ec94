"""Tables of ``README.md`` that scripts write, each between two comments with its name."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).resolve().parent / "README.md"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def section(name: str) -> str:
    """The content of a section.

    Raises:
        LookupError: The README lacks the section.
    """
    found = re.search(pattern(name), README.read_text(), re.DOTALL)
    if found is None:
        raise LookupError(f"{README}: no section <!-- {name} --> .. <!-- end of {name} -->")
    return found[2].strip()


def write_section(name: str, text: str) -> None:
    """Replace the content of a section.

    Raises:
        LookupError: The README lacks the section.
    """
    section(name)
    replaced = re.sub(pattern(name), lambda at: f"{at[1]}\n{text}\n{at[3]}", README.read_text(), flags=re.DOTALL)
    README.write_text(replaced)


def pattern(name: str) -> str:
    """The regular expression of a section with its two comments."""
    return f"(<!-- {re.escape(name)} -->\n)(.*?)(<!-- end of {re.escape(name)} -->)"
