"""Table 2 of the rPCIeBench paper: what it measured, what is simulated, what is estimated, flow by flow."""

import altair as alt
import pandas as pd

from pcielab.analysis.published_values import compare_with_published
from pcielab.report.figures.fabric import told_of
from pcielab.report.figures.frame import Figure, titled, wrapped
from pcielab.report.run import MODELLED, Sources, runs_of
from pcielab.report.selection import MissingDataError

_KINDS = {
    "published": "measured (the paper)",
    "simulated": "SIMULATED",
    "estimated": f"max-min · {MODELLED}",
}


def fabric_validation(sources: Sources) -> Figure:
    """The bandwidths of a paper's validation, a panel for each of its experiments.

    Args:
        sources: the runs, one of them of a suite whose paper estimates flows.

    Raises:
        MissingDataError: no run is of such a suite.
    """
    runs = [run for run in runs_of(sources) if run.store.kind == "fabric"]
    tables = [
        table.assign(run=told_of(run, runs))
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
            color=alt.Color("kind:N", title="what", sort=kinds, scale=alt.Scale(domain=kinds)),
            tooltip=["panel:N", "flow:N", "kind:N", alt.Tooltip("gbytes_per_s:Q", title="GB/s", format=".2f")],
        )
    )
    figure = wrapped([bars], tall, "panel", list(dict.fromkeys(tall["panel"])))
    return titled(figure, "Table 2: flows that share links, measured, simulated and estimated", runs)
