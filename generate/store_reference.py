"""The page of stores: its tables of parameters and metrics, from the compiled half."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from generate import test_types
from pcielab import _core

START, END = "<!-- metrics -->", "<!-- end of metrics -->"
_TABLES = {"scalar": "", "series": "series ", "distribution": "distribution "}


def page() -> str:
    """The page, with both tables."""
    before, _, rest = test_types.page().partition(START)
    _, _, after = rest.partition(END)
    rows = [
        f"| {kind} | {row} |" for kind, metrics in json.loads(_core.store_metrics()) for row in map(_row, metrics)
    ]
    head = ["| run | subject | metrics | unit | range |", "|---|---|---|---|---|"]
    return before + "\n".join([START, "", *head, *rows, "", END]) + after


def _row(metrics: Mapping[str, Any]) -> str:
    names = _TABLES[metrics["table"]] + _listed(metrics["names"])
    quantity = metrics["quantity"]
    unit = "any" if quantity["unit"] == "*" else quantity["unit"]
    span = f"{_number(quantity['least'])} to {_number(quantity['most'])}{', whole' if quantity['whole'] else ''}"
    return f"{_listed(metrics['subjects'])} | {names} | {unit} | {span}"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" if word else "" for word in words)


def _number(value: float) -> str:
    return f"{value:g}".replace("e+", "e").replace("e0", "e")
