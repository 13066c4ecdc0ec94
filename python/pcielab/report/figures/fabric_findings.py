"""Sentences about figures of fabrics, each computed from the rows that the figure draws."""

from collections.abc import Iterator

import pandas as pd

_MOST_SENTENCES = 8
_UNITS = {"average": "ns", "percentiles": "ns", "bandwidth": "GB/s", "tail": "times the average"}
_NOTICED_PERCENT = 1.0
_WHOLE_FROM = 1000
_A_MULTIPLE_FROM_PERCENT = 100.0


def sweep_findings(data: pd.DataFrame, metric: str) -> Iterator[str]:
    """What the last point of each line is against its first; of many lines those that change most.

    Args:
        data: rows with `series`, `flow`, `value` and `metric`; those of a paper have a `source`, and are left out.
        metric: what `metric` holds, as `FabricPlot` names it.
    """
    simulated = data[data["source"].isna()] if "source" in data else data
    unit = _UNITS[metric]
    keys = ["series", "flow", *(["percentile"] if "percentile" in simulated else [])]
    told = []
    for key, rows in simulated.groupby(keys, sort=False, dropna=False):
        rows = rows.sort_values("value", kind="stable")
        first, last = float(rows["metric"].iloc[0]), float(rows["metric"].iloc[-1])
        name = ", ".join(str(part) for part in key)
        if len(rows) == 1 or rows["value"].isna().any():
            told += [(0.0, f"{name}: {_text(float(one))} {unit}.") for one in rows["metric"]]
            continue
        change = 100 * (last / first - 1) if first else 0.0
        apart = _apart(change)
        places = [_text(float(place)) for place in rows["value"].iloc[[0, -1]]]
        span = f"{_text(first)} {unit} at {places[0]}, {_text(last)} at {places[1]}"
        told.append((abs(change), f"{name}: {span} ({apart})."))
    shown = sorted(told, key=lambda one: -one[0])[:_MOST_SENTENCES]
    yield from (sentence for _, sentence in shown)
    if len(told) > len(shown):
        yield f"The figure has {len(told) - len(shown)} more."


def _apart(change_percent: float) -> str:
    """How far two values are apart: in percent, and as a multiple where that would be a number of hundreds."""
    if abs(change_percent) < _NOTICED_PERCENT:
        return "equal within 1 %"
    if change_percent >= _A_MULTIPLE_FROM_PERCENT:
        return f"{1 + change_percent / 100:,.3g} times"
    return f"{change_percent:+.0f} %"


def _text(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM or value.is_integer() else f"{value:.4g}"
