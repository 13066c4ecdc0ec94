"""Figure 1 of the paper: bandwidth that a link leaves for packets, bare and with three NICs."""

from collections.abc import Iterator, Sequence
from typing import cast

import altair as alt
import pandas as pd

from pcielab import model
from pcielab.charts.axes import bandwidth_axis
from pcielab.charts.frame import Figure, panels, titled, tooltips
from pcielab.charts.run import MODELLED, Sources, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.charts.series import DASH_LEGEND, clear_if
from pcielab.kinds.transfers.link_bounds import ethernet_line, ethernet_rates, interactions, link_of, link_text
from pcielab.model.link import Accounting

# Steps of a double word: the padding of sizes between them would hide the curve in a finer saw-tooth.
_FIRST_FRAME_BYTES, _LAST_FRAME_BYTES, _STEP_BYTES = 64, 1518, 4
_TICKS = [64, 256, 512, 768, 1024, 1280, 1518]


def modelled_interactions(sources: Sources) -> Figure:
    """Modelled bandwidth over Ethernet frame size, bare and by NIC; a panel for each link of the runs."""
    runs = runs_of(sources)
    links = list(dict.fromkeys(link for run in runs if (link := link_of(run)) is not None))
    if not links:
        raise MissingDataError("the link's generation, lanes, MPS and MRRS")
    of = ", ".join(run.label for run in runs if link_of(run) is not None)
    return interactions_of_links(links, note=f"{MODELLED} for the link of {of}")


def interactions_of_links(
    links: Sequence[model.Link], accounting: Accounting = Accounting.SPEC, *, note: str = ""
) -> Figure:
    """The same for given links; the note is the accounting by default."""
    data = pd.concat([_curves(link, accounting) for link in links], ignore_index=True)
    devices = list(dict.fromkeys(data["device"].dropna()))
    picked = alt.selection_point(name="picked_device", fields=["device"], bind="legend")
    lines = (
        alt.Chart()
        .transform_filter("isValid(datum.device)")
        .mark_line()
        .encode(
            x=_frame_axis(),
            y=bandwidth_axis(),
            color=alt.Color("device:N", title="model", scale=alt.Scale(domain=devices)),
            opacity=clear_if(picked),
            tooltip=_tooltip("device"),
        )
        .add_params(picked)
    )
    behind = [_ethernet_line()] if "reference" in data else []
    figure = panels([*behind, lines], data, "link", columns=[link_text(link) for link in links], height=320)
    title = "Figure 1: bandwidth of a NIC on the link, over Ethernet frame size"
    said = note or f"{MODELLED}, accounting {accounting.value}"
    return titled(figure, title, [], said, claims=[one for link in links for one in _claims(link, data)])


def _claims(link: model.Link, data: pd.DataFrame) -> Iterator[str]:
    """The frame size from which each device sustains the fastest Ethernet drawn."""
    drawn = data[data["link"] == link_text(link)].set_index("frame_bytes")
    for rate in ethernet_rates([link])[-1:]:
        need = drawn.loc[drawn["reference"] == _ethernet_name(rate), "bandwidth"]
        for device, rows in drawn.groupby("device", sort=False):
            short = rows.index[rows["bandwidth"] < need.loc[rows.index]]
            first = rows.index[rows.index > short.max()] if len(short) else rows.index
            result = (
                f"sustains {rate}G Ethernet with frames of {first.min():.0f} B and more"
                if len(first)
                else f"sustains {rate}G Ethernet with no frame size"
            )
            yield f"{link_text(link)}, {device}: {result}."


def _ethernet_name(rate_gbps: int) -> str:
    return f"{rate_gbps}G Ethernet · {MODELLED}"


def _curves(link: model.Link, accounting: Accounting) -> pd.DataFrame:
    frames = range(_FIRST_FRAME_BYTES, _LAST_FRAME_BYTES + 1, _STEP_BYTES)
    modelled = interactions(link, frames, accounting)
    modelled = modelled.assign(device=modelled["device"] + f" · {MODELLED}")
    lines = [ethernet_line(frames, rate).assign(reference=_ethernet_name(rate)) for rate in ethernet_rates([link])]
    return pd.concat([modelled, *lines]).assign(link=link_text(link))


def _ethernet_line() -> alt.Chart:
    reference = alt.StrokeDash(
        "reference:N", title="reference", legend=DASH_LEGEND, scale=alt.Scale(range=[[2, 3]])
    )
    line = (
        alt.Chart()
        .transform_filter("isValid(datum.reference)")
        .mark_line(style="reference")
        .encode(x=_frame_axis(), y=bandwidth_axis(), strokeDash=reference, tooltip=_tooltip("reference"))
    )
    return cast(alt.Chart, line)


def _frame_axis() -> alt.X:
    scale = alt.Scale(domain=[0, _LAST_FRAME_BYTES], nice=False)
    return alt.X(
        "frame_bytes:Q", title="Ethernet frame (bytes, FCS included)", scale=scale, axis=alt.Axis(values=_TICKS)
    )


def _tooltip(name: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{name}:N"), *tooltips("frame_bytes", "bandwidth")]
