"""Figures 7 and 8 of the kPIO+WC paper: latency and bandwidth of messages over their size, by method."""

from collections.abc import Iterator

import altair as alt
import pandas as pd

from pcielab import model
from pcielab.charts.axes import bandwidth_axis, bytes_axis
from pcielab.charts.frame import Figure, panels, single_panel, titled
from pcielab.charts.residual import RESIDUAL_HEIGHT, Residual, measured_of, with_residuals
from pcielab.charts.run import MODELLED, Run, Source, Sources, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.charts.series import Dimension, Series, label_rows, run_tooltip
from pcielab.kinds.beside_published import deviations
from pcielab.kinds.messages.combining import caution
from pcielab.kinds.transfers.link_bounds import link_of

WAYS = {
    "write-combined": "stores, write-combined",
    "uncached": "stores, uncached",
    "descriptors": "descriptor DMA",
}
_NEEDED = "tests of messages at two or more sizes (pcielab run --suite kpio)"
_TITLES = {"median": "latency (ns)", "bandwidth": "bandwidth (Gb/s)"}
_COLUMNS = [
    "family",
    "way",
    "size_bytes",
    "median",
    "bandwidth",
    "cpu",
    "downstream_bytes",
    "upstream_bytes",
    "link",
]


def message_latency_by_size(sources: Sources, *, measured: Source | None = None) -> Figure:
    """Latency of a message by itself over its payload, on the link of the run's system (figure 7)."""
    return _by_size(sources, measured, "alone", "median", "Latency of a message by itself, over its payload")


def message_bandwidth_by_size(sources: Sources, *, measured: Source | None = None) -> Figure:
    """Payload bandwidth of message after message, on the link of the run's system (figure 8)."""
    return _by_size(sources, measured, "stream", "bandwidth", "Bandwidth of message after message, over payload")


def message_latency_by_link(sources: Sources, *, measured: Source | None = None) -> Figure:
    """The latency of messages on other links, a panel each."""
    return _by_link(sources, measured, "alone", "median", "Latency of a message by itself, on later links")


def message_bandwidth_by_link(sources: Sources, *, measured: Source | None = None) -> Figure:
    """The bandwidth of messages on other links, a panel each."""
    return _by_link(sources, measured, "stream", "bandwidth", "Bandwidth of message after message, on later links")


def message_rows(run: Run, *, own_link: bool) -> pd.DataFrame:
    """The rows of messages from one core without evictions, on the system's link or on named ones."""
    rows = run.finished
    if "way" not in rows or rows["way"].isna().all():
        return rows.head(0).assign(link="")
    rows = rows[rows["way"].isin(list(WAYS)) & (rows["cores"] == 1) & (rows["pressure"].fillna(0) == 0)]
    rows = rows[(rows["eviction"].fillna("in-order") == "in-order") & (rows["generation"].isna() == own_link)]
    link = [
        "" if own_link else link_name(generation, lanes)
        for generation, lanes in zip(rows["generation"], rows["lanes"], strict=True)
    ]
    return rows.assign(link=link)


def link_name(generation: float | None, lanes: float | None) -> str:
    """The link that a test of messages names, as `Gen5 x8`; empty if none."""
    return "" if pd.isna(generation) or pd.isna(lanes) else f"Gen{generation:.0f} x{lanes:.0f}"


def _rows(run: Run, pace: str, *, own_link: bool) -> pd.DataFrame:
    rows = message_rows(run, own_link=own_link)
    rows = rows[rows["pace"] == pace].reindex(columns=_COLUMNS)
    rows = rows.drop_duplicates(["way", "size_bytes", "link"])
    return rows.assign(way_title=rows["way"].map(WAYS)).sort_values(["link", "way", "size_bytes"], kind="stable")


def _drawn(runs: list[Run], pace: str, *, own_link: bool) -> pd.DataFrame:
    drawn = pd.concat([label_rows(run, _rows(run, pace, own_link=own_link)) for run in runs])
    # A link with one method has nothing to compare; one with a few sizes would be a nearly empty panel.
    by_link = drawn.groupby("link")
    sizes = by_link["size_bytes"].transform("nunique")
    kept: pd.DataFrame = drawn[(by_link["way"].transform("nunique") > 1) & (2 * sizes >= sizes.max())]
    if kept["size_bytes"].nunique() < 2:
        raise MissingDataError(_NEEDED if own_link else f"{_NEEDED} on links that the suite names")
    return kept


def _series(runs: list[Run], data: pd.DataFrame) -> Series:
    ways = [title for title in WAYS.values() if title in set(data["way_title"])]
    return Series(runs, Dimension("way_title", "way", ways))


def _axes(data: pd.DataFrame, metric: str) -> tuple[alt.X, alt.Y]:
    x = bytes_axis("size_bytes", "payload (bytes)", data["size_bytes"], step=2)
    if metric == "bandwidth":
        return x, bandwidth_axis()
    return x, alt.Y("median:Q", title=_TITLES[metric], scale=alt.Scale(type="log", nice=False))


def _by_size(sources: Sources, measured: Source | None, pace: str, metric: str, title: str) -> Figure:
    runs = runs_of(sources, measured)
    data = _drawn(runs, pace, own_link=True)
    x, y = _axes(data, metric)
    series = _series(runs, data)
    layers = series.layers(x, y, message_tooltip(), points_on_lines=False)
    bound = _bare_link(runs, data, metric)
    note = ""
    if not bound.empty:
        layers.insert(0, _bound_line(x, y))
        note = f"grey: {bound['bound'].iloc[0]}"
    residual = _residual(metric)
    figure = with_residuals(
        single_panel(layers, pd.concat([data, bound])),
        residual.rows(data, measured_of(runs)),
        lambda rows: single_panel(residual.layers(series, x), rows, height=RESIDUAL_HEIGHT),
    )
    missed = (
        sentence for run in runs for family in set(data["family"]) for sentence in deviations(run.store, family)
    )
    not_combined = (f"{run.entry}: {said}." for run in runs if (said := caution(run.store)))
    return titled(figure, title, runs, note, claims=[*ways_claims(data, metric), *not_combined, *missed])


def _residual(metric: str) -> Residual:
    return Residual(metric, ["way", "size_bytes", "link"], "%" if metric == "bandwidth" else "ns")


def _by_link(sources: Sources, measured: Source | None, pace: str, metric: str, title: str) -> Figure:
    runs = runs_of(sources, measured)
    data = _drawn(runs, pace, own_link=False)
    x, _ = _axes(data, metric)
    y = alt.Y(f"{metric}:Q", title=_TITLES[metric], scale=alt.Scale(type="log", nice=False))
    series, links = _series(runs, data), sorted(set(data["link"]))
    residual = _residual(metric)
    figure = with_residuals(
        panels(series.layers(x, y, message_tooltip()), data, "link", columns=links),
        residual.rows(data, measured_of(runs)),
        lambda rows: panels(residual.layers(series, x), rows, "link", columns=links, height=RESIDUAL_HEIGHT),
    )
    note = "the profile's machine with another link; core and device are unchanged"
    return titled(figure, title, runs, note, claims=[*ways_claims(data, metric)])


def _bare_link(runs: list[Run], data: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The link's bandwidth, or time, for the payload alone; empty unless all runs share one link."""
    links = {link_of(run) for run in runs}
    link = links.pop()
    if links or link is None:
        return pd.DataFrame()
    gbps = model.bandwidth(link, [64])[0].tlp_gbps
    sizes = pd.Series(sorted(set(data["size_bytes"])), name="size_bytes")
    values = 8 * sizes / gbps if metric == "median" else pd.Series(gbps, index=sizes.index)
    name = f"the link alone, no headers: {gbps:.2f} Gb/s · {MODELLED}"
    shown = values >= data[metric].min() / 2
    return pd.DataFrame({"size_bytes": sizes[shown], metric: values[shown], "bound": name})


def _bound_line(x: alt.X, y: alt.Y) -> alt.Chart:
    line: alt.Chart = (
        alt.Chart()
        .transform_filter("isValid(datum.bound)")
        .mark_line(style="reference")
        .encode(x=x, y=y, tooltip=alt.Tooltip("bound:N", title="reference"))
    )
    return line


def message_tooltip() -> list[alt.Tooltip]:
    """Tooltip of a point in a figure of messages."""
    return [
        run_tooltip(),
        alt.Tooltip("way_title:N", title="way"),
        alt.Tooltip("size_bytes:Q", title="payload (B)"),
        alt.Tooltip("median:Q", title="latency (ns)", format=".1f"),
        alt.Tooltip("bandwidth:Q", title="bandwidth (Gb/s)", format=".2f"),
        alt.Tooltip("downstream_bytes:Q", title="bytes to the device", format=".0f"),
    ]


_MOST_RUNS = 2


def ways_claims(data: pd.DataFrame, metric: str) -> Iterator[str]:
    """The payloads at which write-combined stores are ahead of descriptors, on each link."""
    for run in list(dict.fromkeys(data["run"]))[:_MOST_RUNS]:
        for link, rows in data[data["run"] == run].groupby("link", sort=False):
            table = rows.pivot_table(index="size_bytes", columns="way", values=metric).sort_index()
            if not {"write-combined", "descriptors"} <= set(table.columns):
                continue
            both = table[["write-combined", "descriptors"]].dropna()
            gain = both["write-combined"] - both["descriptors"]
            ahead = gain < 0 if metric == "median" else gain > 0
            where = f", {link}" if link else ""
            yield f"{run}{where}: write-combined stores are ahead of descriptors {_where(ahead)}."


def _where(ahead: pd.Series) -> str:
    """The sizes, in words."""
    sizes = ahead.index[ahead]
    if len(sizes) == len(ahead):
        return f"at every one of {len(ahead)} sizes"
    if sizes.empty:
        return f"at none of {len(ahead)} sizes"
    last = f"{sizes.max():,} B"
    if ahead.loc[: sizes.max()].all():
        return f"up to {last}"
    return f"at {len(sizes)} of {len(ahead)} sizes, at most {last}"
