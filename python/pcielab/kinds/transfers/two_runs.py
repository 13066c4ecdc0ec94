"""Figures 8 and 9 of the paper: the change of bandwidth with remote memory, or with the IOMMU.

Both compare two runs of the same suite that differ in one property. The base, from the system profiles, is the run
whose buffer is on the device's socket, or the one without IOMMU.
"""

from collections.abc import Callable, Sequence
from itertools import permutations

import altair as alt
import pandas as pd

from pcielab.charts.axes import percent_axis, window_axis
from pcielab.charts.frame import OPERATION_TITLES, Figure, panels, titled, tooltips
from pcielab.charts.run import Run, Sources, runs_of
from pcielab.charts.selection import PAPER_CACHE_STATES, MissingDataError, matching, widest_sweep
from pcielab.charts.series import Dimension, Series, label_rows
from pcielab.kinds.transfers.claims import change_claims
from pcielab.store.setup import Setup, setup_of

_KEY = ["operation", "cache", "size_bytes", "window_bytes"]


def local_against_remote(sources: Sources) -> Figure:
    """Change of DMA bandwidth with the buffer on the other socket, over the window (figure 8).

    Of the runs, the first two count that differ in the memory's socket and not in the IOMMU.
    """
    base, other = _pair(runs_of(sources), Setup.is_local_of, "two runs that differ in the socket of the memory")
    return _change(base, other, "Figure 8: remote against local memory", remote=True)


def iommu_against_none(sources: Sources) -> Figure:
    """Change of DMA bandwidth with the IOMMU on, over the window (figure 9).

    Of the runs, the first two count that differ in the IOMMU and not in their sockets.
    """
    base, other = _pair(runs_of(sources), Setup.is_untranslated_of, "two runs of which one has the IOMMU on")
    return _change(base, other, "Figure 9: IOMMU against none", remote=False)


def _pair(runs: Sequence[Run], differ: Callable[[Setup, Setup], bool], needed: str) -> tuple[Run, Run]:
    for base, other in permutations(runs, 2):
        if base.store.origin == other.store.origin and differ(setup_of(base.manifest), setup_of(other.manifest)):
            return base, other
    raise MissingDataError(f"{needed}, of one machine and of one origin")


def _change(base: Run, other: Run, title: str, *, remote: bool) -> Figure:
    runs = [base, other]
    joined = _sweeps(base).merge(_sweeps(other), on=_KEY, suffixes=("_base", "_other"))
    if joined.empty:
        raise MissingDataError("bandwidth tests over windows that both runs have (bw_dma_win_sweep_*)")
    data = joined.assign(
        change=100 * (joined["bandwidth_other"] / joined["bandwidth_base"] - 1),
        panel=joined["operation"].map(OPERATION_TITLES),
        state="cache: " + joined["cache"],
    )
    sizes = sorted(set(data["size_bytes"]))
    # The change belongs to both runs; it is drawn as a line of the one that is not the base.
    series = Series([other], Dimension("size_bytes", "transfer size (bytes)", sizes, grows=True))
    x, y = window_axis(data["window_bytes"]), percent_axis("change", "change of bandwidth (%)")
    zero = alt.Chart().mark_rule(style="zero").encode(y=alt.datum(0))
    layers = [zero, *series.layers(x, y, _tooltip(base, other))]
    states = [f"cache: {state}" for state in reversed(PAPER_CACHE_STATES) if state in set(data["cache"])]
    figure = panels(
        layers,
        label_rows(other, data),
        "panel",
        columns=list(dict.fromkeys(data["panel"])),
        row="state",
        rows=states,
        height=200,
    )
    found = [*change_claims(data, remote=remote)]
    return titled(figure, title, runs, f"change from {base.label} to {other.label}", claims=found)


def _sweeps(run: Run) -> pd.DataFrame:
    rows = matching(run.aligned, operation=("bw-rd", "bw-wr"), path="dma", cache=PAPER_CACHE_STATES)
    parts = [
        widest_sweep(group, "window_bytes", across=("cache",))
        for _, group in rows.groupby(["operation", "size_bytes"], sort=True)
    ]
    return pd.concat([pd.DataFrame(columns=_KEY), *parts]).reindex(columns=[*_KEY, "bandwidth"])


def _tooltip(base: Run, other: Run) -> list[alt.Tooltip]:
    return [
        *tooltips("operation", "cache", "size_bytes", "window_bytes"),
        alt.Tooltip("bandwidth_base:Q", title=f"{base.label} (Gb/s)", format=".2f"),
        alt.Tooltip("bandwidth_other:Q", title=f"{other.label} (Gb/s)", format=".2f"),
        alt.Tooltip("change:Q", title="change (%)", format="+.1f"),
    ]
