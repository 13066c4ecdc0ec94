"""Two figures of the rPCIeBench paper: the time of one way by part, and its validation of the estimator."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from pcielab.charts.frame import Figure, single_panel, stacked_bars, titled, wrapped
from pcielab.charts.run import MODELLED, Run, Sources, of_kind, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.kinds.beside_published import compare_with_published
from pcielab.kinds.flows.experiments import label_suffix

_KINDS = {
    "host": "host",
    "internal-switch": "switch in the server",
    "host-adapter": "host adapter and its software",
    "external-switch": "switch",
    "endpoint-adapter": "endpoint adapter",
    "device": "device",
}
_CABLES, _MEMORY = "cables", "memory of the device"
_PARTS = [*_KINDS.values(), _CABLES, _MEMORY]
_MOST_WAYS = 16


def fabric_one_way(sources: Sources) -> Figure:
    """The delay of each part for a small write from a host to each device, by the fabric's description."""
    runs = of_kind(runs_of(sources), "flows")
    rows = pd.DataFrame([row for run in runs for row in _ways(run)])
    if rows.empty:
        raise MissingDataError("a run of flows through a fabric with a host and a device whose memory is mapped")
    ways = list(dict.fromkeys(rows["way"]))[:_MOST_WAYS]
    rows = rows[rows["way"].isin(ways)]
    parts = [part for part in _PARTS if part in set(rows["part"])]
    part = alt.Color("part:N", title="part", sort=parts, scale=alt.Scale(domain=parts))
    bars = stacked_bars("ns", "time (ns)", "way", ways, part)
    totals = rows.groupby("way", sort=False)["ns"].sum().rename("total").reset_index()
    ends = (
        alt.Chart()
        .transform_filter("isValid(datum.total)")
        .mark_text(align="left", dx=5)
        .encode(x="total:Q", y=alt.Y("way:N", sort=ways), text=alt.Text("total:Q", format=",.0f"))
    )
    figure = single_panel(
        [bars.transform_filter("isValid(datum.ns)"), ends],
        pd.concat([rows, totals]),
        height=max(60, 26 * len(ways)),
    )
    note = f"{MODELLED}: delays in the fabric's description, without the ports' sending time"
    return titled(figure, "One way from a host to a device, by part", [], note)


def _ways(run: Run) -> Iterator[dict[str, Any]]:
    """The parts of the way from each host to each device."""
    fabric: Mapping[str, Any] = run.manifest["system"].get("fabric") or {}
    nodes = {str(node["name"]): node for node in fabric.get("nodes", [])}
    links = fabric.get("links", [])
    upper = {str(link["lower"]): link for link in links}
    hosts = [name for name, node in nodes.items() if node["kind"] == "host"]
    for host in hosts:
        for name, node in nodes.items():
            memories = (node.get("device") or {}).get("memories") or []
            if memories:
                crossed, cables = _crossed(host, name, upper)
                yield from _parts(run, [nodes[one] for one in crossed], cables, float(memories[0]["bar_write_ns"]))


def _crossed(source: str, destination: str, upper: Mapping[str, Any]) -> tuple[list[str], float]:
    """The nodes from one to another, both included, and the latency of the links between them, ns."""
    ways = []
    for end in (source, destination):
        way = [end]
        while way[-1] in upper:
            way.append(str(upper[way[-1]]["upper"]))
        ways.append(way)
    up, down = ways
    while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
        up, down = up[:-1], down[:-1]
    below = [*up[:-1], *reversed(down[:-1])]
    return [*up, *reversed(down[:-1])], sum(float(upper[name]["latency_ns"]) for name in below)


def _parts(run: Run, nodes: Sequence[Mapping[str, Any]], cables: float, memory: float) -> Iterator[dict[str, Any]]:
    way = f"{run.label}: {nodes[0]['name']} to {nodes[-1]['name']}"
    parts = [(_KINDS[str(node["kind"])], float(node["delay_ns"])) for node in nodes]
    for part, ns in [*parts, (_CABLES, cables), (_MEMORY, memory)]:
        if ns > 0:
            yield {"way": way, "part": part, "ns": ns, "position": _PARTS.index(part)}


_ORIGINS = {
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
        ["panel", "flow"], list(_ORIGINS), "kind", "gbytes_per_s"
    )
    tall["kind"] = tall["kind"].map(_ORIGINS)
    kinds = list(_ORIGINS.values())
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
