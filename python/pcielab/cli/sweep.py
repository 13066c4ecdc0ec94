"""`pcielab sweep`: one test over many parameter values, into a folder."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcielab.cli.output import Format, FormatOption, records, say
from pcielab.errors import refusal
from pcielab.work.options import Samples

if TYPE_CHECKING:
    from collections.abc import Callable

    from pcielab.charts.frame import Figure
    from pcielab.sweeps import Results


class Picture(StrEnum):
    """What `points.svg` shows of a sweep of lists."""

    LINES = "lines"
    HEAT_MAP = "heat-map"
    NONE = "none"


# Lines: one across, one by colour, one by panel. Heat maps: one across, one upwards, one by panel.
_DRAWN_AXES = {Picture.LINES: (1, 2, 3), Picture.HEAT_MAP: (2, 3), Picture.NONE: ()}
_MOST_ROWS = 40


def sweep(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The sweep: a TOML file.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder to write.")],
    jobs: Annotated[
        int, typer.Option("--jobs", min=0, max=1024, help="Local processes; 0 means one per core.")
    ] = 0,
    dask: Annotated[
        str | None,
        typer.Option("--dask", metavar="ADDRESS", help="Use the workers of this Dask scheduler: tcp://HOST:PORT."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the addresses that tests visit.")] = 1,
    samples: Annotated[
        Samples,
        typer.Option(
            "--samples", help="Run all transactions of each test, or as many as the confidence interval needs."
        ),
    ] = "adaptive",
    picture: Annotated[
        Picture,
        typer.Option("--picture", help="What points.svg shows of lists: lines, a heat-map of two axes, or none."),
    ] = Picture.LINES,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an existing folder.")] = False,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Simulate one test on a system over many parameter values.

    SPEC has lists of values (`[grid]`) or ranges to sample (`[draw]`), by a Latin hypercube or a design for Sobol
    indices. Sobol indices show the parameters that matter. Each point equals one `pcielab run --test`.

    The folder holds `points.jsonl` with every finished point and, at the end, `results.parquet` with one row per
    point. `--resume` keeps finished points even if SPEC changed. The points are printed; a sweep of lists draws
    them into `points.svg`; a `sobol` sweep prints and draws the indices instead, into `sensitivity.svg`. Without
    the packages for pictures, it says that it draws none.

    For example:

        pcielab sweep ddio.toml -o ddio

        pcielab sweep ddio.toml -o ddio --resume --picture heat-map

        pcielab sweep ddio.toml -o ddio --resume --dask tcp://10.0.0.1:8786
    """
    from pcielab.cli.outcome import say_without_result
    from pcielab.cli.progress import Bar
    from pcielab.errors import RunError
    from pcielab.sweeps import TABLE, Work, carry_out, load_sweep
    from pcielab.sweeps.journal import NAME

    plan = load_sweep(spec)
    is_sobol = bool(plan.ranges) and plan.draws.method == "sobol"
    if picture is Picture.HEAT_MAP and (plan.ranges or len(plan.varying) not in _DRAWN_AXES[picture]):
        raise refusal(
            "conflict",
            f"--picture heat-map: draws lists of two axes or three: {spec} has other axes: leave it out",
        )
    work = Work(jobs=jobs, dask=dask, samples=samples, seed=seed)
    with Bar() as bar:
        results = carry_out(plan, output, work=work, resume=resume, progress=bar.update)
    if is_sobol:
        _sensitivity(results, output, picture, output_format)
    else:
        _points(results, output, picture, output_format)
    say(f"{_counts(results)}: {output / TABLE}")
    if results.damaged:
        say(f"warning: {output / NAME}: skipped damaged lines: {results.damaged}")
    say_without_result(records(results.frame[["status", "message"]]))
    if (results.frame["status"] != "ok").all():
        raise RunError("no point has a result")


def _draw(figure: "Callable[[], Figure]", path: Path) -> None:
    """Draw a picture; say so where the packages for it are not installed."""
    from pcielab.extras import ExtraMissingError

    try:
        from pcielab.report import save_figure

        save_figure(figure(), path)
    except ExtraMissingError as missing:
        say(f"note: {path.name} is not drawn: {missing}")


def _points(results: "Results", output: Path, picture: Picture, output_format: Format) -> None:
    from pcielab.cli.output import print_frame

    # Random draws are no axes of a picture.
    is_drawn = not results.plan.ranges and len(results.axes) in _DRAWN_AXES[picture]
    if is_drawn and results.frame["status"].eq("ok").any():
        _draw(results.plot_heat_map if picture is Picture.HEAT_MAP else results.plot, output / "points.svg")
    if output_format is not Format.TABLE:
        print_frame(results.frame, output_format)
        return
    shown = results.frame[results.shown]
    if len(shown) > _MOST_ROWS:
        say(f"the first {_MOST_ROWS} of {len(shown)} points; --format csv prints all")
    print_frame(shown.head(_MOST_ROWS), output_format, title=results.title)


def _counts(results: "Results") -> str:
    same = len(results) - results.computed - results.known
    counts = {"known": results.known, "the same as another": same}
    shown = [f"{results.computed} point{'' if results.computed == 1 else 's'} simulated"]
    return ", ".join([*shown, *(f"{count} {label}" for label, count in counts.items() if count)])


def _sensitivity(results: "Results", output: Path, picture: Picture, output_format: Format) -> None:
    from pcielab.cli.output import print_frame
    from pcielab.outputs import write_file

    metric = results.value
    indices = results.sensitivity(metric)
    write_file(output / "sensitivity.csv", indices.to_csv(index=False).encode(), overwrite=True)
    if picture is not Picture.NONE:
        _draw(lambda: results.plot_sensitivity(metric), output / "sensitivity.svg")
    print_frame(indices, output_format, title=f"Sobol indices of {metric}: {results.title}")
