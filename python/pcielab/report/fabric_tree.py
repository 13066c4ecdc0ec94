"""The tree of a fabric as a picture, with the load of each edge: root on the left, a row for each leaf.

A link's downward load is written above it, its upward load below.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import altair as alt
import pandas as pd

from pcielab.errors import InputError
from pcielab.fabric.estimate import Estimate
from pcielab.library.fabrics.load import Fabric
from pcielab.report.figures.frame import Figure

_LEVEL_WIDTH = 170
_ROW_HEIGHT = 46
_MARGIN = 60
_MOST_CELLS = 1_000
"""Most levels times leaves of a picture: as PNG, each cell takes 125 kB of memory."""
_ACROSS = alt.Scale(nice=False, padding=_MARGIN)
_DOWNWARDS = alt.Scale(reverse=True, nice=False, padding=_ROW_HEIGHT / 2)


def tree(fabric: Fabric, estimate: Estimate) -> Figure:
    """The tree; links are coloured by the share of their fuller direction that is used.

    Raises:
        InputError: It is too large for a picture.
    """
    positions = tree_positions(fabric)
    leaves = set(positions) - {link.upper for link in fabric.file.link}
    levels = 1 + max(level for _, level in positions.values())
    if levels * len(leaves) > _MOST_CELLS:
        raise InputError(
            f"{fabric.name}: {levels} levels of nodes and {len(leaves)} leaves are too many for a picture: draw a "
            f"fabric whose levels times leaves are {_MOST_CELLS} at most"
        )
    loads = {edge["edge"]: edge for edge in estimate.edges.to_dict("records")}
    nodes = pd.DataFrame(
        [
            {"node": name, "row": row, "level": level, "leaf": name in leaves}
            for name, (row, level) in positions.items()
        ]
    )
    links = pd.DataFrame([_drawn(link.upper, link.lower, positions, loads) for link in fabric.file.link])
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
        *(_written(links, direction, dy, downwards) for direction, dy in (("down", -9), ("up", 11))),
        alt.Chart(nodes).mark_circle(size=260, opacity=1).encode(x=across, y=downwards, tooltip=["node:N"]),
        *_named(nodes[nodes["leaf"]], across, downwards, align="left", dx=14),
        *_named(nodes[~nodes["leaf"]], across, downwards, align="center", dy=-17),
    ]
    title = alt.TitleParams(
        text=fabric.title,
        subtitle=[f"MODELLED, {estimate.method}: GB/s of payload, of the edge's capacity"],
    )
    figure: Figure = alt.layer(*layers).properties(width=width, height=max(height, 2 * _ROW_HEIGHT), title=title)
    return figure


def _drawn(
    upper: str, lower: str, positions: dict[str, tuple[float, int]], loads: Mapping[Any, Mapping[Hashable, Any]]
) -> dict[str, Any]:
    """A link as two lines with a corner: down from its upper node, then across to the lower one."""
    (upper_row, upper_level), (lower_row, lower_level) = positions[upper], positions[lower]
    down, up = loads[f"{upper}->{lower}"], loads[f"{lower}->{upper}"]
    texts = {
        key: f"{arrow} {_load(edge)}" if edge["load_gbytes_per_s"] > 0 else ""
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


def _written(links: pd.DataFrame, direction: str, dy: int, downwards: alt.Y) -> alt.Chart:
    """The loads of the links in one direction, beside their middles."""
    middle = alt.X("middle:Q", axis=None, scale=_ACROSS)
    text: alt.Chart = (
        alt.Chart(links).mark_text(fontSize=11, dy=dy).encode(x=middle, y=downwards, text=f"{direction}:N")
    )
    return text


def _named(nodes: pd.DataFrame, across: alt.X, downwards: alt.Y, **offset: Any) -> Iterator[alt.Chart]:
    """The names of nodes beside them, with a halo over the links."""
    if nodes.empty:
        return
    names = alt.Chart(nodes).encode(x=across, y=downwards, text=alt.Text("node:N"))
    bold = {"fontWeight": "bold", "limit": _LEVEL_WIDTH - 10, **offset}
    yield names.mark_text(style="halo", **bold)
    yield names.mark_text(**bold)


def _load(edge: Mapping[Hashable, Any]) -> str:
    return f"{edge['load_gbytes_per_s']:.2f} / {edge['capacity_gbytes_per_s']:.2f}"


def tree_positions(fabric: Fabric) -> dict[str, tuple[float, int]]:
    """Row and level of each node: leaves in successive rows, other nodes at the mean row of their children."""
    below: dict[str, list[str]] = {node.name: [] for node in fabric.file.node}
    for link in fabric.file.link:
        below[link.upper].append(link.lower)
    lower = {link.lower for link in fabric.file.link}
    root = next(name for name in below if name not in lower)
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
