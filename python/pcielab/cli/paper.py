"""`pcielab paper`: figures, findings and numbers of papers beside ours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcielab.cli.figure import figure
from pcielab.cli.findings import findings
from pcielab.cli.output import Format, print_frame, print_text, say
from pcielab.cli.stores import opened
from pcielab.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from pcielab.store import Store

app = typer.Typer()


@app.callback()
def paper() -> None:
    """Compare the figures, findings and numbers of papers with ours."""


app.command()(figure)
app.command()(findings)


@app.command()
def numbers(
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN.db]", help="A run of the suite kpio or rpciebench [default: the pcie-bench paper]."
        ),
    ] = None,
    section: Annotated[
        str | None,
        typer.Option(
            "--section", metavar="N", help="Only numbers of this section of the pcie-bench paper, like 6.2."
        ),
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(
            "--runs",
            metavar="FOLDER",
            help="Only without RUN.db: use the stores in this folder, and add missing tests.",
        ),
    ] = None,
    output_format: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TABLE,
) -> None:
    """Compare every number of a paper with ours: error, allowed error, and the reason if the error is larger.

    Without a run, these are the numbers in the pcie-bench paper's text. Those of links and NICs are modelled; the
    others are simulated on the machines of its table 1, in seconds. With a run of the suite `kpio` or
    `rpciebench`, they are the numbers of that paper.

    The verdicts are: `within` (the allowed error), `explained`, `off`, and `input`. `input` means that a profile
    contains the number, so it is no prediction and does not count. The allowed error is 5 % by default, and 3
    percentage points for shares.

    Examples:
    `pcielab paper numbers --section 6.1`

    `pcielab fabric run fabrex-u55c --suite rpciebench -o experiments.db && pcielab paper numbers experiments.db`
    """
    if run is None:
        compared = _pcie_bench(section, runs)
    elif section is not None or runs is not None:
        raise InputError("--section and --runs: only without RUN.db: leave one of them out")
    else:
        compared = _of_run(opened(run))
    if output_format is not Format.TABLE:
        print_frame(compared, output_format)
        return
    from pcielab.analysis.published import score

    shown = compared.drop(columns=["reason"]).dropna(axis="columns", how="all")
    print_frame(shown, output_format, "Numbers of the paper, and ours (simulated, or estimated in closed form)")
    for (verdict, reason), rows in compared.groupby(["verdict", "reason"], sort=False):
        subject = str(rows["what"].iloc[0]) if len(rows) == 1 else f"{len(rows)} numbers"
        print_text(f"{subject}: {verdict}: {reason}")
    print_text(score(compared))


def _pcie_bench(section: str | None, runs: Path | None) -> "pd.DataFrame":
    from pcielab import paper as of_paper
    from pcielab.cli.progress import Bar

    known = of_paper.numbers(section)
    if not known.value:
        sections = dict.fromkeys(name for one in of_paper.numbers().value for name in of_paper.sections(one))
        raise InputError(
            f"--section is {section}: the paper has no numbers there: give one of {', '.join(sections)}"
        )
    with Bar() as bar:
        return of_paper.compare_numbers(known, runs=runs, progress=bar.update)


def _of_run(store: "Store") -> "pd.DataFrame":
    from pcielab.analysis.published import compare_with_published

    compared = compare_with_published(store)
    if compared is None:
        raise InputError(
            f"{store.path}: suite {store.manifest.get('suite')} has no published numbers: give a run of "
            "`pcielab run --suite kpio` or `pcielab fabric run fabrex-u55c --suite rpciebench`"
        )
    _warn_unsteady(store)
    return compared


def _warn_unsteady(store: "Store") -> None:
    """Warn if flows have not reached their steady state."""
    from pcielab.store.flows import flow_table

    flows = flow_table(store) if store.kind == "fabric" else None
    if flows is not None and "note" in flows:
        count = int(flows["note"].notna().sum())
        say(f"{count} flows are not steady: see `note` in `pcielab export csv`")


def validate(
    run: Annotated[Path, typer.Argument(metavar="RUN.db", help="A run of a suite with published numbers.")],
    output_format: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TABLE,
) -> None:
    """Old name of `pcielab paper numbers RUN.db`."""
    numbers(run, section=None, runs=None, output_format=output_format)
