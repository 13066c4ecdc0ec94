"""The figures of a report: functions from one or several stores to an Altair chart.

    from pcielab.report import figures, save_figure
    from pcielab.store import open_store

    run = open_store("run.db")
    figures.bandwidth_by_size(run)                       # in a notebook
    save_figure(figures.latency_cdf(run), "cdf.pdf")     # in a paper

Arguments that figures share: `sources` are the runs to draw as lines; `measured` is a run to draw as points over
them; `path` is `dma`, or `command` for accesses that the device issues from its registers; `size_bytes` is the
transfer size; `accounting` counts the bytes of the link alone, `sigcomm18` as in the paper.

Titles and legends give the origin of the numbers. Every function raises `MissingDataError` if the runs lack its
data. Rows are selected by their parameters, so that any suite with a sweep is drawn, not only the paper's.
"""

from pcielab.charts.frame import Figure
from pcielab.charts.selection import MissingDataError
from pcielab.kinds.deviations import published_deviations
from pcielab.kinds.flows.experiments import FabricPlot, fabric_phases, fabric_sweep
from pcielab.kinds.flows.paths import fabric_one_way, fabric_validation
from pcielab.kinds.flows.phases import flow_distributions, flow_phases
from pcielab.kinds.frames.figures import nic_throughput
from pcielab.kinds.messages.by_size import (
    message_bandwidth_by_link,
    message_bandwidth_by_size,
    message_latency_by_link,
    message_latency_by_size,
)
from pcielab.kinds.messages.contention import message_cores, message_evictions, message_mux
from pcielab.kinds.messages.loopback import loopback, modelled_loopback
from pcielab.kinds.messages.steps import message_steps
from pcielab.kinds.tools.figures import tool_bandwidth_by_size, tool_bandwidths
from pcielab.kinds.transfers.bandwidth import bandwidth_by_size, bandwidth_of_long_transfers
from pcielab.kinds.transfers.buffer import buffer_layout
from pcielab.kinds.transfers.core_reads import reads_of_a_core
from pcielab.kinds.transfers.distribution import latency_cdf, latency_histogram, latency_tail
from pcielab.kinds.transfers.in_order import latencies_in_order
from pcielab.kinds.transfers.interaction import interactions_of_links, modelled_interactions
from pcielab.kinds.transfers.latency import latency_by_size
from pcielab.kinds.transfers.offset import bandwidth_by_offset, latency_by_offset
from pcielab.kinds.transfers.two_runs import iommu_against_none, local_against_remote
from pcielab.kinds.transfers.window import bandwidth_by_window, latency_by_window

__all__ = [
    "FabricPlot",
    "Figure",
    "MissingDataError",
    "bandwidth_by_offset",
    "bandwidth_by_size",
    "bandwidth_by_window",
    "bandwidth_of_long_transfers",
    "buffer_layout",
    "fabric_one_way",
    "fabric_phases",
    "fabric_sweep",
    "fabric_validation",
    "flow_distributions",
    "flow_phases",
    "interactions_of_links",
    "iommu_against_none",
    "latencies_in_order",
    "latency_by_offset",
    "latency_by_size",
    "latency_by_window",
    "latency_cdf",
    "latency_histogram",
    "latency_tail",
    "local_against_remote",
    "loopback",
    "message_bandwidth_by_link",
    "message_bandwidth_by_size",
    "message_cores",
    "message_evictions",
    "message_latency_by_link",
    "message_latency_by_size",
    "message_mux",
    "message_steps",
    "modelled_interactions",
    "modelled_loopback",
    "nic_throughput",
    "published_deviations",
    "reads_of_a_core",
    "tool_bandwidth_by_size",
    "tool_bandwidths",
]
