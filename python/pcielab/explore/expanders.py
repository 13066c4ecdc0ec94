"""What a CXL memory expander gives, for the page that asks: the closed form of `pcielab model cxl`.

Stands alone: one page asks this.
"""

import json
from collections.abc import Mapping
from typing import Any

from pcielab import _core
from pcielab.analysis.why.expander import FULL
from pcielab.errors import refusal
from pcielab.library.shipped import profile_tables


def setting() -> dict[str, Any]:
    """What the page needs first: the shipped expanders, and what each bound means."""
    return {"shipped": profile_tables("expander")["expander"], "because": FULL}


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
    described = {**own, "shipped": profile_tables("expander")}
    found: list[Any] = json.loads(_core.ask_page("expander", json.dumps({**question, "expander": described})))
    return found
