"""Sentences about figures of fabrics, each computed from the rows that the figure draws.

Bars get none: they would repeat their lengths.
"""

from collections.abc import Iterator

import pandas as pd

from pcielab.wording import time_text

_MOST_SENTENCES = 8
_UNITS = {"average": "ns", "percentiles": "ns", "bandwidth": "GB/s", "tail": "times the average"}
_NOTICED_PERCENT = 1.0
_WHOLE_FROM = 1000
_A_MULTIPLE_FROM_PERCENT = 100.0


def sweep_claims(data: pd.DataFrame, metric: str) -> Iterator[str]:
    """The last point of each line beside its first; of many lines, those that change most. Bars have none.

    Published rows, which have a `source`, are left out; `metric` is as in `FabricPlot`.
    """
    simulated = data[data["source"].isna()] if "source" in data else data
    unit = _UNITS[metric]
    keys = ["series", "flow", *(["percentile"] if "percentile" in simulated else [])]
    sentences = []
    for key, rows in simulated.groupby(keys, sort=False, dropna=False):
        if len(rows) == 1 or rows["value"].isna().any():
            continue
        rows = rows.sort_values("value", kind="stable")
        first, last = float(rows["metric"].iloc[0]), float(rows["metric"].iloc[-1])
        name = ", ".join(str(part) for part in key)
        change = 100 * (last / first - 1) if first else 0.0
        apart = _apart(change)
        ends = [_text(float(value)) for value in rows["value"].iloc[[0, -1]]]
        span = f"{_with_unit(first, unit)} at {ends[0]}, {_with_unit(last, unit)} at {ends[1]}"
        sentences.append((abs(change), f"{name}: {span} ({apart})."))
    shown = sorted(sentences, key=lambda one: -one[0])[:_MOST_SENTENCES]
    yield from (sentence for _, sentence in shown)
    if len(sentences) > len(shown):
        yield f"The figure has {len(sentences) - len(shown)} more lines."


def _apart(change_percent: float) -> str:
    """The change in words: in percent, or as a multiple from 100 % on."""
    if abs(change_percent) < _NOTICED_PERCENT:
        return "equal within 1 %"
    if change_percent >= _A_MULTIPLE_FROM_PERCENT:
        return f"{1 + change_percent / 100:,.3g} times"
    return f"{change_percent:+.0f} %"


def _with_unit(value: float, unit: str) -> str:
    return time_text(value) if unit == "ns" else f"{_text(value)} {unit}"


def _text(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM or value.is_integer() else f"{value:.4g}"
