"""`pcielab paper`: the pcie-bench paper beside the simulator."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcielab.cli.output import Cell, Format, print_rows, print_text
from pcielab.errors import InputError

if TYPE_CHECKING:
    from pcielab.paper import Compared

app = typer.Typer()


@app.callback()
def paper() -> None:
    """The pcie-bench paper (SIGCOMM 2018) beside the simulator."""


@app.command()
def numbers(
    section: Annotated[
        str | None, typer.Option("--section", metavar="N", help="Only numbers of this section, such as 6.2.")
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(
            "--runs", metavar="FOLDER", help="Use the stores in this folder, and add those that are missing."
        ),
    ] = None,
    output_format: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TABLE,
) -> None:
    """Compare every number in the paper's text with ours: error, allowance, and the reason if it is exceeded.

    Numbers about links and NICs are modelled; those about machines are simulated on the machines of the paper's
    table 1, which takes about a minute. The verdict is `within` what the row allows, `explained`, `off`, or
    `input`: a profile was given the number, so that it is no prediction.

    Examples:
    `pcielab paper numbers --section 6.1`

    `pcielab paper numbers --runs runs --format csv`
    """
    from pcielab import paper as of_paper
    from pcielab.cli.progress import Bar

    listed = of_paper.numbers(section)
    if not listed:
        known = dict.fromkeys(one for number in of_paper.numbers() for one in number.section.split(", "))
        raise InputError(f"--section {section}: the paper has no numbers there: give one of {', '.join(known)}")
    with Bar() as bar:
        found = of_paper.compare(listed, runs=runs, progress=bar.update)
    narrow = output_format is Format.TABLE
    print_rows([_narrow(one) if narrow else _row(one) for one in found], output_format, title=_TITLE)
    if narrow:
        for one in found:
            if one.why:
                print_text(f"{one.number.section}, {one.number.says}: {one.verdict}: {one.why}")
        print_text(of_paper.score(found))


_TITLE = "The numbers of the pcie-bench paper, and ours (modelled and simulated)"


def _row(one: "Compared") -> dict[str, Cell]:
    return {
        "section": one.number.section,
        "says": one.number.says,
        "published_low": min(one.number.published),
        "published_high": max(one.number.published),
        "ours": one.ours,
        "unit": one.number.unit,
        "off_by": one.off_by,
        "allowed": one.number.off,
        "verdict": one.verdict,
        "why": one.why,
    }


def _narrow(one: "Compared") -> dict[str, Cell]:
    return {
        "section": one.number.section,
        "the paper says": one.number.says,
        "published": " to ".join(f"{value:,g}" for value in one.number.published),
        "ours": f"{one.ours:,.4g}",
        "unit": one.number.unit,
        "off by": f"{one.off_by:+,.3g}",
        "allowed": f"{one.number.off:,g}",
        "verdict": one.verdict,
    }
