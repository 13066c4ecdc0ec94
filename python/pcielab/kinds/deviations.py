"""A run's errors at the numbers of the paper whose suite it is."""

import altair as alt
import pandas as pd

from pcielab.charts.frame import Figure, single_panel, titled
from pcielab.charts.run import Sources, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.kinds.beside_published import compare_with_published


def published_deviations(sources: Sources) -> Figure:
    """The error of a run at every number of the paper, with the reasons for large ones."""
    runs = runs_of(sources)
    tables = [compare_with_published(run.store) for run in runs]
    rows = pd.concat([table for table in tables if table is not None] or [pd.DataFrame()])
    if rows.empty:
        raise MissingDataError("a run of a suite of which numbers are published (suite rpciebench)")
    rows = rows.dropna(subset=["error"])
    rows = rows.assign(number=range(len(rows)), label=rows["source"] + ": " + rows["what"])
    bars = (
        alt.Chart()
        .mark_bar()
        .encode(
            x=alt.X("error:Q", title="error (%; shares: points)"),
            y=alt.Y("label:N", sort=alt.SortField("number"), title=None, axis=alt.Axis(labelLimit=420)),
            color=alt.Color(
                "verdict:N", title="verdict", sort=["within", "input", "explained", "contradicted", "off"]
            ),
            tooltip=["label:N", "published:Q", "simulated:Q", "unit:N", "verdict:N", "reason:N"],
        )
    )
    figure = single_panel([bars], rows, height=14 * len(rows))
    return titled(figure, "Errors of the simulation at the paper's numbers", runs)
