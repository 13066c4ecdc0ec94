"""`pcielab sweep`: one test with many values, into a folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcielab.cli.output import Format, say
from pcielab.work.options import Samples

if TYPE_CHECKING:
    from pcielab.sweeps import Results


def sweep(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The sweep: a TOML file.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder to write.")],
    jobs: Annotated[int, typer.Option("--jobs", help="Processes of this machine; 0: one per core.")] = 0,
    dask: Annotated[
        str | None,
        typer.Option("--dask", metavar="ADDRESS", help="Ask the workers of this Dask scheduler: tcp://HOST:PORT."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Decides the addresses that tests visit.")] = 1,
    samples: Annotated[
        Samples, typer.Option("--samples", help="All transactions of each test, or enough of them.")
    ] = "adaptive",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a folder that is there.")] = False,
    output_format: Annotated[Format, typer.Option("--format", help="How rows are printed.")] = Format.TABLE,
) -> None:
    """Simulate one test on a system, again and again, with different values.

    The file has lists of values (`[grid]`), which are combined, and ranges to draw from (`[draw]`): a Latin
    hypercube, or the design for Sobol indices, which say which knob matters. Each point is a test by itself, with
    the numbers of `pcielab run --test`.

    The folder holds `points.jsonl`, every point that is done, and in the end `results.parquet`, one row per point.
    With `--resume`, what is done is not computed again, also where the file has changed. Of a sweep drawn by
    `sobol`, the indices are printed, and kept with a picture.

    For example:

        pcielab sweep ddio.toml -o ddio

        pcielab sweep ddio.toml -o ddio --resume --dask tcp://10.0.0.1:8786
    """
    from pcielab.cli.progress import Bar
    from pcielab.sweeps import TABLE, Work, carry_out, load_sweep
    from pcielab.sweeps.journal import NAME

    plan = load_sweep(spec)
    work = Work(jobs=jobs, dask=dask, samples=samples, seed=seed)
    with Bar() as bar:
        results = carry_out(plan, output, work=work, resume=resume, progress=bar.update)
    if plan.ranges and plan.draws.method == "sobol":
        _sensitivity(results, output, output_format)
    say(f"{_counts(results)}: {output / TABLE}")
    if results.damaged:
        say(f"warning: {output / NAME}: damaged lines that were skipped: {results.damaged}")
    _tell_failures(results)


def _counts(results: "Results") -> str:
    same = len(results) - results.computed - results.known
    counts = {"known": results.known, "the same as another": same}
    return ", ".join(
        [
            f"{results.computed} point{'' if results.computed == 1 else 's'} simulated",
            *(f"{count} {what}" for what, count in counts.items() if count),
        ]
    )


def _sensitivity(results: "Results", output: Path, output_format: Format) -> None:
    from pcielab.cli.output import print_frame
    from pcielab.outputs import write_file
    from pcielab.report import save_figure

    metric = results.value
    indices = results.sensitivity(metric)
    write_file(output / "sensitivity.csv", indices.to_csv(index=False).encode(), overwrite=True)
    save_figure(results.plot_sensitivity(metric), output / "sensitivity.svg")
    print_frame(indices, output_format, title=f"Sobol indices of {metric}: {results.title}")


def _tell_failures(results: "Results") -> None:
    """Say which points gave no number, and why.

    Raises:
        RunError: None gave one.
    """
    from pcielab.errors import RunError

    without = results.frame[results.frame["status"] != "ok"]
    for (status, message), rows in without.groupby(["status", "message"], dropna=False, sort=False):
        say(f"{len(rows)} {status}: {message}")
    if len(without) == len(results):
        raise RunError("no point gave a number")
