"""Stores and descriptors on one link: each connection of a mux, over the longest message by stores."""

from collections.abc import Iterator

import altair as alt
import pandas as pd

from pcielab.charts.axes import size_text
from pcielab.charts.frame import Figure, titled
from pcielab.charts.run import Run, Sources, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.charts.series import label_rows
from pcielab.kinds.messages.contention import link_of_test, panels_of_metrics
from pcielab.kinds.messages.rows import with_connections

_METRICS = {"bandwidth": "bandwidth (Gb/s)", "median": "median latency (ns)"}
_NONE = "none"
_OWN = "set by each connection"


def message_mux(sources: Sources) -> Figure:
    """Bandwidth and latency of each connection, over the longest message that goes by stores."""
    runs = runs_of(sources)
    data = pd.concat([label_rows(run, _rows(run)) for run in runs])
    if data.empty:
        raise MissingDataError("tests of a mux of stores and descriptors (pcielab run --suite kpio-mux)")
    order = data.sort_values("stores_up_to_bytes", na_position="last")["limit"].unique().tolist()
    x = alt.X("limit:O", title="messages by stores up to (bytes)", sort=order, axis=alt.Axis(labelAngle=0))
    figure = panels_of_metrics(runs, data, x, _METRICS, lines="connection", scale="log")
    note = "longer messages go by descriptors; all connections send at once, until the last has sent its messages"
    return titled(figure, "Stores and descriptors on one link", runs, note, claims=[*_claims(data)])


def _rows(run: Run) -> pd.DataFrame:
    rows = run.finished
    tests = rows[rows["way"] == "mux"]
    if tests.empty:
        return tests
    rows = with_connections(run.store, tests)
    # The limit of the test, if swept; a connection may have its own.
    swept = rows["id"].map(tests.set_index("id")["stores_up_to_bytes"]).astype(float)
    rows = rows.assign(stores_up_to_bytes=swept, limit=[_limit(value) for value in swept])
    rows = rows[rows["connection"].notna()]
    varying = [column for column in ("eviction", "pressure") if rows[column].nunique() > 1]
    groups = [
        ", ".join([link_of_test(run, test), test["family"], *(f"{one} {test[one]}" for one in varying)])
        for test in rows.to_dict("records")
    ]
    return rows.assign(group=groups, line=rows["connection"]).sort_values("stores_up_to_bytes", kind="stable")


def _limit(value: float) -> str:
    if pd.isna(value):
        return _OWN
    return _NONE if value == 0 else size_text(value) if value % 1024 == 0 else f"{value:,.0f}"


def _claims(data: pd.DataFrame) -> Iterator[str]:
    """The limits at which each connection is fastest and slowest, and the share of its messages that overtake."""
    for (run, group), drawn in data.groupby(["run", "group"], sort=False):
        lines = []
        for line, rows in drawn.groupby("line", sort=False):
            best, worst = rows.iloc[rows["median"].argmin()], rows.iloc[rows["median"].argmax()]
            said = f"{line}: {best['median']:,.0f} ns at {best['limit']}"
            if worst["limit"] != best["limit"]:
                said += f", {worst['median']:,.0f} ns at {worst['limit']}"
            overtook = rows["overtook"].sum() / rows["samples"].sum()
            lines.append(said + (f", {overtook:.0%} of all messages before one sent earlier" if overtook else ""))
        yield f"{run}, {group}, least and largest median latency: {'; '.join(lines)}."
