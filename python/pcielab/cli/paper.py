"""`pcielab paper`: figures, findings and numbers of papers beside ours."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcielab.cli.output import Format, FormatOption, OverwriteOption, print_frame, print_rows, print_text, say
from pcielab.cli.stores import opened
from pcielab.errors import refusal
from pcielab.model.link import Accounting

if TYPE_CHECKING:
    import pandas as pd

    from pcielab.store import Store


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
    overwrite: OverwriteOption = False,
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


def findings(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Stores of one machine in different set-ups, or a single store."),
    ],
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Show the cost of caches, NUMA and the IOMMU in one or several runs, with the numbers and the remedy.

    One run shows the effect of its caches. Two runs of one machine show the cost of remote memory, or of the
    IOMMU. The suite fig8-fig9 measures the rows that this needs.

    Examples:
    `pcielab paper findings snb.db`

    `pcielab paper findings local.db remote.db translated.db --format csv`
    """
    from pcielab.paper import claims as find

    stores = [opened(path) for path in runs]
    for store in stores:
        store.require_kind("transfers", "what caches and IOMMU cost")
        store.require_speed("what caches and IOMMU cost")
    found = find(stores)
    if not found:
        raise refusal(
            "missing",
            "these runs show no cost of caches, NUMA or IOMMU: give a run with reads of cold and warm windows, or "
            "two runs of one machine that differ in the memory's socket or the IOMMU (suite fig8-fig9)",
        )
    print_rows([asdict(one) for one in found], output_format, title="What these runs show, and what to do")


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
    output_format: FormatOption = Format.TABLE,
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
        raise refusal("conflict", "--section and --runs: only without RUN.db: leave one of them out")
    else:
        compared = _of_run(opened(run))
    if output_format is not Format.TABLE:
        print_frame(compared, output_format)
        return
    from pcielab.kinds.published import score

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
        raise refusal(
            "not-found",
            f"--section is {section}: the paper has no numbers there: give one of {', '.join(sections)}",
        )
    with Bar() as bar:
        return of_paper.compare_numbers(known, runs=runs, progress=bar.update)


def _of_run(store: "Store") -> "pd.DataFrame":
    from pcielab.kinds.beside_published import compare_with_published

    compared = compare_with_published(store)
    if compared is None:
        raise refusal(
            "missing",
            f"{store.path}: suite {store.manifest.get('suite')} has no published numbers: give a run of "
            "`pcielab run --suite kpio` or `pcielab fabric run fabrex-u55c --suite rpciebench`",
        )
    _warn_unsteady(store)
    return compared


def _warn_unsteady(store: "Store") -> None:
    """Warn if flows have not reached their steady state."""
    from pcielab.kinds.rooms import room_of

    table = room_of(store).columns.table
    flows = table.rows(store) if table is not None else None
    if flows is not None and "note" in flows:
        count = int(flows["note"].notna().sum())
        say(f"{count} flows are not steady: see `note` in `pcielab export csv`")


def validate(
    run: Annotated[Path, typer.Argument(metavar="RUN.db", help="A run of a suite with published numbers.")],
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Old name of `pcielab paper numbers RUN.db`."""
    numbers(run, section=None, runs=None, output_format=output_format)
