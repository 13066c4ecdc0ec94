"""`pcielab paper figure`: a figure of the pcie-bench paper."""

import time
from pathlib import Path
from typing import Annotated

import typer

from pcielab.cli.output import say
from pcielab.model.link import Accounting


def figure(
    number: Annotated[int, typer.Argument(metavar="1..9", help="Which figure of the paper.", min=1, max=9)],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Ends in .png, .svg, .pdf or .html [default: figN.svg]."
        ),
    ] = None,
    accounting: Annotated[
        Accounting,
        typer.Option(
            "--accounting",
            help="Overhead of modelled curves: `spec` is a true upper bound; `sigcomm18` is the paper's.",
        ),
    ] = Accounting.SPEC,
    runs: Annotated[
        Path | None,
        typer.Option(
            "--runs", metavar="FOLDER", help="Use the stores in this folder, and add those that are missing."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
) -> None:
    """Draw a figure of the pcie-bench paper (SIGCOMM 2018) on the machines that the paper used.

    Figures 1 and 2 are modelled, 3 is a drawing, the others are simulated: 4 to 7 take a few seconds each on two
    cores, 8 and 9 half a minute. Figure 7 has two parts, in two files: a and b are added to the name.

    Examples:
    `pcielab paper figure 1 --accounting sigcomm18 -o fig1.svg`

    `pcielab paper figure 9 --runs runs -o fig9.png`
    """
    from pcielab.cli.progress import Bar
    from pcielab.outputs import check_file
    from pcielab.paper import FIGURES, make_figure
    from pcielab.report.save import save_figure

    paths = _paths(output or Path(f"fig{number}.svg"), len(FIGURES[number].parts))
    for path in paths:
        check_file(path, overwrite=overwrite)
    start = time.monotonic()
    with Bar() as bar:
        made = make_figure(number, accounting=accounting, runs=runs, progress=bar.update)
    for path, part in zip(paths, made, strict=True):
        save_figure(part, path, overwrite=overwrite)
    written, machines = ", ".join(str(path) for path in paths), ", ".join(FIGURES[number].systems)
    on = f", simulated on {machines} in {time.monotonic() - start:.0f} s" if machines else ""
    say(f"wrote {written}: {FIGURES[number].shows}{on}")
    if FIGURES[number].caution:
        say(f"note: {FIGURES[number].caution}")


def _paths(path: Path, parts: int) -> list[Path]:
    """A file for each part: `path` itself, or with a letter appended to its stem."""
    if parts == 1:
        return [path]
    return [path.with_name(f"{path.stem}{letter}{path.suffix}") for letter in "abcdefgh"[:parts]]
