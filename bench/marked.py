"""Writes tables into pages of the documentation, between two comments that name the command."""

import re
from collections.abc import Sequence
from pathlib import Path


def write_between(page: Path, start: str, end: str, lines: Sequence[str]) -> None:
    """Replace the text between two markers of a page.

    Raises:
        ValueError: The page lacks the markers.
    """
    text = page.read_text()
    between = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    if not between.search(text):
        raise ValueError(f"{page}: add the markers {start} and {end}")
    page.write_text(between.sub(lambda _: "\n".join([start, *lines, end]), text))
