"""Table 2 of the rPCIeBench paper: measured, simulated and estimated bandwidth by flow."""

import altair as alt
import pandas as pd

from pcielab.charts.frame import Figure, titled, wrapped
from pcielab.charts.run import MODELLED, Sources, of_kind, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.kinds.beside_published import compare_with_published
from pcielab.kinds.flows.experiments import label_suffix

_KINDS = {
    "published": "measured (the paper)",
    "simulated": "SIMULATED",
    "estimated": f"max-min · {MODELLED}",
}


def fabric_validation(sources: Sources) -> Figure:
    """The bandwidths of a paper's validation of its estimator, a panel for each experiment."""
    runs = of_kind(runs_of(sources), "flows")
    tables = [
        table.assign(run=label_suffix(run, runs))
        for run in runs
        if (table := compare_with_published(run.store)) is not None
    ]
    rows = pd.concat(tables) if tables else pd.DataFrame(columns=["simulated", "estimated"])
    rows = rows.dropna(subset=["simulated", "estimated"])
    if rows.empty:
        raise MissingDataError("simulations of experiments that a paper estimates (suite rpciebench)")
    parts = rows["what"].str.split(", ", n=1)
    tall = rows.assign(panel=rows["source"] + ": " + parts.str[0] + rows["run"], flow=parts.str[1]).melt(
        ["panel", "flow"], list(_KINDS), "kind", "gbytes_per_s"
    )
    tall["kind"] = tall["kind"].map(_KINDS)
    kinds = list(_KINDS.values())
    flows = list(dict.fromkeys(tall["flow"]))
    bars = (
        alt.Chart()
        .mark_bar()
        .encode(
            x=alt.X("flow:N", title="flow", sort=flows, axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("kind:N", sort=kinds),
            y=alt.Y("gbytes_per_s:Q", title="bandwidth (GB/s of payload)"),
            color=alt.Color("kind:N", title="origin", sort=kinds, scale=alt.Scale(domain=kinds)),
            tooltip=["panel:N", "flow:N", "kind:N", alt.Tooltip("gbytes_per_s:Q", title="GB/s", format=".2f")],
        )
    )
    figure = wrapped([bars], tall, "panel", list(dict.fromkeys(tall["panel"])))
    return titled(figure, "Table 2: flows that share links, measured, simulated and estimated", runs)
