"""Messages that share: by stores from several cores, with early evictions, and the connections of a mux."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import altair as alt
import pandas as pd

from pcielab.charts.axes import size_text
from pcielab.charts.frame import Figure, titled, wrapped
from pcielab.charts.run import Run, Sources, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.charts.series import Dimension, Series, label_rows
from pcielab.kinds.messages.by_size import WAYS, link_name
from pcielab.kinds.messages.rows import with_connections
from pcielab.kinds.transfers.link_bounds import link_of

_WAYS = WAYS | {"write-combined-fenced": "stores, write-combined, fenced"}
_SHARINGS = {"own-queues": "a queue for each core", "one-queue": "one queue"}
_EVICTIONS = {"in-order": "the oldest buffer leaves", "random": "any buffer leaves"}
_NOTICED = 0.01
_BANDWIDTH = {"bandwidth": "bandwidth (Gb/s)"}


def message_cores(sources: Sources) -> Figure:
    """Bandwidth of all cores together, and latency of a message, over the number of cores."""
    runs = runs_of(sources)
    data = pd.concat([label_rows(run, _cores(run)) for run in runs])
    if data.empty:
        raise MissingDataError("tests of messages from several cores (pcielab run --suite kpio)")
    cores = sorted(set(data["cores"]))
    x = alt.X(
        "cores:Q", title="cores", scale=alt.Scale(type="log", base=2, nice=False), axis=alt.Axis(values=cores)
    )
    claims = [*_change_claims(data, "cores", "with {:.0f} cores", "with {:.0f}")]
    figure = panels_of_metrics(runs, data, x, _BANDWIDTH | {"median": "latency (ns)"})
    return titled(figure, "Messages from several cores", runs, claims=claims)


def message_evictions(sources: Sources) -> Figure:
    """Bandwidth, and bytes to the device, over the share of stores followed by an eviction."""
    runs = runs_of(sources)
    data = pd.concat([label_rows(run, _evictions(run)) for run in runs])
    if data.empty:
        raise MissingDataError("tests of messages with evictions (pcielab run --suite kpio)")
    x = alt.X("pressure:Q", title="share of the stores with an eviction", axis=alt.Axis(format=".0%"))
    claims = [*_change_claims(data, "pressure", "at a share of {:.0%}", "at {:.0%}")]
    figure = panels_of_metrics(runs, data, x, _BANDWIDTH | {"downstream_bytes": "bytes to the device per message"})
    return titled(figure, "Buffers evicted before they are full", runs, claims=claims)


def _sent_by_stores(run: Run) -> pd.DataFrame:
    rows = run.finished
    if rows["way"].isna().all():
        return rows.head(0)
    return rows[rows["way"].isin(list(_WAYS)) & (rows["pace"] == "stream")]


def _cores(run: Run) -> pd.DataFrame:
    """Messages without evictions, from tests that differ in their number of cores."""
    rows = _sent_by_stores(run)
    rows = rows[(rows["pressure"] == 0) & (rows["eviction"] == "in-order")]
    alike = ["way", "size_bytes", "sharing", "generation", "lanes"]
    rows = rows[rows.groupby(alike, dropna=False)["cores"].transform("nunique") > 1] if len(rows) else rows
    links = [link_of_test(run, test) for test in rows.to_dict("records")]
    lines = [
        f"{_WAYS[way]}, {size} B, {_SHARINGS.get(sharing, sharing)}"
        for way, size, sharing in zip(rows["way"], rows["size_bytes"], rows["sharing"], strict=True)
    ]
    return rows.assign(group=links, line=lines).sort_values("cores", kind="stable")


def _evictions(run: Run) -> pd.DataFrame:
    """Messages of one core, from tests that differ in their rate of evictions."""
    rows = _sent_by_stores(run)
    rows = rows[rows["cores"] == 1] if len(rows) else rows
    alike = ["way", "size_bytes", "eviction", "generation", "lanes"]
    rows = rows[rows.groupby(alike, dropna=False)["pressure"].transform("nunique") > 1] if len(rows) else rows
    links = [f"{link_of_test(run, test)}, {test['size_bytes']} B" for test in rows.to_dict("records")]
    lines = [
        f"{_WAYS[way]}, {_EVICTIONS.get(eviction, eviction)}"
        for way, eviction in zip(rows["way"], rows["eviction"], strict=True)
    ]
    return rows.assign(group=links, line=lines).sort_values("pressure", kind="stable")


def link_of_test(run: Run, test: Mapping[Any, Any]) -> str:
    """The link of a message: the one named by its test, or its system's."""
    named, own = link_name(test["generation"], test["lanes"]), link_of(run)
    if named:
        return named
    return f"Gen{own.generation} x{own.lanes}" if own is not None else "the system's own link"


def panels_of_metrics(
    runs: Sequence[Run],
    data: pd.DataFrame,
    x: alt.X,
    metrics: Mapping[str, str],
    *,
    lines: str = "messages",
    scale: Literal["linear", "log"] = "linear",
) -> Figure:
    """A panel for each metric and group; lines have the same colour in all.

    Data have the columns `group` and `line`, that of `x`, and those of `metrics`, which maps columns to titles;
    `lines` is the legend's title, and `scale` that of the metrics.
    """
    series = Series(runs, Dimension("line", lines, list(dict.fromkeys(data["line"]))))
    folded = pd.concat(
        [data.assign(value=data[metric], panel=data["group"] + " · " + title) for metric, title in metrics.items()]
    )
    names = [f"{group} · {title}" for group in sorted(set(data["group"])) for title in metrics.values()]
    y = alt.Y(
        "value:Q", title=None, scale=alt.Scale(type=scale, zero=True if scale == "linear" else alt.Undefined)
    )
    swept = str(x.shorthand).partition(":")[0]
    kept = [swept, "line", "value", "panel", "run", "run_name", "role"]
    tooltip = [alt.Tooltip(f"{name}:N") for name in ("run", "line", swept)]
    layers = series.layers(x, y, [*tooltip, alt.Tooltip("value:Q", format=",.2f")])
    return wrapped(layers, folded[kept], "panel", names)


def _change_claims(data: pd.DataFrame, swept: str, last: str, first: str) -> Iterator[str]:
    """The bandwidth at the last swept value beside the first, for each line."""
    for (run, where), drawn in data.groupby(["run", "group"], sort=False):
        changes = []
        for line, rows in drawn.groupby("line", sort=False):
            times = rows["bandwidth"].iloc[-1] / rows["bandwidth"].iloc[0]
            same = abs(times - 1) < _NOTICED
            changes.append(f"{line}: {'the same, within 1 %' if same else f'{times:.2f} times as much'}")
        ends = last.format(drawn[swept].max()), first.format(drawn[swept].min())
        yield f"{run}, {where}, bandwidth {ends[0]} beside that {ends[1]}: {'; '.join(changes)}."


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
