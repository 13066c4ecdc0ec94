"""`pcielab calibrate`: fit a machine's parameters to some of its measured rows."""

import re
from pathlib import Path
from typing import Annotated

import typer

from pcielab.cli.output import Cell, Format, is_stdout, print_rows, say


def calibrate(
    source: Annotated[
        Path,
        typer.Argument(metavar="DIR|RUN", help="Measured rows: a folder in the published format, or a store."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="TOML", help="System profile to write.")],
    pack: Annotated[
        Path | None, typer.Option("--pack", metavar="CSV", help="Use only the rows listed in this file.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the system [default: that of the file].", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the simulation.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the profile if it exists.")] = False,
    output_format: Annotated[
        Format, typer.Option("--format", help="Output format of the parameters.")
    ] = Format.TABLE,
) -> None:
    """Fit a machine's parameters to measured rows and write a system profile for `pcielab run --profile`.

    Rows may be missing: parameters that the rows do not determine keep a typical host's values and are marked in
    the profile. It takes one to two minutes on two cores.
    """
    from pcielab.analysis.calibrate import calibrate as calibrate_machine, read_measured
    from pcielab.cli.progress import Bar
    from pcielab.outputs import check_file, write_file

    check_file(output, overwrite=overwrite)
    measured = read_measured(source, pack)
    with Bar() as bar:
        found = calibrate_machine(
            measured,
            name or _name(output),
            seed=seed,
            progress=lambda done, total, step: bar.update(done, total, step),
        )
    write_file(output, found.to_toml().encode(), overwrite=overwrite)
    rows: list[dict[str, Cell]] = [
        {
            "parameter": one.parameter.key,
            "value": one.value,
            "half_width_95": one.half_width if one.identified else None,
            "identified": one.identified,
            "told_by": "; ".join(found.rows[row].label for row in one.evidence),
        }
        for one in found.estimates
    ]
    if not is_stdout(output):
        print_rows(rows, output_format, title=f"{found.system['name']}, calibrated from {len(found.rows)} rows")
    for warning in found.warnings:
        say(f"warning: {warning}")
    if found.not_identified:
        kept = f"not identified by these rows, as on {found.recorded.base_host}: {', '.join(found.not_identified)}"
        say(kept)


def _name(output: Path) -> str:
    return re.sub(r"\W+", "-", output.stem).strip("-").lower() or "calibrated"
