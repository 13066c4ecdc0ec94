"""What a CXL memory expander gives, for the page that asks: the closed form of `pcielab model cxl`.

Stands alone: one page asks this.
"""

import json
from collections.abc import Mapping
from typing import Any

from pcielab import _core
from pcielab.analysis.why.expander import FULL
from pcielab.errors import refusal
from pcielab.library.input_files import read_toml
from pcielab.library.shipped import profile_files


def shipped_expanders() -> dict[str, dict[str, Any]]:
    """The tables of the shipped files by name."""
    return {name: read_toml(path) for name, path in profile_files("expander").items()}


def setting() -> dict[str, Any]:
    """What the page needs first: the shipped expanders, and what each bound means."""
    return {"shipped": shipped_expanders(), "because": FULL}


def answered(asked: Any) -> list[Any]:
    """The rates of a shipped expander with each mix, as the page without a server computes them.

    Args:
        asked: Its `name`, `changes` by dotted key, `read_shares` and `loads`.

    Raises:
        InputError: A value is refused.
    """
    if not isinstance(asked, Mapping):
        raise refusal("wrong-type", "give an object")
    own = {key: asked[key] for key in ("name", "changes") if key in asked}
    question = {key: value for key, value in asked.items() if key not in own}
    described = {**own, "shipped": {"expander": shipped_expanders()}}
    found: list[Any] = json.loads(_core.ask_page("expander", json.dumps({**question, "expander": described})))
    return found
