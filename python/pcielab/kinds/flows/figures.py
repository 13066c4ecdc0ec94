"""The figures of runs of flows: the experiments of a paper, and those of any other family of flows."""

from collections.abc import Sequence

from pcielab.charts.frame import Figure
from pcielab.charts.run import Run, all_runs, of_kind
from pcielab.kinds.deviations import published_deviations
from pcielab.kinds.flows.experiments import FabricPlot, fabric_phases, fabric_sweep
from pcielab.kinds.flows.paths import fabric_one_way, fabric_validation
from pcielab.kinds.flows.phases import flow_distributions, flow_phases
from pcielab.kinds.flows.tree import simulated_loads
from pcielab.kinds.rooms import Entry, Figures
from pcielab.store import Store

_FLOWS = "Flows"
_FABRIC: tuple[tuple[FabricPlot, str], ...] = (
    (
        FabricPlot("fig3-one-way", "One-way latency, local and across the fabric", "average"),
        "Time that adapters, switch and software add to a write of 64 B.",
    ),
    (
        FabricPlot("fig3-latency", "Latency of MMIO, H2D and D2H over the size", "average", panel_words=1),
        "Reads of a register or a buffer by MMIO, and commands that move data to the device and back.",
    ),
    (
        FabricPlot("fig4-d2d-latency", "Latency between devices over the size", "average"),
        "Within a chassis, and across the switch.",
    ),
    (
        FabricPlot("fig5-bandwidth", "Bandwidth of H2D and D2H over the size", "bandwidth"),
        "Engines and links both limit it; pcielab fabric explain says which.",
    ),
    (
        FabricPlot("fig6-d2d-bandwidth", "Bandwidth between devices over the size", "bandwidth"),
        "Within a chassis and across the switch, by the size of a command.",
    ),
    (
        FabricPlot("fig7-latency-throughput", "Latency of 64 B requests under load", "average", ("64 B",)),
        "Beside background commands with rising demand.",
    ),
    (
        FabricPlot("fig9-tail", "Tail over average of one of 16 flows", "tail", ("F1",)),
        "Equal flows, each in its own command queue: 1 if all requests wait equally long.",
    ),
    (
        FabricPlot("fig10-partition", "Two flows on one path", "bandwidth"),
        "Bandwidth of each flow, by its outstanding requests.",
    ),
    (
        FabricPlot("fig11-reverse", "Latency against traffic in the other direction", "average", ("F2",)),
        "Effect of one direction on the other.",
    ),
    (
        FabricPlot("fig13-sharing", "Two flows at a port", "bandwidth", panel_words=2),
        "A port's bandwidth for two lanes with rising demand.",
    ),
    (
        FabricPlot("fig14-contention", "Latency of F1 under contention", "percentiles", ("F1",), panel_words=2),
        "Growth of queues under contention.",
    ),
    (
        FabricPlot("fig15-orthogonal", "Latency beside traffic on another path", "average", ("F2",)),
        "Effect of one path on another without a shared link.",
    ),
)


def _fabric_entry(plot: FabricPlot, about: str) -> Entry:
    def draw(runs: Sequence[Run], measured: Run | None) -> Figure:
        return fabric_sweep(all_runs(runs, measured), plot)

    return Entry(f"fabric-{plot.family}", "Routable fabric", about, draw)


_ENTRIES = (
    *(_fabric_entry(plot, about) for plot, about in _FABRIC),
    Entry(
        "fabric-table2-validation",
        "Routable fabric",
        "The paper's validation of its estimator: measured, simulated, and estimated by max-min.",
        lambda runs, measured: fabric_validation(all_runs(runs, measured)),
    ),
    Entry(
        "fabric-one-way",
        "Routable fabric",
        "The time of one way, by part (section 4.2 of the paper).",
        lambda runs, measured: fabric_one_way(all_runs(runs, measured)),
    ),
    Entry(
        "fabric-phases",
        "Routable fabric",
        "The three phases of a request: queued at the host, in the fabric, executed at the device.",
        lambda runs, measured: fabric_phases(all_runs(runs, measured)),
    ),
    Entry(
        "fabric-published",
        "Routable fabric",
        "Every number of the paper beside the simulated one, in the paper's order. The tip gives the reason for "
        "errors above 5 % (shares: 3 points), as pcielab paper numbers does.",
        lambda runs, measured: published_deviations(of_kind(all_runs(runs, measured), "flows")),
    ),
)


def _own_entries(runs: Sequence[Run]) -> list[Entry]:
    """Figures of flows on a fabric that are in no paper: sets of flows, programs, own experiments."""
    known = {*(plot.family for plot, _ in _FABRIC), "table2-validation"}
    families = [family for run in of_kind(runs, "flows") for family in run.rows["family"] if family not in known]
    return [
        entry
        for number, family in enumerate(dict.fromkeys(map(str, families)), start=1)
        for entry in _entries_of(family, f"flows-{number}")
    ]


def _entries_of(family: str, name: str) -> list[Entry]:
    bandwidths = FabricPlot(family, f"{family}: bandwidth by flow", "bandwidth")
    latencies = FabricPlot(family, f"{family}: latency of requests", "average")
    return [
        Entry(
            f"{name}-loads",
            _FLOWS,
            "The load of each link in both directions, and the capacity of each.",
            lambda runs, measured: simulated_loads(all_runs(runs, measured), family),
        ),
        Entry(
            f"{name}-bandwidth",
            _FLOWS,
            "Payload delivered. pcielab fabric estimate says which edge limits a flow.",
            lambda runs, measured: fabric_sweep(all_runs(runs, measured), bandwidths),
        ),
        Entry(
            f"{name}-latency",
            _FLOWS,
            "From submission to completion, on average.",
            lambda runs, measured: fabric_sweep(all_runs(runs, measured), latencies),
        ),
        Entry(
            f"{name}-phases",
            _FLOWS,
            "Average time queued at the host, in the fabric, and executed at the device.",
            lambda runs, measured: flow_phases(all_runs(runs, measured), family),
        ),
        Entry(
            f"{name}-distributions",
            _FLOWS,
            "Distribution of each phase.",
            lambda runs, measured: flow_distributions(all_runs(runs, measured), family),
        ),
    ]


def _first_family(store: Store) -> Figure:
    family = str(store.tests["family"].iloc[0]) if len(store.tests) else ""
    return fabric_sweep(store, FabricPlot(family, f"{family}: bandwidth by flow", "bandwidth"))


FIGURES = Figures(_ENTRIES, one=(_first_family,), own=_own_entries)
