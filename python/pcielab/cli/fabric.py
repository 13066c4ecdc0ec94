"""`pcielab fabric`: what each flow through a tree of switches gets, and who limits whom."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcielab.cli.completion import profile_names, suite_names
from pcielab.cli.output import Cell, Format, Theme, ThemeOption, print_frame, print_rows
from pcielab.errors import InputError
from pcielab.wording import named

if TYPE_CHECKING:
    import pandas as pd

    from pcielab.fabric import Estimate, Fabric

app = typer.Typer()

File = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE", help="A shipped fabric, or a file (*.toml).", autocompletion=profile_names("fabric")
    ),
]
FlowsOption = Annotated[
    str | None,
    typer.Option("--flows", metavar="SET|FILE", help="A set of the fabric's file, or a CSV or Parquet file."),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How rows are printed.")]


class Method(StrEnum):
    """The estimators."""

    ECR = "ecr"
    MAX_MIN = "max-min"


MethodOption = Annotated[Method, typer.Option("--method", help="Estimator.")]


@app.command("list")
def list_fabrics(output_format: FormatOption = Format.TABLE) -> None:
    """List the shipped fabrics with their sets of flows."""
    from pcielab import fabric

    loaded = [fabric.load(name) for name in fabric.names()]
    rows: list[dict[str, Cell]] = [
        {"name": one.name, "title": one.title, "flows": " ".join([*one.file.flows.sets, *one.file.flows.files])}
        for one in loaded
    ]
    print_rows(rows, output_format)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a fabric file, for editors and generators."""
    from pcielab import fabric

    typer.echo(json.dumps(fabric.json_schema(), indent=1))


@app.command()
def estimate(
    file: File,
    flows: FlowsOption = None,
    method: MethodOption = Method.MAX_MIN,
    edges: Annotated[
        bool, typer.Option("--edges", help="Rows of edges with their loads instead of flows.")
    ] = False,
    rounds: Annotated[
        bool,
        typer.Option("--rounds", help="With --method ecr: the tables of every round, as JSON or CSV rows too."),
    ] = False,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """What each flow gets when all run at once, in GB/s of payload, and the edge that limits it.

    `max-min` holds where every flow has credits of its own; `ecr` is the estimator of the rPCIeBench paper, which
    never gives more. Both are modelled, not measured.

    Examples:
    `pcielab fabric estimate fabrex-u55c`

    `pcielab fabric estimate fabrex-u55c --method ecr --rounds`

    `pcielab fabric estimate mine.toml --flows many.parquet --format csv`
    """
    from pcielab import fabric

    chosen = fabric.load(file)
    listed = chosen.flows(flows)
    if rounds:
        if method is not Method.ECR:
            raise InputError(f"--rounds: {method.value} has no rounds: give --method ecr")
        print_rows(_round_rows(chosen, listed), output_format, f"{chosen.title} (modelled, ecr by rounds)")
        return
    found = fabric.estimate(chosen, listed, method.value)
    shown = found.edges if edges else found.flows
    print_frame(shown, output_format, f"{chosen.title} (modelled, {method.value})")


def _round_rows(chosen: "Fabric", flows: "pd.DataFrame") -> list[dict[str, Cell]]:
    """Both tables of figure 16 and the result of each round, as rows of one shape."""
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
    file: File,
    flows: FlowsOption = None,
    method: MethodOption = Method.MAX_MIN,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Draw the tree with the loads on its edges.")
    ] = None,
    theme: ThemeOption = Theme.LIGHT,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the picture if it exists.")] = False,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Who limits whom: what each flow would get if another stopped, or if a link were doubled.

    Each row is a change and a flow that it affects; changes that affect nobody have none, and links that limit
    nobody are not doubled. The picture is `.svg`, `.png`, `.pdf` or `.html`.

    Examples:
    `pcielab fabric explain fabrex-u55c`

    `pcielab fabric explain fabrex-u55c --picture tree.svg`
    """
    from pcielab import fabric
    from pcielab.outputs import check_file

    if picture is not None:
        check_file(picture, overwrite=overwrite)
    chosen = fabric.load(file)
    listed = chosen.flows(flows)
    found = fabric.estimate(chosen, listed, method.value)
    changes = fabric.influences(chosen, listed, method.value)
    if output_format is Format.TABLE:
        print_frame(found.flows, output_format, f"{chosen.title} (modelled, {method.value})")
        print_frame(changes, output_format, "What would change")
    else:
        print_frame(changes, output_format)
    if picture is not None:
        _draw(chosen, found, picture, theme=theme, overwrite=overwrite)


def _draw(chosen: "Fabric", found: "Estimate", path: Path, *, theme: Theme, overwrite: bool) -> None:
    from pcielab.fabric.picture import tree
    from pcielab.report import save_figure

    save_figure(tree(chosen, found), path, theme=theme.value, overwrite=overwrite)
    typer.echo(f"wrote {path}", err=True)


@app.command()
def validate(
    run_path: Annotated[Path, typer.Argument(metavar="RUN.db", help="A run of a suite of published experiments.")],
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Every number that a paper gives, beside the same of a run: simulated, estimated, error, and why.

    A latency or bandwidth is `within` if it is at most 5 % off, a share if it is at most 3 points off, rounding of
    the published number allowed for. What is further off has its reason, or is `off`.

    For example:

        pcielab fabric run fabrex-u55c --suite rpciebench -o experiments.db

        pcielab fabric validate experiments.db --format csv
    """
    from pcielab import fabric
    from pcielab.store import open_store

    store = open_store(run_path)
    compared = fabric.compare_with_published(store)
    if compared is None:
        raise InputError(
            f"{run_path}: of suite {store.manifest.get('suite')} no numbers are published: give a run of "
            "`pcielab fabric run fabrex-u55c --suite rpciebench`"
        )
    if output_format is not Format.TABLE:
        print_frame(compared, output_format)
        return
    print_frame(compared.drop(columns=["reason"]), output_format, "Published and simulated")
    for (verdict, reason), rows in compared.groupby(["verdict", "reason"], sort=False):
        typer.echo(f"{len(rows)} {verdict}: {reason}")


class Discipline(StrEnum):
    """What has credits of its own at every port."""

    PER_FLOW = "per-flow"
    PER_DESTINATION = "per-destination"
    FIFO = "fifo"


@app.command("run")
def run_fabric(
    file: File,
    output: Annotated[Path, typer.Option("-o", "--output", help="Store to write (RUN.db).")],
    suite: Annotated[
        str | None,
        typer.Option(
            "--suite",
            metavar="NAME|FILE",
            help="Experiments: rpciebench, or a file.",
            autocompletion=suite_names("fabric"),
        ),
    ] = None,
    flows: FlowsOption = None,
    discipline: Annotated[
        Discipline, typer.Option("--discipline", help="Without --suite: what has credits of its own at a port.")
    ] = Discipline.PER_DESTINATION,
    duration_us: Annotated[
        float, typer.Option("--duration-us", help="Without --suite: what is simulated after warming up.")
    ] = 200.0,
    seed: Annotated[int, typer.Option("--seed", help="Names the draws of random arrivals.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a store that is there.")] = False,
    repeat_damaged: Annotated[
        bool, typer.Option("--repeat-damaged", help="With --resume: do tests again whose numbers are damaged.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a store that is there.")] = False,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Simulate a set of flows, or a suite of experiments, and keep the results in a store.

    Bandwidths, loads of edges, and latencies by phase: queued at the host, in the fabric, executed at the device.

    Examples:
    `pcielab fabric run fabrex-u55c --flows latency -o latency.db`

    `pcielab fabric run fabrex-u55c --suite rpciebench -o experiments.db`
    """
    from pcielab import fabric
    from pcielab.cli.progress import Bar
    from pcielab.cli.stores import tell_damaged
    from pcielab.store import open_store

    chosen = fabric.load(file)
    if suite is not None:
        if flows is not None:
            raise InputError("--suite and --flows: give one of them: a suite has its own flows")
        experiments = fabric.load_fabric_suite(suite)
        foreign = sorted(experiments.nodes - {node.name for node in chosen.file.node})
        if foreign:
            raise InputError(
                f"--suite {suite}: is made for the fabric {experiments.fabric}: {chosen.name} has no node "
                f"{', '.join(map(named, foreign[:3]))}"
            )
        points, name = experiments.points(), experiments.name
    else:
        name = flows or chosen.file.flows.default or "flows"
        points = fabric.flow_set(chosen.flows(flows), name, discipline.value, duration_us)
    if repeat_damaged:
        tell_damaged(output)
    with Bar() as bar:
        fabric.run(
            chosen,
            points,
            output,
            suite=name,
            seed=seed,
            resume=resume,
            repeat_damaged=repeat_damaged,
            overwrite=overwrite,
            progress=bar.update,
        )
    if suite is not None:
        typer.echo(f"{len(points)} simulations of {chosen.name}: {output}", err=True)
        return
    scalars = open_store(output).scalar_rows
    of_flows = scalars[scalars["subject"].str.startswith("flow ")]
    columns = of_flows["metric"] + "_" + of_flows["unit"].map({"GB/s": "gbytes_per_s", "ns": "ns", "1": "count"})
    wide = of_flows.assign(column=columns, flow=of_flows["subject"].str.removeprefix("flow "))
    print_frame(
        wide.pivot(index="flow", columns="column", values="value").reset_index(),
        output_format,
        f"{chosen.title} (simulated)",
    )
