"""The tree of a fabric as a picture, with what each edge carries.

What a link carries stands on it, near its lower node.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import altair as alt
import pandas as pd

from pcielab.fabric.estimate import Estimate
from pcielab.fabric.load import Fabric
from pcielab.report.figures.frame import Figure

_WIDTH = 860
_LEVEL_HEIGHT = 110
_LABEL_PLACE = 0.6


def tree(fabric: Fabric, estimate: Estimate) -> Figure:
    """The tree, root on top; links are coloured by the share of their fuller direction that is used."""
    places = places_of(fabric)
    loads = {edge["edge"]: edge for edge in estimate.edges.to_dict("records")}
    nodes = pd.DataFrame([{"node": name, "x": x, "level": level} for name, (x, level) in places.items()])
    lines, labels = [], []
    for link in fabric.file.link:
        (upper_x, upper_level), (lower_x, lower_level) = places[link.upper], places[link.lower]
        down, up = loads[f"{link.upper}->{link.lower}"], loads[f"{link.lower}->{link.upper}"]
        used = max(edge["load_gbytes_per_s"] / edge["capacity_gbytes_per_s"] for edge in (down, up))
        ends = {"x": upper_x, "x2": lower_x, "level": upper_level, "level2": lower_level}
        lines.append(ends | {"used": used, "link": f"{link.upper}-{link.lower}"})
        text = [
            f"{arrow} {_load(edge)}" for arrow, edge in (("↓", down), ("↑", up)) if edge["load_gbytes_per_s"] > 0
        ]
        at = {
            "x": upper_x + _LABEL_PLACE * (lower_x - upper_x),
            "level": upper_level + _LABEL_PLACE * (lower_level - upper_level),
        }
        labels.append(at | {"text": "\n".join(text)})
    across = alt.X("x:Q", axis=None, scale=alt.Scale(nice=False, padding=60))
    downwards = alt.Y("level:Q", axis=None, scale=alt.Scale(reverse=True, padding=30))
    links = (
        alt.Chart(pd.DataFrame(lines))
        .mark_rule(strokeWidth=4)
        .encode(
            x=across,
            x2="x2:Q",
            y=downwards,
            y2="level2:Q",
            color=alt.Color(
                "used:Q",
                title="used",
                scale=alt.Scale(domain=[0, 1], scheme="yelloworangered"),
                legend=alt.Legend(format="%"),
            ),
            tooltip=["link:N", alt.Tooltip("used:Q", format=".0%")],
        )
    )
    carried = alt.Chart(pd.DataFrame(labels)).encode(x=across, y=downwards, text="text:N")
    halo = carried.mark_text(lineBreak="\n", fontSize=11, style="halo")
    written = carried.mark_text(lineBreak="\n", fontSize=11)
    points = alt.Chart(nodes).mark_circle(size=500, opacity=1).encode(x=across, y=downwards)
    named = (
        alt.Chart(nodes)
        .mark_text(align="left", dx=14, fontWeight="bold")
        .encode(x=across, y=downwards, text=alt.Text("node:N"))
    )
    depth = max(level for _, level in places.values())
    title = alt.TitleParams(
        text=fabric.title,
        subtitle=[f"MODELLED, {estimate.method}: GB/s of payload carried, of what the edge can carry"],
    )
    figure: Figure = alt.layer(links, halo, written, points, named).properties(
        width=_WIDTH, height=_LEVEL_HEIGHT * (depth + 1), title=title
    )
    return figure


def _load(edge: Mapping[Hashable, Any]) -> str:
    return f"{edge['load_gbytes_per_s']:.2f} / {edge['capacity_gbytes_per_s']:.2f}"


def places_of(fabric: Fabric) -> dict[str, tuple[float, int]]:
    """Where each node stands: leaves side by side, the others above the middle of what is below them."""
    below: dict[str, list[str]] = {node.name: [] for node in fabric.file.node}
    for link in fabric.file.link:
        below[link.upper].append(link.lower)
    lower = {link.lower for link in fabric.file.link}
    root = next(name for name in below if name not in lower)
    order, level = [root], {root: 0}
    for name in order:
        order.extend(below[name])
        level.update(dict.fromkeys(below[name], level[name] + 1))
    places: dict[str, float] = {}
    stack, leaves = [root], 0
    while stack:
        name = stack.pop()
        stack.extend(reversed(below[name]))
        if not below[name]:
            places[name] = float(leaves)
            leaves += 1
    for name in reversed(order):
        if below[name]:
            places[name] = sum(places[child] for child in below[name]) / len(below[name])
    return {name: (places[name], level[name]) for name in order}
