"""The figures of a report, in order, with a caption each.

A figure whose data the runs lack is left out, and the report lists it with the figure's reason.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from altair.utils.schemapi import debug_mode

from pcielab.library.shipped import SuiteKind
from pcielab.report import figures
from pcielab.report.fabric_tree import simulated_loads
from pcielab.report.figures import Figure, MissingDataError
from pcielab.report.figures.frame import claims_of
from pcielab.report.run import Run

_Draw: TypeAlias = Callable[[Sequence[Run], Run | None], Figure]


@dataclass(frozen=True)
class Entry:
    """A figure that a report may have.

    Attributes:
        name: Name of its file and anchor.
        section: Heading above it.
        about: Caption, one or two sentences.
        draw: Draws it from the runs and the measured overlay.
    """

    name: str
    section: str
    about: str
    draw: _Draw


@dataclass(frozen=True)
class Drawn:
    """A drawn figure."""

    entry: Entry
    figure: Figure

    @property
    def claims(self) -> list[str]:
        """Sentences about the figure, computed from its rows."""
        return claims_of(self.figure)


@dataclass(frozen=True)
class LeftOut:
    """A figure without data, and the data that it needs."""

    entry: Entry
    needs: str


def _all_runs(runs: Sequence[Run], measured: Run | None) -> list[Run]:
    return [*runs, measured] if measured is not None else list(runs)


def _of_kind(runs: Sequence[Run], measured: Run | None, kind: SuiteKind) -> list[Run]:
    return [run for run in _all_runs(runs, measured) if run.store.kind == kind]


_FLOWS = "Flows"
_SECTION_KINDS = {"Messages": "messages", "NIC": "frames", "Routable fabric": "fabric", "Other tools": "tool"}
"""Sections for runs of another kind than transfers; all others are for transfers."""
_FABRIC: tuple[tuple[figures.FabricPlot, str], ...] = (
    (
        figures.FabricPlot("fig3-one-way", "One-way latency, local and across the fabric", "average"),
        "Time that adapters, switch and software add to a write of 64 B.",
    ),
    (
        figures.FabricPlot("fig3-latency", "Latency of MMIO, H2D and D2H over the size", "average", panel_words=1),
        "Reads of a register or a buffer by MMIO, and commands that move data to the device and back.",
    ),
    (
        figures.FabricPlot("fig4-d2d-latency", "Latency between devices over the size", "average"),
        "Within a chassis, and across the switch.",
    ),
    (
        figures.FabricPlot("fig5-bandwidth", "Bandwidth of H2D and D2H over the size", "bandwidth"),
        "Engines and links both limit it; pcielab fabric explain says which.",
    ),
    (
        figures.FabricPlot("fig6-d2d-bandwidth", "Bandwidth between devices over the size", "bandwidth"),
        "Within a chassis and across the switch, by the size of a command.",
    ),
    (
        figures.FabricPlot("fig7-latency-throughput", "Latency of 64 B requests under load", "average", ("64 B",)),
        "Beside background commands with rising demand.",
    ),
    (
        figures.FabricPlot("fig9-tail", "Tail over average of one of 16 flows", "tail", ("F1",)),
        "Equal flows, each in its own command queue: 1 if all requests wait equally long.",
    ),
    (
        figures.FabricPlot("fig10-partition", "Two flows on one path", "bandwidth"),
        "Bandwidth of each flow, by its outstanding requests.",
    ),
    (
        figures.FabricPlot("fig11-reverse", "Latency against traffic in the other direction", "average", ("F2",)),
        "Effect of one direction on the other.",
    ),
    (
        figures.FabricPlot("fig13-sharing", "Two flows at a port", "bandwidth", panel_words=2),
        "A port's bandwidth for two lanes with rising demand.",
    ),
    (
        figures.FabricPlot(
            "fig14-contention", "Latency of F1 under contention", "percentiles", ("F1",), panel_words=2
        ),
        "Growth of queues under contention.",
    ),
    (
        figures.FabricPlot("fig15-orthogonal", "Latency beside traffic on another path", "average", ("F2",)),
        "Effect of one path on another without a shared link.",
    ),
)


def _fabric_entry(plot: figures.FabricPlot, about: str) -> Entry:
    def draw(runs: Sequence[Run], measured: Run | None) -> Figure:
        return figures.fabric_sweep(_all_runs(runs, measured), plot)

    return Entry(f"fabric-{plot.family}", "Routable fabric", about, draw)


CATALOGUE: tuple[Entry, ...] = (
    Entry(
        "fig1-interactions",
        "Model",
        "Bandwidth that the link leaves for packets: alone, and after a NIC's descriptors, doorbells and "
        "interrupts.",
        lambda runs, measured: figures.modelled_interactions(_all_runs(runs, measured)),
    ),
    Entry(
        "fig4-bandwidth-by-size",
        "Bandwidth",
        "DMA bandwidth under its bound, and the sizes that sustain Ethernet. Neighbouring sizes are drawn apart. "
        "BW_RDWR counts one direction.",
        lambda runs, measured: figures.bandwidth_by_size(runs, measured=measured),
    ),
    Entry(
        "bandwidth-by-size-command",
        "Bandwidth",
        "Commands: accesses that the device issues from its registers. BW_RDWR counts one direction.",
        lambda runs, measured: figures.bandwidth_by_size(runs, path="command", measured=measured),
    ),
    Entry(
        "bandwidth-long-transfers",
        "Bandwidth",
        "Transfers above a page, as copy engines and drives use them.",
        lambda runs, measured: figures.bandwidth_of_long_transfers(runs, measured=measured),
    ),
    Entry(
        "bandwidth-long-transfers-command",
        "Bandwidth",
        "Transfers above a page on the command path, one access after another.",
        lambda runs, measured: figures.bandwidth_of_long_transfers(runs, path="command", measured=measured),
    ),
    Entry(
        "fig5-latency-by-size",
        "Latency",
        "Latency of a read, and of a write followed by a read that must not pass it.",
        lambda runs, measured: figures.latency_by_size(runs, measured=measured),
    ),
    Entry(
        "fig6-cdf-dma-64",
        "Latency",
        "Cumulative distribution of latencies. Its steps are ticks of the device's timer.",
        lambda runs, measured: figures.latency_cdf(runs, measured=measured),
    ),
    Entry(
        "histogram-dma-64",
        "Latency",
        "Histogram by timer tick: modes, gaps between them, and the tail.",
        lambda runs, measured: figures.latency_histogram(runs, measured=measured),
    ),
    Entry(
        "in-order-dma-64",
        "Latency",
        "The first latencies in order: slow ones can be single, in bursts, or periodic.",
        lambda runs, measured: figures.latencies_in_order(runs, measured=measured),
    ),
    Entry(
        "fig6-tail-dma-64",
        "Latency",
        "The tail: the slowest transactions, drawn as far as there are enough of them.",
        lambda runs, measured: figures.latency_tail(runs, measured=measured),
    ),
    Entry(
        "fig6-tail-dma-2048",
        "Latency",
        "The same for long transfers.",
        lambda runs, measured: figures.latency_tail(runs, size_bytes=2048, measured=measured),
    ),
    Entry(
        "fig6-tail-command-8",
        "Latency",
        "The tail of short commands, to which the device adds the least time of its own.",
        lambda runs, measured: figures.latency_tail(runs, path="command", size_bytes=8, measured=measured),
    ),
    Entry(
        "fig7a-latency-by-window",
        "Caches",
        "Warm reads can slow down once the window exceeds the last-level cache; device writes once it exceeds "
        "DDIO's share, since dirty lines must be evicted first. The text below gives the changes.",
        lambda runs, measured: figures.latency_by_window(runs, measured=measured),
    ),
    Entry(
        "fig7a-latency-by-window-dma-64",
        "Caches",
        "The same on the DMA path. With the IOMMU on, a step that does not depend on the caches is the IO-TLB's.",
        lambda runs, measured: figures.latency_by_window(runs, path="dma", size_bytes=64, measured=measured),
    ),
    Entry(
        "reads-of-a-core",
        "Caches",
        "A dependent read waits for the one before it, so its time is the latency of the cache that holds the "
        "window, or of memory. Independent reads overlap.",
        lambda runs, measured: figures.reads_of_a_core(runs, measured=measured),
    ),
    Entry(
        "fig7b-bandwidth-by-window",
        "Caches",
        "Cached data speed up reads if the number of reads in flight limits them.",
        lambda runs, measured: figures.bandwidth_by_window(runs, measured=measured),
    ),
    Entry(
        "bandwidth-by-window-command",
        "Caches",
        "Bandwidth of accesses that the device issues from its registers.",
        lambda runs, measured: figures.bandwidth_by_window(runs, path="command", measured=measured),
    ),
    Entry(
        "fig7b-bandwidth-by-window-larger",
        "Caches",
        "With larger transfers, other bounds than latency bind, and caches have no effect.",
        lambda runs, measured: figures.bandwidth_by_window(runs, sizes=(128, 256, 512), measured=measured),
    ),
    Entry(
        "fig8-remote-against-local",
        "Two runs compared",
        "Cost of a buffer on the other socket.",
        lambda runs, measured: figures.local_against_remote(_all_runs(runs, measured)),
    ),
    Entry(
        "fig9-iommu-against-none",
        "Two runs compared",
        "Cost of address translation once the window exceeds the IO-TLB.",
        lambda runs, measured: figures.iommu_against_none(_all_runs(runs, measured)),
    ),
    Entry(
        "bandwidth-by-offset",
        "Alignment",
        "Transfers that are not aligned to a cache line of the host or to a word of the device's memory.",
        lambda runs, measured: figures.bandwidth_by_offset(runs, measured=measured),
    ),
    Entry(
        "latency-by-offset",
        "Alignment",
        "The same for latency.",
        lambda runs, measured: figures.latency_by_offset(runs, measured=measured),
    ),
    Entry(
        "message-steps",
        "Messages",
        "Time of a small message by step, from its first packet on the link (table 1 of the kPIO+WC paper).",
        lambda runs, measured: figures.message_steps(_all_runs(runs, measured)),
    ),
    Entry(
        "message-latency-by-size",
        "Messages",
        "Stores cost a header for each packet, descriptors cost round trips: the faster method depends on the "
        "size (figure 7 of the kPIO+WC paper).",
        lambda runs, measured: figures.message_latency_by_size(runs, measured=measured),
    ),
    Entry(
        "message-bandwidth-by-size",
        "Messages",
        "Back-to-back messages (figure 8 of the kPIO+WC paper).",
        lambda runs, measured: figures.message_bandwidth_by_size(runs, measured=measured),
    ),
    Entry(
        "message-latency-by-link",
        "Messages",
        "The same machine on later links: only the link's own time changes.",
        lambda runs, measured: figures.message_latency_by_link(runs, measured=measured),
    ),
    Entry(
        "message-bandwidth-by-link",
        "Messages",
        "The same for bandwidth.",
        lambda runs, measured: figures.message_bandwidth_by_link(runs, measured=measured),
    ),
    Entry(
        "nic-throughput",
        "NIC",
        "Simulated rate of a NIC against line rate, and the bound where it falls short. If only the link binds, "
        "the simulation equals the closed form of the ports.",
        lambda runs, measured: figures.nic_throughput(_all_runs(runs, measured)),
    ),
    Entry(
        "message-published",
        "Messages",
        "Every number of the kPIO+WC paper beside the simulated one, in the paper's order. The tip gives the "
        "reason for errors above 5 % (shares: 3 points), as pcielab paper numbers does.",
        lambda runs, measured: figures.published_deviations(_of_kind(runs, measured, "messages")),
    ),
    Entry(
        "message-cores",
        "Messages",
        "Effect of more cores on their total bandwidth and on the latency of each message.",
        lambda runs, measured: figures.message_cores(_all_runs(runs, measured)),
    ),
    Entry(
        "message-evictions",
        "Messages",
        "A write-combining buffer that is evicted before it is full leaves in several packets.",
        lambda runs, measured: figures.message_evictions(_all_runs(runs, measured)),
    ),
    Entry(
        "message-mux",
        "Messages",
        "Connections that send messages by stores up to a size and by descriptors above it, all on one link (the "
        "MUX of the kPIO+WC paper).",
        lambda runs, measured: figures.message_mux(_all_runs(runs, measured)),
    ),
    Entry(
        "fig2-loopback",
        "Messages",
        "A packet written by stores, looped back by the NIC and returned by DMA, with the share of PCIe in its "
        "latency.",
        lambda runs, measured: figures.modelled_loopback(_all_runs(runs, measured)),
    ),
    *(_fabric_entry(plot, about) for plot, about in _FABRIC),
    Entry(
        "fabric-table2-validation",
        "Routable fabric",
        "The paper's validation of its estimator: measured, simulated, and estimated by max-min.",
        lambda runs, measured: figures.fabric_validation(_all_runs(runs, measured)),
    ),
    Entry(
        "fabric-one-way",
        "Routable fabric",
        "The time of one way, by part (section 4.2 of the paper).",
        lambda runs, measured: figures.fabric_one_way(_all_runs(runs, measured)),
    ),
    Entry(
        "fabric-phases",
        "Routable fabric",
        "The three phases of a request: queued at the host, in the fabric, executed at the device.",
        lambda runs, measured: figures.fabric_phases(_all_runs(runs, measured)),
    ),
    Entry(
        "fabric-published",
        "Routable fabric",
        "Every number of the paper beside the simulated one, in the paper's order. The tip gives the reason for "
        "errors above 5 % (shares: 3 points), as pcielab paper numbers does.",
        lambda runs, measured: figures.published_deviations(_of_kind(runs, measured, "fabric")),
    ),
    Entry(
        "tool-bandwidths",
        "Other tools",
        "Bandwidths as another tool measured them; ticks are the bound of the given link.",
        lambda runs, measured: figures.tool_bandwidths(_all_runs(runs, measured)),
    ),
    Entry(
        "tool-bandwidth-by-size",
        "Other tools",
        "Bandwidths over the size of messages or blocks; dashes are the bound of the given link.",
        lambda runs, measured: figures.tool_bandwidth_by_size(_all_runs(runs, measured)),
    ),
)


def _own_entries(runs: Sequence[Run]) -> list[Entry]:
    """Figures of flows on a fabric that are in no paper: sets of flows, programs, own experiments."""
    known = {*(plot.family for plot, _ in _FABRIC), "table2-validation"}
    of_fabrics = [run.rows for run in runs if run.store.kind == "fabric"]
    families = [family for rows in of_fabrics for family in rows["family"] if family not in known]
    return [
        entry
        for number, family in enumerate(dict.fromkeys(map(str, families)), start=1)
        for entry in _entries_of(family, f"flows-{number}")
    ]


def _entries_of(family: str, name: str) -> list[Entry]:
    bandwidths = figures.FabricPlot(family, f"{family}: bandwidth by flow", "bandwidth")
    latencies = figures.FabricPlot(family, f"{family}: latency of requests", "average")
    return [
        Entry(
            f"{name}-loads",
            _FLOWS,
            "The load of each link in both directions, and the capacity of each.",
            lambda runs, measured: simulated_loads(_all_runs(runs, measured), family),
        ),
        Entry(
            f"{name}-bandwidth",
            _FLOWS,
            "Payload delivered. pcielab fabric estimate says which edge limits a flow.",
            lambda runs, measured: figures.fabric_sweep(_all_runs(runs, measured), bandwidths),
        ),
        Entry(
            f"{name}-latency",
            _FLOWS,
            "From submission to completion, on average.",
            lambda runs, measured: figures.fabric_sweep(_all_runs(runs, measured), latencies),
        ),
        Entry(
            f"{name}-phases",
            _FLOWS,
            "Average time queued at the host, in the fabric, and executed at the device.",
            lambda runs, measured: figures.flow_phases(_all_runs(runs, measured), family),
        ),
        Entry(
            f"{name}-distributions",
            _FLOWS,
            "Distribution of each phase.",
            lambda runs, measured: figures.flow_distributions(_all_runs(runs, measured), family),
        ),
    ]


def draw_all(runs: Sequence[Run], measured: Run | None) -> tuple[list[Drawn], list[LeftOut]]:
    """Draw every figure for which the runs have the data, `measured` as points, and list the other figures.

    Altair does not check the parts of a figure here, which takes a third of a report's time: tests check them.
    """
    drawn: list[Drawn] = []
    left_out: list[LeftOut] = []
    kinds = {run.store.kind for run in _all_runs(runs, measured)}
    fitting = [entry for entry in CATALOGUE if _SECTION_KINDS.get(entry.section, "transfers") in kinds]
    for entry in [*fitting, *_own_entries(runs)]:
        try:
            with debug_mode(False):
                drawn.append(Drawn(entry, entry.draw(runs, measured)))
        except MissingDataError as missing:
            left_out.append(LeftOut(entry, str(missing)))
    return drawn, left_out
