"""The compiled half's answers to pages (`crates/pcie-page`): the page without a server asks the same functions."""

import json
from functools import cache
from typing import Any

from pcielab import _core


def ask_page(name: str, asked: object) -> Any:
    """Answer a request of a page.

    Args:
        name: Its name: `answer`, `plan`, `drawn`, `take-out`, ...
        asked: Its content.

    Raises:
        InputError: The content asks the impossible.
    """
    return json.loads(_core.ask_page(name, json.dumps(asked)))


@cache
def curve_values() -> dict[str, list[int]]:
    """The `sizes` and `windows` of curves, bytes."""
    published = ask_page("published", {})
    return {name: published[name] for name in ("sizes", "windows")}
