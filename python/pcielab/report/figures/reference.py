"""The grey lines behind measured and simulated bandwidth: the link's bound, and what Ethernet needs."""

from collections.abc import Sequence
from typing import cast

import altair as alt
import pandas as pd

from pcielab.report.bounds import ETHERNET_GBPS, bandwidth_bounds, ethernet_need, link_of, link_text
from pcielab.report.run import MODELLED, Run
from pcielab.report.series import DASH_LEGEND

# Steps of a double word: the padding of sizes in between would draw a second, finer saw-tooth.
_LINE_STEP_BYTES = 4
_DASHES = ([1, 0], [7, 3], [3, 2, 1, 2], [1, 2])
_ETHERNET_DASH = [2, 3]


def reference_rows(runs: Sequence[Run], sweeps: pd.DataFrame) -> pd.DataFrame:
    """Rows of role `reference` over the sizes of the sweeps: each link's bound, and Ethernet's need.

    Args:
        runs: whose links are modelled.
        sweeps: rows that are drawn; columns size_bytes and operation.
    """
    low, high = int(sweeps["size_bytes"].min()), int(sweeps["size_bytes"].max())
    first = -(-low // _LINE_STEP_BYTES) * _LINE_STEP_BYTES
    sizes = list(range(first, high + 1, _LINE_STEP_BYTES))
    operations = list(sweeps["operation"].unique())
    parts: list[pd.DataFrame] = []
    for link in dict.fromkeys(link for run in runs if (link := link_of(run)) is not None):
        bounds = bandwidth_bounds(link, sizes)
        bounds = bounds[bounds["operation"].isin(operations)]
        parts.append(bounds.assign(reference=f"bound of {link_text(link)} · {MODELLED}"))
    need = ethernet_need(sizes).assign(reference=f"needed by {ETHERNET_GBPS}G Ethernet · {MODELLED}")
    parts += [need.assign(operation=operation) for operation in operations]
    return pd.concat(parts).assign(role="reference")


def reference_layer(x: alt.X, y: alt.Y, references: Sequence[str]) -> alt.Chart:
    """The grey lines, told apart by their dashes; the last of them is Ethernet's."""
    dashes = [list(_DASHES[index % len(_DASHES)]) for index in range(len(references) - 1)] + [_ETHERNET_DASH]
    scale = alt.Scale(domain=list(references), range=dashes)
    dash = alt.StrokeDash("reference:N", title="reference", scale=scale, legend=DASH_LEGEND)
    tooltip = [
        alt.Tooltip("reference:N"),
        alt.Tooltip(f"{x.shorthand}", title="bytes"),
        alt.Tooltip("bandwidth:Q", title="bandwidth (Gb/s)", format=".2f"),
    ]
    line = (
        alt.Chart()
        .transform_filter("datum.role === 'reference'")
        .mark_line(style="reference")
        .encode(x=x, y=y, strokeDash=dash, tooltip=tooltip)
    )
    return cast(alt.Chart, line)
