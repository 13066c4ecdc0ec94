"""Draws the speed of the simulator over its commits: `make speed-figure`.

Reads the lines of `bench/history.jsonl` that `make bench-compare` wrote with the base of the last one, and writes
`docs/images/speed.svg`.
"""

import json
import sys
from pathlib import Path

import altair as alt
import pandas as pd

from pcielab.report import save_figure

ROOT = Path(__file__).parents[1]
HISTORY = ROOT / "bench" / "history.jsonl"
_MOST = 10
"""Largest ratio that is drawn: a test above it repeats itself, and is no longer simulated in full."""


def main() -> None:
    """Read the history and draw it."""
    lines = [line for line in map(json.loads, HISTORY.read_text().splitlines()) if line.get("unit") == "ns"]
    if not lines:
        sys.exit(f"{HISTORY}: no comparison to draw; run make bench-compare BASE=COMMIT RECORD={HISTORY}")
    base = lines[-1]["base"]
    of_base = [line for line in lines if line["base"] == base]
    subjects = list(dict.fromkeys(line["subject"] for line in of_base))
    points = pd.DataFrame([one | {"commit": line["subject"]} for line in of_base for one in line["compared"]])
    simulated = points.groupby("test")["ratio"].transform("max") <= _MOST
    save_figure(_figure(points[simulated], subjects, base[:8]), ROOT / "docs" / "images" / "speed.svg")


def _figure(points: pd.DataFrame, subjects: list[str], base: str) -> alt.LayerChart | alt.FacetChart:
    """Ratios with their intervals: a row for each test, a colour for each commit."""
    rows = alt.Y("test:N", sort=None, title=None, axis=alt.Axis(labelLimit=300))
    offset = alt.YOffset("commit:N", sort=subjects)
    colour = alt.Color(
        "commit:N", sort=subjects, title="commit", legend=alt.Legend(orient="bottom", columns=1, labelLimit=500)
    )
    scale = alt.Scale(type="log", nice=False)
    chart = alt.Chart(points).encode(y=rows, yOffset=offset, color=colour)
    intervals = chart.mark_rule().encode(
        x=alt.X("low:Q", scale=scale, title=f"speed, as a multiple of {base} (95 % interval)"), x2="high:Q"
    )
    dots = chart.mark_point(filled=True, size=40).encode(x=alt.X("ratio:Q", scale=scale))
    same = alt.Chart(pd.DataFrame({"ratio": [1.0]})).mark_rule(strokeDash=[4, 4]).encode(x="ratio:Q")
    return alt.layer(same, intervals, dots).properties(width=420, height=alt.Step(9))


if __name__ == "__main__":
    main()
