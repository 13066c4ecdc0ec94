"""The figures of runs of messages."""

from pcielab.charts.run import all_runs, of_kind
from pcielab.kinds.deviations import published_deviations
from pcielab.kinds.messages.by_size import (
    message_bandwidth_by_link,
    message_bandwidth_by_size,
    message_latency_by_link,
    message_latency_by_size,
)
from pcielab.kinds.messages.contention import message_cores, message_evictions, message_mux
from pcielab.kinds.messages.loopback import modelled_loopback
from pcielab.kinds.messages.steps import message_steps
from pcielab.kinds.rooms import Entry, Figures

_ENTRIES = (
    Entry(
        "message-steps",
        "Messages",
        "Time of a small message by step, from its first packet on the link (table 1 of the kPIO+WC paper).",
        lambda runs, measured: message_steps(all_runs(runs, measured)),
    ),
    Entry(
        "message-latency-by-size",
        "Messages",
        "Stores cost a header for each packet, descriptors cost round trips: the faster method depends on the "
        "size (figure 7 of the kPIO+WC paper).",
        lambda runs, measured: message_latency_by_size(runs, measured=measured),
    ),
    Entry(
        "message-bandwidth-by-size",
        "Messages",
        "Back-to-back messages (figure 8 of the kPIO+WC paper).",
        lambda runs, measured: message_bandwidth_by_size(runs, measured=measured),
    ),
    Entry(
        "message-latency-by-link",
        "Messages",
        "The same machine on later links: only the link's own time changes.",
        lambda runs, measured: message_latency_by_link(runs, measured=measured),
    ),
    Entry(
        "message-bandwidth-by-link",
        "Messages",
        "The same for bandwidth.",
        lambda runs, measured: message_bandwidth_by_link(runs, measured=measured),
    ),
    Entry(
        "message-published",
        "Messages",
        "Every number of the kPIO+WC paper beside the simulated one, in the paper's order. The tip gives the "
        "reason for errors above 5 % (shares: 3 points), as pcielab paper numbers does.",
        lambda runs, measured: published_deviations(of_kind(all_runs(runs, measured), "messages")),
    ),
    Entry(
        "message-cores",
        "Messages",
        "Effect of more cores on their total bandwidth and on the latency of each message.",
        lambda runs, measured: message_cores(all_runs(runs, measured)),
    ),
    Entry(
        "message-evictions",
        "Messages",
        "A write-combining buffer that is evicted before it is full leaves in several packets.",
        lambda runs, measured: message_evictions(all_runs(runs, measured)),
    ),
    Entry(
        "message-mux",
        "Messages",
        "Connections that send messages by stores up to a size and by descriptors above it, all on one link (the "
        "MUX of the kPIO+WC paper).",
        lambda runs, measured: message_mux(all_runs(runs, measured)),
    ),
    Entry(
        "fig2-loopback",
        "Messages",
        "A packet written by stores, looped back by the NIC and returned by DMA, with the share of PCIe in its "
        "latency.",
        lambda runs, measured: modelled_loopback(all_runs(runs, measured)),
    ),
)
FIGURES = Figures(
    _ENTRIES,
    one=(message_bandwidth_by_size, message_latency_by_size, message_mux),
)
