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

from pcielab.report.figures.bandwidth import bandwidth_by_size, bandwidth_of_long_transfers
from pcielab.report.figures.buffer import buffer_layout
from pcielab.report.figures.comparison import iommu_against_none, local_against_remote
from pcielab.report.figures.core_reads import reads_of_a_core
from pcielab.report.figures.distribution import latency_cdf, latency_histogram, latency_tail
from pcielab.report.figures.fabric import FabricPlot, fabric_phases, fabric_sweep, published_deviations
from pcielab.report.figures.fabric_paths import fabric_one_way
from pcielab.report.figures.fabric_validation import fabric_validation
from pcielab.report.figures.flows import flow_distributions, flow_phases
from pcielab.report.figures.frame import Figure
from pcielab.report.figures.in_order import latencies_in_order
from pcielab.report.figures.interaction import interactions_of_links, modelled_interactions
from pcielab.report.figures.latency import latency_by_size
from pcielab.report.figures.loopback import loopback, modelled_loopback
from pcielab.report.figures.message import (
    message_bandwidth_by_link,
    message_bandwidth_by_size,
    message_latency_by_link,
    message_latency_by_size,
)
from pcielab.report.figures.message_contention import message_cores, message_evictions
from pcielab.report.figures.message_mux import message_mux
from pcielab.report.figures.message_steps import message_steps
from pcielab.report.figures.nic import nic_throughput
from pcielab.report.figures.offset import bandwidth_by_offset, latency_by_offset
from pcielab.report.figures.tools import tool_bandwidth_by_size, tool_bandwidths
from pcielab.report.figures.window import bandwidth_by_window, latency_by_window
from pcielab.report.selection import MissingDataError

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
