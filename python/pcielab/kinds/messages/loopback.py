"""Figure 2 of the pcie-bench paper: PCIe's share in the latency of a looped packet."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import altair as alt
import pandas as pd

from pcielab import model
from pcielab.charts.frame import Figure, panels, titled
from pcielab.charts.run import MODELLED, Sources, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.charts.series import DASH_LEGEND
from pcielab.library.message_profiles import RecordedMessages, recorded_messages

_PROFILE = "exanic-2018"
_Profile: TypeAlias = model.MessageProfile | RecordedMessages
_SIZES = range(64, 1501, 4)
_GENERATIONS = (3, 4, 5, 6)
_PARTS = {"total_ns": f"NIC, round trip · {MODELLED}", "pcie_ns": f"PCIe's part · {MODELLED}"}


def modelled_loopback(sources: Sources) -> Figure:
    """The latency of packets written by stores, looped back and returned by DMA, and PCIe's part (figure 2).

    Modelled from the measured point in the profile of each run of messages.
    """
    runs = [run for run in runs_of(sources) if (run.manifest.get("messages") or {}).get("loopback")]
    profiles: list[RecordedMessages] = []
    for run in runs:
        profile = recorded_messages(run.manifest, str(run.store.path))
        profiles += [] if profile in profiles else [profile]
    if not profiles:
        raise MissingDataError(
            "a run of messages on a machine with a measured loopback (pcielab run --suite kpio --profile "
            "exanic-2018)"
        )
    return _drawn(profiles)


def loopback() -> Figure:
    """The same for the shipped profile, without a run."""
    return _drawn([model.load_message_profile(_PROFILE)])


def _drawn(profiles: Sequence[_Profile]) -> Figure:
    """A row of panels for each profile, with a panel for each link."""
    curves = [
        _curves(profile, replace(profile.link, generation=number, flit_mode=None), named=len(profiles) > 1)
        for profile in profiles
        for number in _GENERATIONS
    ]
    data = pd.concat(curves, ignore_index=True)
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
    note = f"{MODELLED} with {'; '.join(map(_measured, profiles))}"
    return titled(
        figure, "Figure 2: latency of a looped packet, and PCIe's part", [], note, claims=[*_claims(data)]
    )


def _claims(data: pd.DataFrame) -> Iterator[str]:
    """PCIe's share of the shortest and of the longest packet, on each link."""
    for link, rows in data.groupby("link", sort=False):
        ends = rows.drop_duplicates("packet_bytes").sort_values("packet_bytes").iloc[[0, -1]].to_dict("records")
        shares = " and ".join(f"{100 * end['share']:.0f} % at {end['packet_bytes']} B" for end in ends)
        yield f"{link}: PCIe is {shares}."


def _measured(profile: _Profile) -> str:
    """The measured point of a profile, in words."""
    point = profile.loopback
    if point is None:
        return profile.name
    return (
        f"{profile.name}, from the measured {point.total_ns:g} ns ({point.pcie_ns:g} of them PCIe) at "
        f"{point.measured_packet_bytes} B"
    )


def _curves(profile: _Profile, link: model.Link, *, named: bool) -> pd.DataFrame:
    prefix = f"{profile.name}, " if named else ""
    rows = [
        {
            "link": f"{prefix}Gen{link.generation} x{link.lanes}",
            "packet_bytes": answer.packet_bytes,
            "part": title,
            "latency_ns": getattr(answer, part),
            "share": answer.pcie_share,
        }
        for answer in model.loopback(profile, list(_SIZES), link=link)
        for part, title in _PARTS.items()
    ]
    return pd.DataFrame(rows)
