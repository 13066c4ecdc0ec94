"""Figure 3 of the paper: the host buffer and its accesses. A drawing, to scale."""

from typing import cast

import altair as alt
import pandas as pd

from pcielab.charts.frame import Figure, single_panel, titled

_LINE_BYTES = 64
_BUFFER, _WINDOW, _UNITS, _ACCESSES = "host buffer", "window", "units", "transactions"
_ROWS = [_BUFFER, _WINDOW, _UNITS, _ACCESSES]
_DRAWN_UNITS = 8


def buffer_layout(*, size_bytes: int = 100, offset_bytes: int = 16, window_units: int = 5) -> Figure:
    """The window of a host buffer, its units, and the bytes that a transaction moves (figure 3).

    Args:
        size_bytes: Transfer size.
        offset_bytes: Offset of its start from a cache line.
        window_units: Units of the window, out of the eight drawn.
    """
    unit = -(-(size_bytes + offset_bytes) // _LINE_BYTES) * _LINE_BYTES
    pieces = [
        *((_BUFFER, line * _LINE_BYTES, (line + 1) * _LINE_BYTES) for line in range(_DRAWN_UNITS * unit // 64)),
        (_WINDOW, 0, window_units * unit),
        *((_UNITS, nth * unit, (nth + 1) * unit) for nth in range(window_units)),
        *(
            (_ACCESSES, nth * unit + offset_bytes, nth * unit + offset_bytes + size_bytes)
            for nth in range(window_units)
        ),
    ]
    data = pd.DataFrame(pieces, columns=["part", "first", "end"])
    texts = {
        _BUFFER: "cache lines of 64 B",
        _WINDOW: "accessed repeatedly",
        _UNITS: f"offset + size, in whole lines: {unit} B",
        _ACCESSES: f"{size_bytes} B at offset {offset_bytes} B",
    }
    data["is"] = data["part"].map(texts)
    marks = [nth * unit for nth in range(_DRAWN_UNITS + 1)]
    y = alt.Y("part:N", sort=_ROWS, title=None)
    bars = (
        alt.Chart()
        .mark_bar(stroke="white", strokeWidth=1.5, height=28)
        .encode(
            x=alt.X("first:Q", title="offset in the buffer (bytes)", axis=alt.Axis(values=marks)),
            x2="end:Q",
            y=y,
            color=alt.Color("is:N", title="part", sort=[texts[row] for row in _ROWS]),
            tooltip=["part:N", "is:N", "first:Q", "end:Q"],
        )
    )
    figure = single_panel([cast(alt.Chart, bars)], data, height=220)
    window_bytes = window_units * unit
    note = f"a drawing to scale: transfers of {size_bytes} B, offset {offset_bytes} B, window {window_bytes} B"
    return titled(figure, "Figure 3: host buffer and access parameters", [], note)
