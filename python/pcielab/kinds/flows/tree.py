"""The tree of a fabric as a picture, with the load of each edge: root on the left, a row for each leaf.

A link's downward load is written above it, its upward load below.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import altair as alt
import pandas as pd

from pcielab.charts.frame import CLAIMS, Figure
from pcielab.charts.run import Run, Sources, of_kind, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.errors import refusal
from pcielab.fabric.estimation import Estimate
from pcielab.fabric.listed_shares import edges_of
from pcielab.library.fabrics.load import Fabric, RecordedFabric, recorded

_FONT_SIZE, _LEAST_FONT_SIZE, _LETTERS_OF_A_LEVEL, _LETTERS_OF_A_NAME = 11, 7, 10, 6
_LEVEL_WIDTH = 170
_ROW_HEIGHT = 46
_MARGIN = 60
_MOST_CELLS = 1_000
"""Most levels times leaves of a picture: as PNG, each cell takes 125 kB of memory."""
_MOST_TREES = 4
_LEAST_GBYTES_PER_S = 0.005
"""Smaller loads, of commands, would read 0.00."""
_NOTE = "GB/s of payload, of the edge's capacity"
_ACROSS = alt.Scale(nice=False, padding=_MARGIN)
_DOWNWARDS = alt.Scale(reverse=True, nice=False, padding=_ROW_HEIGHT / 2)


def tree(fabric: Fabric, estimate: Estimate) -> Figure:
    """The tree with estimated loads; links are coloured by the share of their fuller direction that is used.

    Raises:
        InputError: It is too large for a picture.
    """
    if _cells(fabric) > _MOST_CELLS:
        raise refusal(
            "too-large",
            f"{fabric.name}: has too many levels of nodes and leaves for a picture: draw a fabric whose levels "
            f"times leaves are {_MOST_CELLS} at most",
        )
    title = alt.TitleParams(text=fabric.title, subtitle=[f"MODELLED, {estimate.method}: {_NOTE}"])
    figure: Figure = _tree(fabric, estimate.edges, title).properties(usermeta={CLAIMS: []})
    return figure


def simulated_loads(sources: Sources, family: str) -> Figure:
    """The tree of each run of flows with the loads of a simulation that sweeps nothing.

    Raises:
        MissingDataError: No run has a simulation without a sweep, or its tree is too large for a picture.
    """
    figures = [
        _tree(recorded(run.manifest, str(run.store.path)), edges, _title(run, name))
        for run in of_kind(runs_of(sources), "flows")
        for name, edges in _simulated_edges(run, family)
        if _cells(recorded(run.manifest, str(run.store.path))) <= _MOST_CELLS
    ]
    if not figures:
        raise MissingDataError(
            f"simulations of the family {family} without a sweep, of a fabric that fits a picture"
        )
    figure: Figure = figures[0] if len(figures) == 1 else alt.vconcat(*figures[:_MOST_TREES])
    return figure


def _cells(fabric: Fabric | RecordedFabric) -> int:
    """Levels times leaves of its tree."""
    positions = tree_positions(fabric)
    leaves = len(set(positions) - {upper for upper, _ in fabric.links})
    return (1 + max(level for _, level in positions.values())) * leaves


def _title(run: Run, name: str) -> alt.TitleParams:
    return alt.TitleParams(text=f"{name}: load of each link", subtitle=[run.entry, _NOTE])


def _simulated_edges(run: Run, family: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """The edges of the fabric with their loads, for each simulation of a family that sweeps nothing."""
    rows = run.rows[run.rows["family"] == family]
    swept = rows["value"] if "value" in rows else pd.Series(None, index=rows.index)
    scalars = run.store.scalar_rows
    loads = scalars[scalars["subject"].str.startswith("edge ") & (scalars["metric"] == "load")]
    for test, name in rows.loc[swept.isna(), ["id", "name"]].itertuples(index=False):
        load = loads[loads["test"] == test].assign(edge=loads["subject"].str.removeprefix("edge "))
        if load.empty:
            continue
        edges = pd.DataFrame(edges_of(recorded(run.manifest, str(run.store.path)).handle))
        load_gbytes_per_s = load.set_index("edge")["value"].reindex(edges["edge"]).fillna(0.0).to_numpy()
        yield str(name), edges.assign(load_gbytes_per_s=load_gbytes_per_s)


def _tree(fabric: Fabric | RecordedFabric, edges: pd.DataFrame, title: alt.TitleParams) -> Figure:
    """The tree; `edges` has the columns edge, capacity_gbytes_per_s and load_gbytes_per_s."""
    positions = tree_positions(fabric)
    leaves = set(positions) - {upper for upper, _ in fabric.links}
    levels = 1 + max(level for _, level in positions.values())
    loads = {edge["edge"]: edge for edge in edges.to_dict("records")}
    nodes = pd.DataFrame(
        [
            {"node": name, "row": row, "level": level, "leaf": name in leaves}
            for name, (row, level) in positions.items()
        ]
    )
    links = pd.DataFrame([_drawn(upper, lower, positions, loads) for upper, lower in fabric.links])
    width, height = _LEVEL_WIDTH * levels, _ROW_HEIGHT * len(leaves)
    across = alt.X("level:Q", axis=None, scale=_ACROSS)
    downwards = alt.Y("row:Q", axis=None, scale=_DOWNWARDS)
    colour = alt.Color(
        "used:Q",
        title="used",
        scale=alt.Scale(domain=[0, 1], scheme="yelloworangered"),
        legend=alt.Legend(format="%", direction="horizontal", gradientLength=220, values=[0, 0.25, 0.5, 0.75, 1]),
    )
    tooltip = ["link:N", alt.Tooltip("used:Q", format=".0%"), "down:N", "up:N"]
    rules = alt.Chart(links).mark_rule(strokeWidth=4).encode(color=colour, tooltip=tooltip)
    layers = [
        rules.encode(x=across, y=alt.Y("from_row:Q", axis=None, scale=_DOWNWARDS), y2="row:Q"),
        rules.encode(x=across, x2="to_level:Q", y=downwards),
        *(_written(links, levels, direction, dy, downwards) for direction, dy in (("down", -9), ("up", 11))),
        alt.Chart(nodes).mark_circle(size=260, opacity=1).encode(x=across, y=downwards, tooltip=["node:N"]),
        *_named(nodes[nodes["leaf"]], levels, across, downwards, align="left", dx=14),
        # Left of the vertical lines below a node, and above the load of the link to it.
        *_named(nodes[~nodes["leaf"]], levels, across, downwards, align="right", dx=-6, dy=-23),
    ]
    figure: Figure = alt.layer(*layers).properties(width=width, height=max(height, 2 * _ROW_HEIGHT))
    return figure.properties(title=title)


def _drawn(
    upper: str, lower: str, positions: dict[str, tuple[float, int]], loads: Mapping[Any, Mapping[Hashable, Any]]
) -> dict[str, Any]:
    """A link as two lines with a corner: down from its upper node, then across to the lower one."""
    (upper_row, upper_level), (lower_row, lower_level) = positions[upper], positions[lower]
    down, up = loads[f"{upper}->{lower}"], loads[f"{lower}->{upper}"]
    texts = {
        key: f"{arrow} {_load(edge)}" if edge["load_gbytes_per_s"] >= _LEAST_GBYTES_PER_S else ""
        for key, arrow, edge in (("down", "→", down), ("up", "←", up))
    }
    return {
        "link": f"{upper} - {lower}",
        "used": max(edge["load_gbytes_per_s"] / edge["capacity_gbytes_per_s"] for edge in (down, up)),
        "level": upper_level,
        "to_level": lower_level,
        "middle": (upper_level + lower_level) / 2,
        "from_row": upper_row,
        "row": lower_row,
        **texts,
    }


def _written(links: pd.DataFrame, levels: int, direction: str, dy: int, downwards: alt.Y) -> alt.Chart:
    """The loads of the links in one direction, beside their middles.

    Where a page makes levels narrow they are smaller, and where they could not be read only the tooltip has them.
    """
    fitting = f"width / {levels} / {_LETTERS_OF_A_LEVEL}"
    size = alt.ExprRef(expr=f"min({_FONT_SIZE}, {fitting})")
    seen = alt.ExprRef(expr=f"{fitting} < {_LEAST_FONT_SIZE} ? 0 : 1")
    middle = alt.X("middle:Q", axis=None, scale=_ACROSS)
    text: alt.Chart = (
        alt.Chart(links)
        .mark_text(fontSize=size, opacity=seen, dy=dy)
        .encode(x=middle, y=downwards, text=f"{direction}:N")
    )
    return text


def _named(
    nodes: pd.DataFrame, levels: int, across: alt.X, downwards: alt.Y, **offset: Any
) -> Iterator[alt.Chart]:
    """The names of nodes beside them, with a halo over the links."""
    if nodes.empty:
        return
    names = alt.Chart(nodes).encode(x=across, y=downwards, text=alt.Text("node:N"))
    size = alt.ExprRef(expr=f"min({_FONT_SIZE}, width / {levels} / {_LETTERS_OF_A_NAME})")
    bold = {"fontWeight": "bold", "fontSize": size, "limit": _LEVEL_WIDTH - 10, **offset}
    yield names.mark_text(style="halo", **bold)
    yield names.mark_text(**bold)


def _load(edge: Mapping[Hashable, Any]) -> str:
    return f"{edge['load_gbytes_per_s']:.2f} / {edge['capacity_gbytes_per_s']:.2f}"


def tree_positions(fabric: Fabric | RecordedFabric) -> dict[str, tuple[float, int]]:
    """Row and level of each node: leaves in successive rows, other nodes at the mean row of their children."""
    below: dict[str, list[str]] = {name: [] for name in fabric.node_names}
    for upper, lower in fabric.links:
        below[upper].append(lower)
    lowers = {lower for _, lower in fabric.links}
    root = next(name for name in below if name not in lowers)
    order, level = [root], {root: 0}
    for name in order:
        order.extend(below[name])
        level.update(dict.fromkeys(below[name], level[name] + 1))
    rows: dict[str, float] = {}
    stack, leaves = [root], 0
    while stack:
        name = stack.pop()
        stack.extend(reversed(below[name]))
        if not below[name]:
            rows[name] = float(leaves)
            leaves += 1
    for name in reversed(order):
        if below[name]:
            rows[name] = sum(rows[child] for child in below[name]) / len(below[name])
    return {name: (rows[name], level[name]) for name in order}
