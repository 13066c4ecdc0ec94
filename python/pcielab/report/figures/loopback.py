"""Figure 2 of the pcie-bench paper: how much of the latency of a looped packet is PCIe's."""

from collections.abc import Iterator
from dataclasses import replace

import altair as alt
import pandas as pd

from pcielab import model
from pcielab.report.figures.frame import Figure, panels, titled
from pcielab.report.run import MODELLED, Sources, runs_of
from pcielab.report.selection import MissingDataError
from pcielab.report.series import DASH_LEGEND

_PROFILE = "exanic-2018"
_SIZES = range(64, 1501, 4)
_GENERATIONS = (3, 4, 5, 6)
_PARTS = {"total_ns": f"NIC, round trip · {MODELLED}", "pcie_ns": f"PCIe's part · {MODELLED}"}


def modelled_loopback(sources: Sources) -> Figure:
    """The latency of packets written by stores, looped back and returned by DMA, and PCIe's part (figure 2).

    Everything in it is modelled, from one point of the paper's measurement; the runs only say that its machine is
    what they are about.

    Args:
        sources: runs, one of them of messages on a machine whose loopback was measured.

    Raises:
        MissingDataError: no run is.
    """
    profiles = [run.manifest.get("messages") or {} for run in runs_of(sources)]
    if not any(profile.get("loopback") for profile in profiles):
        raise MissingDataError(
            "a run of messages on a machine with a measured loopback (pcielab run --suite kpio --profile "
            "exanic-2018)"
        )
    return loopback()


def loopback() -> Figure:
    """The same, of which no run is needed."""
    profile = model.load_message_profile(_PROFILE)
    links = [replace(profile.link, generation=number, flit_mode=None) for number in _GENERATIONS]
    data = pd.concat([_curves(profile, link) for link in links], ignore_index=True)
    tooltip = [
        alt.Tooltip("part:N"),
        alt.Tooltip("packet_bytes:Q", title="packet (B)"),
        alt.Tooltip("latency_ns:Q", title="latency (ns)", format=".0f"),
        alt.Tooltip("share:Q", title="PCIe's share", format=".1%"),
    ]
    parts = list(_PARTS.values())
    lines = (
        alt.Chart()
        .mark_line()
        .encode(
            x=alt.X("packet_bytes:Q", title="packet (bytes)", axis=alt.Axis(values=[64, 512, 1024, 1500])),
            y=alt.Y("latency_ns:Q", title="latency (ns)", scale=alt.Scale(domainMin=0)),
            color=alt.Color("part:N", title="latency", scale=alt.Scale(domain=parts), legend=DASH_LEGEND),
            tooltip=tooltip,
        )
    )
    names = list(dict.fromkeys(data["link"]))
    figure = panels([lines], data, "link", columns=names)
    note = f"{MODELLED} with {_PROFILE}, from the measured 1000 ns (900 of them PCIe) at 128 B"
    findings = [*_findings(data)]
    return titled(
        figure, "Figure 2: latency of a looped packet, and PCIe's part in it", [], note, findings=findings
    )


def _findings(data: pd.DataFrame) -> Iterator[str]:
    """PCIe's share of the shortest and of the longest packet, on each link."""
    for link, rows in data.groupby("link", sort=False):
        ends = rows.drop_duplicates("packet_bytes").sort_values("packet_bytes").iloc[[0, -1]].to_dict("records")
        shares = " and ".join(f"{100 * end['share']:.0f} % at {end['packet_bytes']} B" for end in ends)
        yield f"{link}: PCIe is {shares}."


def _curves(profile: model.MessageProfile, link: model.Link) -> pd.DataFrame:
    rows = [
        {
            "link": f"Gen{link.generation} x{link.lanes}",
            "packet_bytes": answer.packet_bytes,
            "part": title,
            "latency_ns": getattr(answer, part),
            "share": answer.pcie_share,
        }
        for answer in model.loopback(profile, list(_SIZES), link=link)
        for part, title in _PARTS.items()
    ]
    return pd.DataFrame(rows)
