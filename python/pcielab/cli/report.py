"""`pcielab report`: one self-contained HTML file from one run or several."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pcielab.cli.option_groups import refuse_without_effect
from pcielab.cli.output import OverwriteOption, Theme, ThemeOption, say
from pcielab.cli.stores import opened


class FigureFormat(StrEnum):
    """Format of the files of `--figures`."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


def report(
    context: typer.Context,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Stores to report on, side by side.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="HTML",
            help="The HTML file to write [default: beside the first RUN.db, RUN.html].",
            show_default=False,
        ),
    ] = None,
    measured: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Draw this store as points over the others.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Also write every figure as a file into this folder.")
    ] = None,
    figure_format: Annotated[FigureFormat, typer.Option(help="Format of those files.")] = FigureFormat.SVG,
    theme: ThemeOption = Theme.LIGHT,
    overwrite: OverwriteOption = False,
) -> None:
    """Write a self-contained HTML report: the machine, the paper's figures and every row.

    The report of a run of the suite paper takes ten seconds.

    Examples:
    `pcielab report snb.db`

    `pcielab report snb.db -o report.html`

    `pcielab report snb.db --measured measured.db -o both.html`
    """
    from pcielab.report import write_report

    if figures is None:
        refuse_without_effect(
            context, ("figure_format",), "describes files of figures: give --figures FOLDER as well"
        )
    written = write_report(
        [opened(path) for path in runs],
        output or runs[0].with_suffix(".html"),
        measured=opened(measured) if measured is not None else None,
        figures=figures,
        figure_format=figure_format.value,
        theme=theme.value,
        overwrite=overwrite,
    )
    for path in written:
        if path.is_file():
            say(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)")
