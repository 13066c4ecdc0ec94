"""A NIC on simulated machines: bandwidth over frame size, beside the closed forms and the line rate."""

import altair as alt
import pandas as pd

from pcielab.charts.axes import bandwidth_axis
from pcielab.charts.frame import Figure, panels, titled, tooltips
from pcielab.charts.run import MODELLED, Run, Sources, all_runs, of_kind, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.charts.series import DASH_LEGEND
from pcielab.kinds.explained import check_has
from pcielab.kinds.frames.rows import nic_rows
from pcielab.kinds.rooms import Entry, Figures

_SIMULATED, _MODEL, _PORTS, _LINE = "simulated", "closed form, bare link", "closed form, simulated ports", "line"
_CURVES = {_SIMULATED: "bandwidth", _PORTS: "link_bandwidth", _MODEL: "model_gbps", _LINE: "line_bandwidth"}
_DASHES = {_SIMULATED: [1, 0], _PORTS: [7, 3], _MODEL: [3, 2, 1, 2], _LINE: [2, 3]}
_DROPPED = 0.001
_NEEDED = (
    "frame_bytes",
    "line_gbps",
    "direction",
    "bandwidth",
    "rate",
    "line_rate",
    "line_bandwidth",
    "link_bandwidth",
)


def nic_throughput(sources: Sources) -> Figure:
    """Bandwidth of a NIC over the size of frames, a panel for each machine (runs of `pcielab run --nic`)."""
    runs = of_kind(runs_of(sources), "frames")
    if not runs:
        raise MissingDataError("a run of a NIC (pcielab run --nic)")
    data = pd.concat([_curves(run) for run in runs], ignore_index=True)
    names = list(data["curve"].unique())
    x = alt.X("frame_bytes:Q", title="Ethernet frame (bytes, FCS included)", scale=alt.Scale(zero=False))
    y = bandwidth_axis("gbps")
    tooltip = [
        alt.Tooltip("curve:N"),
        *tooltips("frame_bytes", "binds"),
        alt.Tooltip("gbps:Q", title="bandwidth (Gb/s)", format=".2f"),
        alt.Tooltip("dropped_share:Q", title="dropped", format=".1%"),
        alt.Tooltip("median:Q", title="wire to ring, median (ns)", format=".0f"),
    ]
    dash = alt.StrokeDash(
        "curve:N", title="bandwidth", legend=DASH_LEGEND, scale=alt.Scale(domain=names, range=_dashes(names))
    )
    lines = alt.Chart().mark_line().encode(x=x, y=y, strokeDash=dash, tooltip=tooltip)
    points = (
        alt.Chart()
        .transform_filter("isValid(datum.binds)")
        .mark_point(filled=True, size=45, opacity=1)
        .encode(x=x, y=y, color=alt.Color("binds:N", title="bound"), tooltip=tooltip)
    )
    figure = panels([lines, points], data, "machine", columns=list(data["machine"].unique()), height=300)
    return titled(
        figure,
        "A NIC on a machine: bandwidth of each direction",
        runs,
        "closed forms MODELLED",
        claims=_claims(runs),
    )


def _rows(run: Run) -> pd.DataFrame:
    """The frame sizes of a run, each with every number that the figure draws or tells."""
    for row in run.store.scalars[run.store.scalars["status"] == "ok"].to_dict("records"):
        check_has(row, _NEEDED, run.store.path)
    return nic_rows(run.store)


def _curves(run: Run) -> pd.DataFrame:
    rows = _rows(run)
    parts = []
    for curve, column in _CURVES.items():
        entry = f"{curve} · {run.badge if curve == _SIMULATED else MODELLED}"
        details = ["binds", "dropped_share", "median"] if curve == _SIMULATED else []
        details = [name for name in details if name in rows]
        parts.append(rows[["frame_bytes", *details]].assign(gbps=rows[column], curve=entry, machine=run.label))
    return pd.concat(parts)


def _dashes(names: list[str]) -> list[list[int]]:
    return [_DASHES[name.split(" · ")[0]] for name in names]


def _claims(runs: list[Run]) -> list[str]:
    """The frame size from which each machine sustains the line rate."""
    sentences = []
    for run in runs:
        rows = _rows(run).sort_values("frame_bytes")
        short = rows[rows["rate"] < (1 - _DROPPED) * rows["line_rate"]]
        line = f"{rows['line_gbps'].iloc[0]:g} Gb/s"
        if short.empty:
            sentences.append(f"{run.label} sustains {line} with every frame size tried.")
            continue
        held = rows[rows["frame_bytes"] > short["frame_bytes"].max()]
        worst = short.iloc[0]
        from_ = f"from {held['frame_bytes'].iloc[0]:.0f} B on" if len(held) else "with no frame size tried"
        sentences.append(
            f"{run.label} sustains {line} {from_}; with {worst['frame_bytes']:.0f} B it reaches "
            f"{worst['bandwidth']:.1f} Gb/s, limited by {worst['binds']}."
        )
    return sentences


FIGURES = Figures(
    (
        Entry(
            "nic-throughput",
            "NIC",
            "Simulated rate of a NIC against line rate, and the bound where it falls short. If only the link "
            "binds, the simulation equals the closed form of the ports.",
            lambda runs, measured: nic_throughput(all_runs(runs, measured)),
        ),
    ),
    one=(nic_throughput,),
)
