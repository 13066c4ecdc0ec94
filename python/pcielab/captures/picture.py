"""The picture of a capture: reads and bytes in flight, and data by direction, over time.

Stands alone: it alone loads Altair, at its use.
"""

import altair as alt
import pandas as pd

from pcielab.captures.explained import Explanation
from pcielab.charts.frame import Figure
from pcielab.errors import refusal

_WIDTH = 780
_HEIGHT = 150


def in_flight(found: Explanation, title: str) -> Figure:
    """Draw what was in flight over the time of a capture.

    Raises:
        InputError: The capture has no times.
    """
    spans = found.report["in_flight"]
    if not spans:
        raise refusal("missing", "a picture needs times, which this capture does not have: leave --output out")
    data = pd.DataFrame(spans).assign(start_us=lambda rows: rows["start_ns"] / 1000)
    simulated = "simulated; " if found.report["simulated"] else ""
    parts = [
        _lines(data, {"reads": "average", "most_reads": "most"}, "reads in flight"),
        _lines(data, {"bytes": "average", "most_bytes": "most"}, "bytes in flight"),
        _lines(data, {"upstream_gbps": "upstream", "downstream_gbps": "downstream"}, "data (Gb/s)"),
    ]
    heading = alt.TitleParams(title, subtitle=[simulated + found.sentences[1]], anchor="start")
    figure: Figure = alt.vconcat(*parts).resolve_scale(color="independent").properties(title=heading)
    return figure


def _lines(data: pd.DataFrame, columns: dict[str, str], title: str) -> alt.Chart:
    long = data.melt("start_us", list(columns), "line", "value").replace({"line": columns})
    time = alt.X("start_us:Q", title="time (us)")
    value = alt.Y("value:Q", title=title)
    colour = alt.Color("line:N", title=title, sort=list(columns.values()))
    lines = alt.Chart(long).mark_line(interpolate="step-after")
    drawn: alt.Chart = lines.encode(x=time, y=value, color=colour).properties(width=_WIDTH, height=_HEIGHT)
    return drawn
