"""The figures of runs of transfers."""

from pcielab.charts.run import all_runs
from pcielab.kinds.rooms import Entry, Figures
from pcielab.kinds.transfers.bandwidth import bandwidth_by_size, bandwidth_of_long_transfers
from pcielab.kinds.transfers.core_reads import reads_of_a_core
from pcielab.kinds.transfers.distribution import latency_cdf, latency_histogram, latency_tail
from pcielab.kinds.transfers.in_order import latencies_in_order
from pcielab.kinds.transfers.interaction import modelled_interactions
from pcielab.kinds.transfers.latency import latency_by_size
from pcielab.kinds.transfers.offset import bandwidth_by_offset, latency_by_offset
from pcielab.kinds.transfers.two_runs import iommu_against_none, local_against_remote
from pcielab.kinds.transfers.window import bandwidth_by_window, latency_by_window

_ENTRIES = (
    Entry(
        "fig1-interactions",
        "Model",
        "Bandwidth that the link leaves for packets: alone, and after a NIC's descriptors, doorbells and "
        "interrupts.",
        lambda runs, measured: modelled_interactions(all_runs(runs, measured)),
    ),
    Entry(
        "fig4-bandwidth-by-size",
        "Bandwidth",
        "DMA bandwidth under its bound, and the sizes that sustain Ethernet. Neighbouring sizes are drawn apart. "
        "BW_RDWR counts one direction.",
        lambda runs, measured: bandwidth_by_size(runs, measured=measured),
    ),
    Entry(
        "bandwidth-by-size-command",
        "Bandwidth",
        "Commands: accesses that the device issues from its registers. BW_RDWR counts one direction.",
        lambda runs, measured: bandwidth_by_size(runs, path="command", measured=measured),
    ),
    Entry(
        "bandwidth-long-transfers",
        "Bandwidth",
        "Transfers above a page, as copy engines and drives use them.",
        lambda runs, measured: bandwidth_of_long_transfers(runs, measured=measured),
    ),
    Entry(
        "bandwidth-long-transfers-command",
        "Bandwidth",
        "Transfers above a page on the command path, one access after another.",
        lambda runs, measured: bandwidth_of_long_transfers(runs, path="command", measured=measured),
    ),
    Entry(
        "fig5-latency-by-size",
        "Latency",
        "Latency of a read, and of a write followed by a read that must not pass it.",
        lambda runs, measured: latency_by_size(runs, measured=measured),
    ),
    Entry(
        "fig6-cdf-dma-64",
        "Latency",
        "Cumulative distribution of latencies. Its steps are ticks of the device's timer.",
        lambda runs, measured: latency_cdf(runs, measured=measured),
    ),
    Entry(
        "histogram-dma-64",
        "Latency",
        "Histogram by timer tick: modes, gaps between them, and the tail.",
        lambda runs, measured: latency_histogram(runs, measured=measured),
    ),
    Entry(
        "in-order-dma-64",
        "Latency",
        "The first latencies in order: slow ones can be single, in bursts, or periodic.",
        lambda runs, measured: latencies_in_order(runs, measured=measured),
    ),
    Entry(
        "fig6-tail-dma-64",
        "Latency",
        "The tail: the slowest transactions, drawn as far as there are enough of them.",
        lambda runs, measured: latency_tail(runs, measured=measured),
    ),
    Entry(
        "fig6-tail-dma-2048",
        "Latency",
        "The same for long transfers.",
        lambda runs, measured: latency_tail(runs, size_bytes=2048, measured=measured),
    ),
    Entry(
        "fig6-tail-command-8",
        "Latency",
        "The tail of short commands, to which the device adds the least time of its own.",
        lambda runs, measured: latency_tail(runs, path="command", size_bytes=8, measured=measured),
    ),
    Entry(
        "fig7a-latency-by-window",
        "Caches",
        "Warm reads can slow down once the window exceeds the last-level cache; device writes once it exceeds "
        "DDIO's share, since dirty lines must be evicted first. The text below gives the changes.",
        lambda runs, measured: latency_by_window(runs, measured=measured),
    ),
    Entry(
        "fig7a-latency-by-window-dma-64",
        "Caches",
        "The same on the DMA path. With the IOMMU on, a step that does not depend on the caches is the IO-TLB's.",
        lambda runs, measured: latency_by_window(runs, path="dma", size_bytes=64, measured=measured),
    ),
    Entry(
        "reads-of-a-core",
        "Caches",
        "A dependent read waits for the one before it, so its time is the latency of the cache that holds the "
        "window, or of memory. Independent reads overlap.",
        lambda runs, measured: reads_of_a_core(runs, measured=measured),
    ),
    Entry(
        "fig7b-bandwidth-by-window",
        "Caches",
        "Cached data speed up reads if the number of reads in flight limits them.",
        lambda runs, measured: bandwidth_by_window(runs, measured=measured),
    ),
    Entry(
        "bandwidth-by-window-command",
        "Caches",
        "Bandwidth of accesses that the device issues from its registers.",
        lambda runs, measured: bandwidth_by_window(runs, path="command", measured=measured),
    ),
    Entry(
        "fig7b-bandwidth-by-window-larger",
        "Caches",
        "With larger transfers, other bounds than latency bind, and caches have no effect.",
        lambda runs, measured: bandwidth_by_window(runs, sizes=(128, 256, 512), measured=measured),
    ),
    Entry(
        "fig8-remote-against-local",
        "Two runs compared",
        "Cost of a buffer on the other socket.",
        lambda runs, measured: local_against_remote(all_runs(runs, measured)),
    ),
    Entry(
        "fig9-iommu-against-none",
        "Two runs compared",
        "Cost of address translation once the window exceeds the IO-TLB.",
        lambda runs, measured: iommu_against_none(all_runs(runs, measured)),
    ),
    Entry(
        "bandwidth-by-offset",
        "Alignment",
        "Transfers that are not aligned to a cache line of the host or to a word of the device's memory.",
        lambda runs, measured: bandwidth_by_offset(runs, measured=measured),
    ),
    Entry(
        "latency-by-offset",
        "Alignment",
        "The same for latency.",
        lambda runs, measured: latency_by_offset(runs, measured=measured),
    ),
)
FIGURES = Figures(
    _ENTRIES,
    one=(
        bandwidth_by_size,
        latency_by_size,
        bandwidth_by_window,
        latency_by_window,
        reads_of_a_core,
        bandwidth_by_offset,
        latency_by_offset,
        latency_cdf,
    ),
)
