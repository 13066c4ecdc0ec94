"""`pcielab fabric`: each flow's share of a tree of switches, and who limits whom."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab.cli.completion import profile_names, set_option, suite_names
from pcielab.cli.fabric_machine import from_machine, paths
from pcielab.cli.fabric_tables import print_flows, print_listed
from pcielab.cli.option_groups import GROUP, refuse_without_effect
from pcielab.cli.option_sets import takes_run_options
from pcielab.cli.output import (
    Cell,
    Format,
    FormatOption,
    OverwriteOption,
    Theme,
    ThemeOption,
    picture_option,
    print_blocks,
    print_data,
    print_frame,
    print_rows,
    print_text,
    say,
)
from pcielab.cli.paper import validate
from pcielab.cli.progress import Limit, announce_flows, announce_many, carry_out
from pcielab.errors import refusal
from pcielab.wording import named

if TYPE_CHECKING:
    import pandas as pd

    from pcielab.expectations.as_fabric import MachineFabric
    from pcielab.fabric import Estimate, Fabric, Flow, Influence, Point
    from pcielab.work.options import RunOptions

app = typer.Typer()

File = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE",
        help="A shipped fabric or published box, or the file (*.toml) of a fabric or machine.",
        autocompletion=profile_names("fabric"),
    ),
]
FlowsOption = Annotated[
    str | None,
    typer.Option(
        "--flows", metavar="SET|FILE", help="A set of flows in the fabric's file, or a CSV or Parquet file."
    ),
]
FlowOption = Annotated[
    list[str] | None,
    typer.Option(
        "--flow",
        metavar="A->B[:RATE]",
        help="A flow, with what it asks for if that is known: 'gpu0->nic1:20GB/s'. Repeatable.",
    ),
]
PatternOption = Annotated[
    str | None,
    typer.Option(
        "--pattern",
        metavar="PATTERN",
        help="Flows between the devices of a machine: all-to-host, pairs, checkpoint-to-nvme, ring:gpu0,gpu1,...",
    ),
]
SetsOption = Annotated[
    list[str] | None,
    set_option("Change one value of the fabric, as fabric.devices.gpu.engine.tags=64", "fabric"),
]
SuiteOption = Annotated[
    str | None,
    typer.Option(
        "--suite",
        metavar="NAME|FILE",
        help="Experiments: rpciebench, or a file.",
        autocompletion=suite_names("fabric"),
    ),
]


class Method(StrEnum):
    """The estimators."""

    ECR = "ecr"
    MAX_MIN = "max-min"


class Standalone(StrEnum):
    """Source of the rates of flows that run alone."""

    DECLARED = "declared"
    SIMULATED = "simulated"


class Discipline(StrEnum):
    """Unit that has its own credits at every port."""

    PER_FLOW = "per-flow"
    PER_DESTINATION = "per-destination"
    FIFO = "fifo"


WarmUpOption = Annotated[
    float | None,
    typer.Option(
        "--warm-up-us",
        "--warm-up",
        help="Simulated time before counting begins. By default, it begins after three round trips of every "
        "outstanding request, but not before 50 us and not after 100 ms.",
    ),
]
DisciplineOption = Annotated[
    Discipline,
    typer.Option("--discipline", help="Own credits at a port for each flow, destination, or none (fifo)."),
]
MethodOption = Annotated[Method, typer.Option("--method", help="Estimator.")]
_FOUND = (
    "gbytes_per_s",
    "requests",
    "in_flight",
    "average_ns",
    "p50_ns",
    "p90_ns",
    "p99_ns",
    "host_ns",
    "fabric_ns",
    "device_ns",
    "fits",
    "note",
)
"""Columns of simulated flows: bandwidth, latencies, the average of each phase, whether they fit and are steady."""
_OF_SIMULATION = ("discipline", "duration_us", "warm_up_us")
"""Parameters of `estimate` and `run` that describe a simulation."""
_OF_PICTURE = ("theme", "overwrite")
"""Parameters of `explain` that describe the picture."""
_SHOWN_CHANGES = 30
_BLOCK_ROWS = 65_536
"""Rows of effects that are held at once, and those of one change."""
"""Most changes in the table of `explain`."""
_DRAWN_NODES = 1_000
"""Most nodes of a tree on a terminal."""
_NAMED_FLOWS = 5
"""Most flows that a warning names; it counts the rest."""


@app.command("list")
def list_fabrics(output_format: FormatOption = Format.TABLE) -> None:
    """List the shipped fabrics with their sets of flows."""
    from pcielab import fabric

    loaded = [fabric.load(name) for name in fabric.names()]
    rows: list[dict[str, Cell]] = [
        {"name": one.name, "title": one.title, "flows": " ".join([*one.flow_sets, *one.flow_files])}
        for one in loaded
    ]
    print_rows(rows, output_format)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a fabric file, for editors and generators."""
    from pcielab import fabric

    print_data(json.dumps(fabric.json_schema(), indent=1))


@app.command()
def estimate(
    context: typer.Context,
    file: File,
    flows: FlowsOption = None,
    flow: FlowOption = None,
    pattern: PatternOption = None,
    sets: SetsOption = None,
    method: MethodOption = Method.MAX_MIN,
    edges: Annotated[bool, typer.Option("--edges", help="Print edges with their loads instead of flows.")] = False,
    rounds: Annotated[
        bool,
        typer.Option("--rounds", help="With --method ecr: print the tables of every round."),
    ] = False,
    standalone: Annotated[
        Standalone,
        typer.Option("--standalone", help="Bandwidth of each flow alone: declared in the file, or simulated."),
    ] = Standalone.DECLARED,
    discipline: Annotated[
        Discipline,
        typer.Option(
            "--discipline",
            help="With --standalone simulated: own credits at a port for each flow, destination, or none (fifo).",
        ),
    ] = Discipline.PER_DESTINATION,
    duration_us: Annotated[
        float, typer.Option("--duration-us", help="With --standalone simulated: simulated time of each flow.")
    ] = 200.0,
    warm_up_us: WarmUpOption = None,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Estimate each flow's share when all run at once, in GB/s of payload, and the edge that limits it.

    A file needs nodes and flows: `[[node]]` with `name`, `kind` (`host`, `switch`, `gpu`, `nic-100g`,
    `nvme-gen4`...), `upper` (the node above) and `link = "gen4x16"`; `[[flow]]` with `source`, `destination`, and
    `standalone_gbytes_per_s`, the rate that the flow asks for (absent: all that its path carries).

    `max-min` assumes that every flow has its own credits; `ecr` is the estimator of the rPCIeBench paper and never
    estimates a higher share. Both are models, not measurements.

    `--standalone simulated` simulates each flow alone, with its primitive, size and outstanding requests, then all
    together. It prints each estimate beside the simulated share, with its error.

    Examples:
    `pcielab fabric estimate fabrex-u55c`

    `pcielab fabric estimate fabrex-u55c --flows latency --standalone simulated`

    `pcielab fabric estimate fabrex-u55c --method ecr --rounds`

    `pcielab fabric estimate fabrex-u55c --set fabric.link.S.up_gbytes_per_s=6`

    `pcielab fabric estimate mine.toml --flows many.parquet --format csv`
    """
    from pcielab import fabric

    if standalone is not Standalone.SIMULATED:
        refuse_without_effect(
            context, _OF_SIMULATION, "describes a simulation: give --standalone simulated as well"
        )
    if rounds and method is not Method.ECR:
        raise refusal("conflict", f"--rounds: {method.value} has no rounds: give --method ecr")
    if rounds and edges:
        raise refusal("conflict", "--edges: --rounds prints edges of its own: give one of them")
    machine = _machine(file, sets, flows, flow, pattern)
    if machine is None:
        chosen = _loaded(file, sets)
        is_written = bool(flow) or pattern is not None
        needs_frames = rounds or standalone is Standalone.SIMULATED or is_written or chosen.is_machine
        if not needs_frames and isinstance(few := chosen.listed(flows), list):
            _print_listed(chosen, few, method, output_format, edges=edges)
            return
        listed = _listed(chosen, flows, flow, pattern)
    else:
        chosen, listed = machine.fabric, machine.flows
    _say_excessive_rows(chosen, listed)
    asked = listed
    if standalone is Standalone.SIMULATED:
        listed = _simulated_alone(chosen, asked, discipline, duration_us, warm_up_us)
    if rounds:
        print_rows(_round_rows(chosen, listed), output_format, f"{chosen.title} (modelled, ecr by rounds)")
        return
    found = _named_edges(fabric.shares(chosen, listed, method.value), machine)
    _say_of_devices(chosen, found.flows["limit"].dropna().unique(), found.edges.to_dict("records"))
    title = _title(chosen, method)
    if edges:
        print_flows(found.edges, output_format, title)
    elif standalone is Standalone.SIMULATED:
        announce_flows(len(asked))
        together = fabric.simulate(
            chosen, asked, discipline=discipline.value, warm_up_us=warm_up_us, duration_us=duration_us
        )
        compared = fabric.check_by_simulation(found.flows, together.flows)
        print_flows(compared, output_format, f"{title} from simulated standalones, beside simulated together")
    else:
        print_flows(found.flows, output_format, title)


def _loaded(file: str, sets: list[str] | None) -> "Fabric":
    """The fabric of a name or file with the changes of `--set`."""
    from pcielab import fabric
    from pcielab.library.profiles.read import own_sets

    return fabric.load(file, own_sets("fabric", sets or (), "the fabric"))


def _machine(
    file: str, sets: list[str] | None, flows: str | None, flow: list[str] | None, pattern: str | None
) -> "MachineFabric | None":
    """The fabric of a machine for some flows; None if the file is a fabric's."""
    if not _is_machine(file):
        return None
    from pcielab.expectations.as_fabric import fabric_of_machine, machine_named
    from pcielab.library.profiles.read import own_sets

    named_machine = machine_named(file)
    if named_machine is None:
        return None
    machine, path = named_machine
    tree = fabric_of_machine(machine, path)
    listed = _listed(tree.fabric, flows, flow, pattern)
    found = fabric_of_machine(machine, path, listed).with_(own_sets("fabric", sets or (), "the fabric"))
    for note in found.notes:
        say(f"note: {note}")
    return found


def _is_machine(file: str) -> bool:
    """Whether a name or file is a machine's; it loads nothing that fabrics do without."""
    from pcielab.library import shipped
    from pcielab.library.input_files import is_there, read_toml

    path = Path(file)
    if path.suffix != ".toml":
        return "/" not in file and is_there(shipped.directory("profiles") / "published" / "boxes" / f"{file}.toml")
    return is_there(path) and read_toml(path).get("kind") == "machine"


def _named_edges(found: "Estimate", machine: "MachineFabric | None") -> "Estimate":
    """The estimate; that of a machine with bounds, and edges as `pcielab expect` names them."""
    if machine is None:
        return found
    from pcielab.expectations.as_fabric import labelled

    return labelled(found, machine)


def _limited(
    chosen: "Fabric",
    machine: "MachineFabric | None",
    flows: str | None,
    flow: list[str] | None,
    pattern: str | None,
) -> "pd.DataFrame":
    """The flows with what the root complex carries of each, where the file says nothing else of it."""
    from pcielab import fabric

    if machine is not None:
        return machine.flows
    return fabric.with_limits(chosen, _listed(chosen, flows, flow, pattern))


def _title(chosen: "Fabric", method: Method) -> str:
    return f"{chosen.title} (modelled, {method.value})"


def _print_listed(
    chosen: "Fabric", flows: "list[Flow]", method: Method, output_format: Format, *, edges: bool
) -> None:
    """Print the estimate of a set of the fabric's file, without pandas, which would take most of the time."""
    from pcielab.fabric.listed_shares import excessive_shares, shares_of

    excessive = excessive_shares(chosen, flows)
    _say_excessive(excessive[:_NAMED_FLOWS], len(excessive))
    found = shares_of(chosen, flows, method.value)
    _say_of_devices(chosen, (row["limit"] for row in found.flows), found.edges)
    print_listed(found.edges if edges else found.flows, output_format, _title(chosen, method))


def _say_of_devices(chosen: "Fabric", limits: Iterable[str | None], edges: Sequence[Mapping[Any, Any]]) -> None:
    """Say of edges that limit flows at less than their links carry that a device does."""
    from pcielab.fabric.listed_shares import device_limits

    of_devices = device_limits(chosen, edges)
    slow = [limit for limit in dict.fromkeys(limits) if limit in of_devices]
    for edge in slow[:_NAMED_FLOWS]:
        say(f"{named(edge)}: its device moves {of_devices[edge]:g} GB/s, less than the link carries")
    if len(slow) > _NAMED_FLOWS:
        say(f"{len(slow) - _NAMED_FLOWS} more links carry more than their devices move")


def _say_excessive_rows(chosen: "Fabric", flows: "pd.DataFrame") -> None:
    from pcielab import fabric

    found = fabric.excessive(chosen, flows)
    _say_excessive(found.head(_NAMED_FLOWS).to_dict("records"), len(found))


def _say_excessive(first: Sequence[Mapping[Any, Any]], number: int) -> None:
    """Name the first of some flows that declare more than their paths carry, and count the rest."""
    for row in first:
        say(
            f"flow {named(row['flow'])}: standalone_gbytes_per_s is {row['standalone_gbytes_per_s']:g}: its path "
            f"carries at most {row['path_gbytes_per_s']:g}"
        )
    if number > _NAMED_FLOWS:
        say(f"{number - _NAMED_FLOWS} more flows declare more than their paths carry")


def _simulated_alone(
    chosen: "Fabric",
    flows: "pd.DataFrame",
    discipline: Discipline,
    duration_us: float,
    warm_up_us: float | None,
) -> "pd.DataFrame":
    from pcielab import fabric
    from pcielab.cli.progress import Bar

    with Bar() as bar:
        return fabric.simulated_standalones(
            chosen,
            flows,
            discipline=discipline.value,
            warm_up_us=warm_up_us,
            duration_us=duration_us,
            progress=bar.update,
        )


def _round_rows(chosen: "Fabric", flows: "pd.DataFrame") -> list[dict[str, Cell]]:
    """Both tables of figure 16 and the result of each round, as rows with the same keys."""
    from pcielab import fabric

    rows: list[dict[str, Cell]] = []
    for number, tables in enumerate(fabric.rounds(chosen, flows), start=1):
        for entry in tables["edges"]:
            flows_text = ", ".join(entry["flows"])
            rows.append(
                _round_row(number, "oversubscribed", entry["edge"], flows_text, entry["demand_gbytes_per_s"])
            )
        for cut in tables["constraints"]:
            rows.append(_round_row(number, "constraint", cut["edge"], cut["flow"], cut["gbytes_per_s"]))
        for name, share in zip(flows["name"], tables["gbytes_per_s"], strict=True):
            rows.append(_round_row(number, "bandwidth", None, name, share))
    return rows


def _round_row(number: int, table: str, edge: str | None, flows: str, value: float) -> dict[str, Cell]:
    return {"round": number, "table": table, "edge": edge, "flow": flows, "gbytes_per_s": value}


@app.command()
def explain(
    context: typer.Context,
    file: File,
    flows: FlowsOption = None,
    flow: FlowOption = None,
    pattern: PatternOption = None,
    sets: SetsOption = None,
    method: MethodOption = Method.MAX_MIN,
    picture: Annotated[Path | None, picture_option("Draw the tree with the loads on its edges.")] = None,
    theme: ThemeOption = Theme.LIGHT,
    overwrite: OverwriteOption = False,
    limit: Limit = None,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Show who limits whom: the tree with its loads, the bound of each flow, and what changes would give.

    Tables follow: for each flow that does not get all, the best other position for one of its devices, and its
    share if another flow stopped, or a link were doubled. CSV and JSON have that last table. The picture is
    `.svg`, `.png`, `.pdf` or `.html`.

    Examples:
    `pcielab fabric explain fabrex-u55c`

    `pcielab fabric explain server.toml --flow 'gpu0->nic1:20GB/s' --flow 'nvme0->gpu0'`

    `pcielab fabric explain server.toml --pattern all-to-host`

    `pcielab fabric explain fabrex-u55c --set fabric.link.S.up_gbytes_per_s=6`

    `pcielab fabric explain fabrex-u55c -o tree.svg`
    """
    from pcielab import fabric
    from pcielab.outputs import check_file

    if picture is not None:
        check_file(picture, overwrite=overwrite)
    else:
        refuse_without_effect(context, _OF_PICTURE, "describes a picture: give -o FILE as well")
    machine = _machine(file, sets, flows, flow, pattern)
    chosen = machine.fabric if machine is not None else _loaded(file, sets)
    listed = machine.flows if machine is not None else _listed(chosen, flows, flow, pattern)
    found = fabric.shares(chosen, listed, method.value)
    if output_format is Format.TABLE:
        with _errors_name_limit():
            changes, count = _first_changes(_changes(chosen, listed, method, limit), listed)
        _say_of_devices(chosen, found.flows["limit"].dropna().unique(), found.edges.to_dict("records"))
        shown = _named_edges(found, machine)
        print_flows(shown.flows, output_format, f"{chosen.title} (modelled, {method.value})")
        _print_tree(chosen, found)
        _print_placements(chosen, listed, found)
        _say_borrowed(chosen, found)
        if count:
            print_frame(changes, output_format, "Effect of single changes")
        if count > _SHOWN_CHANGES:
            say(f"{count - _SHOWN_CHANGES} more changes: --format csv prints all")
    else:
        with _errors_name_limit():
            print_blocks(_blocks(_changes(chosen, listed, method, limit), listed), output_format)
    if picture is not None:
        _draw(chosen, found, picture, theme=theme, overwrite=overwrite)


def _errors_name_limit() -> AbstractContextManager[None]:
    from pcielab.cli.model_options import errors_name_options

    named: AbstractContextManager[None] = errors_name_options(limit="--limit")
    return named


def _changes(chosen: "Fabric", listed: "pd.DataFrame", method: Method, limit: int | None) -> Iterator["Influence"]:
    """The effects of each change of a fabric, with a bar while they are estimated."""
    from pcielab import fabric
    from pcielab.cli.progress import Bar

    with Bar() as bar:

        def show(done: int, total: int) -> None:
            announce_many(done, total)
            bar.update(done, total, "estimating one change at a time")

        yield from fabric.influence_of_each(chosen, fabric.with_limits(chosen, listed), method.value, show, limit)


def _first_changes(changes: Iterator["Influence"], listed: "pd.DataFrame") -> tuple["pd.DataFrame", int]:
    """The rows of the first effects, and the number of all."""
    from pcielab import fabric

    first: list[Influence] = []
    count = 0
    for one in changes:
        if count < _SHOWN_CHANGES and len(one.flows):
            first.append(one)
        count += len(one.flows)
    return fabric.influence_table(first, listed).head(_SHOWN_CHANGES), count


def _blocks(changes: Iterator["Influence"], listed: "pd.DataFrame") -> Iterator["pd.DataFrame"]:
    """The rows of all effects in blocks of whole changes, at least one block."""
    from pcielab import fabric

    waiting: list[Influence] = []
    rows, is_first = 0, True
    for one in filter(lambda one: len(one.flows), changes):
        waiting.append(one)
        rows += len(one.flows)
        if rows >= _BLOCK_ROWS:
            yield fabric.influence_table(waiting, listed)
            waiting, rows, is_first = [], 0, False
    if waiting or is_first:
        yield fabric.influence_table(waiting, listed)


def _print_tree(chosen: "Fabric", found: "Estimate") -> None:
    from pcielab import fabric

    if len(chosen.nodes) > _DRAWN_NODES:
        say(f"{len(chosen.nodes)} nodes: the tree is drawn for {_DRAWN_NODES} at most")
        return
    print_text("Load of each link, GB/s: downwards ↓ and upwards ↑, of what it carries")
    print_text(fabric.drawn(chosen, found) + "\n")


def _say_borrowed(chosen: "Fabric", found: "Estimate") -> None:
    """Say of limits at the memory of a machine that they are no reading of it."""
    memories = {one.name for one in chosen.nodes if one.machine is not None and one.machine.part == "memory"}
    limits = [limit for limit in found.flows["limit"].dropna().unique() if memories & set(str(limit).split("->"))]
    if limits:
        say(f"{', '.join(map(named, limits))}: borrowed from published figures (the file names them), not read")


def _print_placements(chosen: "Fabric", flows: "pd.DataFrame", found: "Estimate") -> None:
    """Print the best other position for a device of each flow that gets less than it might."""
    from pcielab import fabric

    if len(chosen.nodes) > _DRAWN_NODES or len(flows) > _DRAWN_NODES:
        return
    best = fabric.placements(chosen, flows, found)
    helped = best.flows[best.flows["device"].notna()]
    if len(helped):
        shown = helped.drop(columns=["limit"]).sort_values("gain_gbytes_per_s", ascending=False, kind="stable")
        print_flows(shown, Format.TABLE, "Best other position for one device of a flow, if it has a free slot")
    elif len(best.flows):
        say(
            f"no other position of a device helps the {len(best.flows)} flows that get less than their links carry"
        )
    if best.tried < best.possible:
        say(f"tried {best.tried} of {best.possible} positions")


def _listed(chosen: "Fabric", flows: str | None, flow: list[str] | None, pattern: str | None) -> "pd.DataFrame":
    """The flows of a set or file, or those written on the command line."""
    from pcielab import fabric

    if not flow and pattern is None:
        return chosen.flows(flows)
    if flows is not None:
        raise refusal(
            "conflict", "--flows and --flow or --pattern exclude each other: give a set of flows, or write them"
        )
    return fabric.written_flows(chosen, flow or (), pattern)


def _draw(chosen: "Fabric", found: "Estimate", path: Path, *, theme: Theme, overwrite: bool) -> None:
    from pcielab.kinds.flows.tree import tree
    from pcielab.report import save_figure

    save_figure(tree(chosen, found), path, theme=theme.value, overwrite=overwrite)
    say(f"wrote {path}")


app.command("from")(from_machine)
app.command()(paths)
app.command(hidden=True)(validate)


@app.command("run")
@takes_run_options("resume", "repeat_damaged", "overwrite")
def run_fabric(
    context: typer.Context,
    file: File,
    output: Annotated[Path, typer.Option("-o", "--output", help="Store to write (RUN.db).")],
    suite: SuiteOption = None,
    flows: FlowsOption = None,
    flow: FlowOption = None,
    pattern: PatternOption = None,
    sets: SetsOption = None,
    discipline: Annotated[
        Discipline,
        typer.Option(
            "--discipline",
            help="Without --suite: own credits at a port for each flow, destination, or none (fifo).",
        ),
    ] = Discipline.PER_DESTINATION,
    duration_us: Annotated[
        float, typer.Option("--duration-us", help="Without --suite: simulated time after the warm-up.")
    ] = 200.0,
    warm_up_us: WarmUpOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of random arrivals.")] = 1,
    trace: Annotated[
        bool, typer.Option("--trace", help="Keep every request, for `export requests` and `export perfetto`.")
    ] = False,
    options: "RunOptions" = GROUP,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Simulate a set of flows or a suite of experiments and keep the results in a store.

    The store holds bandwidths, loads of edges, and latencies by phase: queued at the host, in the fabric, executed
    at the device. A note marks a flow that has not reached its steady state (requests in flight differ from rate
    times latency).

    Examples:
    `pcielab fabric run fabrex-u55c --flows latency -o latency.db`

    `pcielab fabric run fabrex-u55c --flows latency --warm-up-us 500 -o latency.db`

    `pcielab fabric run fabrex-u55c --flows latency --trace -o latency.db`

    `pcielab fabric run fabrex-u55c --flows latency --set fabric.node.S.delay_ns=90 -o latency.db`

    `pcielab fabric run fabrex-u55c --suite rpciebench -o experiments.db`
    """
    from pcielab import fabric

    machine = None if suite is not None else _machine(file, sets, flows, flow, pattern)
    chosen = machine.fabric if machine is not None else _loaded(file, sets)
    if suite is not None:
        if flow or pattern is not None:
            raise refusal(
                "conflict", "--suite and --flow or --pattern exclude each other: a suite has its own flows"
            )
        for name in _OF_SIMULATION:
            refuse_without_effect(context, [name], f"set {name} of the suite's experiments instead")
        points, name = _points_of_suite(chosen, suite, flows)
    else:
        name = pattern or flows or ("flows" if flow else chosen.handle.default_set()) or "flows"
        listed = _limited(chosen, machine, flows, flow, pattern)
        announce_flows(len(listed))
        points = fabric.flow_set(listed, name, discipline.value, duration_us, warm_up_us)
        # The table of many flows takes the memory of their objects.
        del listed
    count = len(points)
    store = carry_out(fabric.Flows(chosen, points, name, trace), "sim", output, replace(options, seed=seed))[1]
    del points
    table = fabric.flow_table(store)
    if suite is not None:
        say(f"{count} simulations of {chosen.name}: {output}")
        _say_unsteady(table)
        if output_format is not Format.TABLE:
            print_frame(table, output_format)
        return
    shown = [column for column in table.columns if column == "flow" or column in _FOUND]
    print_flows(table[shown], output_format, f"{chosen.title} (simulated)")


@app.command()
def simulate(
    file: File,
    flows: FlowsOption = None,
    flow: FlowOption = None,
    pattern: PatternOption = None,
    sets: SetsOption = None,
    discipline: DisciplineOption = Discipline.PER_DESTINATION,
    duration_us: Annotated[float, typer.Option("--duration-us", help="Simulated time after the warm-up.")] = 200.0,
    warm_up_us: WarmUpOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of random arrivals.")] = 1,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Simulate a set of flows and print the results; `run` keeps them in a store.

    A flow fits if it gets the bandwidth that it declares. Hosts and devices take their times from presets or from
    tables of the file.

    Examples:
    `pcielab fabric simulate fabrex-u55c --flows latency`

    `pcielab fabric simulate fabrex-u55c --flows latency --set fabric.devices.u55c.engine.tags=64`

    `pcielab fabric simulate mine.toml --format json`
    """
    from pcielab import fabric

    machine = _machine(file, sets, flows, flow, pattern)
    chosen = machine.fabric if machine is not None else _loaded(file, sets)
    listed = _limited(chosen, machine, flows, flow, pattern)
    announce_flows(len(listed))
    found = fabric.simulate(
        chosen,
        listed,
        discipline=discipline.value,
        warm_up_us=warm_up_us,
        duration_us=duration_us,
        seed=seed,
    ).flows
    shown = ["flow", *(column for column in _FOUND if column in found and found[column].notna().any())]
    print_flows(found[shown], output_format, f"{chosen.title} (simulated)")


def _points_of_suite(chosen: "Fabric", suite: str, flows: str | None) -> "tuple[list[Point], str]":
    """The simulations of a fabric suite, and its name."""
    from pcielab import fabric

    if flows is not None:
        raise refusal("conflict", "--suite and --flows exclude each other: a suite has its own flows")
    experiments = fabric.load_fabric_suite(suite)
    foreign = sorted(experiments.nodes - {*chosen.node_names})
    if foreign:
        raise refusal(
            "conflict",
            f"--suite {suite}: needs the fabric {experiments.fabric}: {chosen.name} has no node "
            f"{', '.join(map(named, foreign[:3]))}",
        )
    return experiments.points(), experiments.name


def _say_unsteady(table: "pd.DataFrame") -> None:
    """Name the first flows that are not steady and count the rest."""
    found = table[table["note"].notna()] if "note" in table else table.head(0)
    for row in found.head(_NAMED_FLOWS).to_dict("records"):
        swept = "" if not isinstance(row.get("sweep"), str) else f", {row['sweep']} = {row['value']:g}"
        say(f"{row['family']}, {row['experiment']}{swept}: flow {named(row['flow'])}: {row['note']}")
    if len(found) > _NAMED_FLOWS:
        say(f"{len(found) - _NAMED_FLOWS} more flows are not steady: see the column note of pcielab export csv")
