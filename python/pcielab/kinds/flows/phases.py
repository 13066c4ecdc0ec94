"""The time of requests on a fabric by phase, as bars and as distributions."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from pcielab.charts.frame import Figure, single_panel, stacked_bars, titled, wrapped
from pcielab.charts.run import Run, Sources, of_kind, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.kinds.flows.experiments import label_suffix
from pcielab.kinds.flows.rows import flow_table
from pcielab.wording import time_unit

_COMMAND, _DATA = "command in the fabric", "data and completion in the fabric"
_WORDS = {
    "host": "queued at the host",
    "fabric": "in the fabric",
    "device": "executed at the device",
    "total": "total",
}
_MOST_PANELS = 9
_MOST_STEPS = 400
"""Most points of a distribution."""


def flow_phases(sources: Sources, family: str) -> Figure:
    """Average time of each phase, a bar for each flow of a family of tests; of a sweep, its ends only."""
    runs = of_kind(runs_of(sources), "flows")
    rows = pd.concat([pd.DataFrame(), *(_flows(run, family, label_suffix(run, runs)) for run in runs)])
    if rows.empty:
        raise MissingDataError(f"flows of the family {family} with requests")
    parts = [_WORDS["host"], _COMMAND, _WORDS["device"], _DATA, _WORDS["fabric"]]
    tall = _in_parts(rows).melt("label", parts, "phase", "average").dropna(subset=["average"])
    parts = [part for part in parts if part in set(tall["phase"])]
    tall["position"] = tall["phase"].map(parts.index)
    phase = alt.Color("phase:N", title="part", sort=parts, scale=alt.Scale(domain=parts))
    unit, unit_ns = time_unit(tall["average"].max())
    tall["average"] /= unit_ns
    bars = stacked_bars("average", f"average time ({unit})", "label", list(rows["label"]), phase)
    figure = single_panel([bars], tall, height=max(60, 26 * len(rows)))
    return titled(figure, f"{family}: time of requests by phase", runs)


def flow_distributions(sources: Sources, family: str) -> Figure:
    """The distribution of request times, a panel for each flow of a family of tests and a line for each phase."""
    runs = of_kind(runs_of(sources), "flows")
    wanted = [
        (run, row) for run in runs for row in _flows(run, family, label_suffix(run, runs)).to_dict("records")
    ]
    data = pd.DataFrame([step for run, row in wanted[:_MOST_PANELS] for step in _steps(run, row)])
    if data.empty:
        raise MissingDataError(f"distributions of flows of the family {family}")
    unit, unit_ns = time_unit(data["ns"].max())
    data = data.rename(columns={"ns": "time"}).assign(time=data["ns"] / unit_ns)
    words = [*_WORDS.values()]
    known: dict[str, Any] = {"title": "part", "sort": words, "scale": alt.Scale(domain=words)}
    lines = (
        alt.Chart()
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("time:Q", title=f"time ({unit})", scale=alt.Scale(zero=False)),
            y=alt.Y("share:Q", title="requests that take as long or less", axis=alt.Axis(format="%")),
            color=alt.Color("phase:N", **known),
            strokeDash=alt.StrokeDash("phase:N", **known),
            tooltip=[
                "phase:N",
                alt.Tooltip("time:Q", title=unit, format=".4~g"),
                alt.Tooltip("share:Q", format=".2%"),
            ],
        )
    )
    figure = wrapped([lines], data, "label", list(dict.fromkeys(data["label"]))).resolve_scale(x="independent")
    left_out = len(wanted) - _MOST_PANELS
    note = f"the first {_MOST_PANELS} flows of {len(wanted)}" if left_out > 0 else ""
    return titled(figure, f"{family}: distribution of times", runs, note)


def _in_parts(rows: pd.DataFrame) -> pd.DataFrame:
    """Each flow's phases; with commands, the fabric's part is split into command and data, as in figure 2."""
    reached = rows["reached_ns"] if "reached_ns" in rows else pd.Series(np.nan, index=rows.index)
    command = reached - rows["host_ns"]
    return rows[["label"]].assign(
        **{
            _WORDS["host"]: rows["host_ns"],
            _COMMAND: command,
            _WORDS["device"]: rows["device_ns"],
            _DATA: rows["fabric_ns"] - command,
            _WORDS["fabric"]: rows["fabric_ns"].where(reached.isna()),
        }
    )


def _flows(run: Run, family: str, of_run: str) -> pd.DataFrame:
    """The flows of a family that have requests, with labels that end in `of_run`; of a sweep, its ends."""
    table = flow_table(run.store)
    rows = table[(table["family"] == family) & (table["status"] == "ok")]
    if rows.empty or "host_ns" not in rows:
        return rows.head(0).assign(label="")
    rows = rows.dropna(subset=["host_ns"])
    label = rows["flow"]
    if rows["experiment"].nunique() > 1:
        label = rows["experiment"] + ": " + label
    if "value" in rows and rows["value"].notna().any():
        ends = rows.groupby("experiment")["value"].agg(["min", "max"]).loc[rows["experiment"]].to_numpy()
        rows, label = (
            one[(rows["value"].to_numpy() == ends.T).any(axis=0) | rows["value"].isna().to_numpy()]
            for one in (rows, label + [f", {value:g}" if value == value else "" for value in rows["value"]])
        )
    return rows.assign(label=label + of_run)


def _steps(run: Run, row: Mapping[Hashable, Any]) -> Iterator[dict[str, object]]:
    """The distribution of each phase of a flow, thinned for a picture."""
    for phase, words in _WORDS.items():
        found = run.store.distribution(int(row["id"]), f"{phase} of {row['flow']}")
        kept = pd.Series(range(len(found))) % max(len(found) // _MOST_STEPS, 1) == 0
        kept[[0, len(found) - 1] if len(found) else []] = True
        times = found.iloc[:, 2]
        steps = [*zip(times[:1], [0.0], strict=False), *zip(times[kept], found["cdf"][kept], strict=True)]
        for ns, share in steps:
            yield {"label": row["label"], "phase": words, "ns": float(ns), "share": float(share)}
