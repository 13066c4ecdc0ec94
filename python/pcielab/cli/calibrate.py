"""`pcielab calibrate`: fit a machine's parameters to some of its measured rows."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcielab.cli.output import Cell, Format, OverwriteOption, is_stdout, print_rows, say
from pcielab.errors import refusal

if TYPE_CHECKING:
    from pcielab.store import Store


def calibrate(
    source: Annotated[
        Path,
        typer.Argument(metavar="DIR|RUN", help="Measured rows: a folder in the published format, or a store."),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="TOML",
            help="System profile to write. Not needed for an import of another tool.",
            show_default=False,
        ),
    ] = None,
    pack: Annotated[
        Path | None, typer.Option("--pack", metavar="CSV", help="Use only the rows listed in this file.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            metavar="NAME|FILE",
            help="Profile with the constants of the device that was measured [default: that of the store, or an "
            "NFP-6000].",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the system [default: that of the file].", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the simulation.")] = 1,
    overwrite: OverwriteOption = False,
    output_format: Annotated[
        Format, typer.Option("--format", help="Output format of the parameters.")
    ] = Format.TABLE,
) -> None:
    """Fit a machine's parameters to measured rows and write a system profile for `pcielab run --profile`.

    Rows may be missing: parameters that the rows do not determine keep a typical host's values and are marked in
    the profile. It takes 10 to 30 seconds. The device's constants are not fitted: they are those of
    its profile. Rows that were simulated, not measured, give a profile that is marked as uncalibrated.

    Rows of nvbandwidth, perftest or fio determine no host. It prints what they do determine: payload ratio, cost
    of a call, round trip, bytes in flight, and what a direction keeps while the other is busy.
    """
    from pcielab.outputs import check_file, write_file

    if output is not None:
        check_file(output, overwrite=overwrite)
    if (store := _of_tool(source)) is not None:
        _refuse_beside_tool(store, output, pack, name, device)
        _print_pins(store, output_format)
        return
    if output is None:
        raise refusal("missing", "-o: missing: give the system profile to write, for example -o mine.toml")
    from pcielab.analysis.calibrate import calibrate as calibrate_machine, read_measured
    from pcielab.cli.progress import Bar

    measured = read_measured(source, pack, device)
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
        print_rows(rows, output_format, title=f"{found.system['name']}: {found.system['title']}")
    for warning in found.warnings:
        say(f"warning: {warning}")
    if found.not_identified:
        kept = f"not identified by these rows, as on {found.recorded.base_host}: {', '.join(found.not_identified)}"
        say(kept)


def _of_tool(source: Path) -> "Store | None":
    """The store of another tool's rows; None for anything else."""
    from pcielab.kinds.rooms import room_of
    from pcielab.store import open_store

    if source.is_dir():
        return None
    store = open_store(source)
    return store if room_of(store).explain.gives_pins else None


def _refuse_beside_tool(
    store: "Store", output: Path | None, pack: Path | None, name: str | None, device: str | None
) -> None:
    for option, given in (("-o", output), ("--pack", pack), ("--name", name), ("--device", device)):
        if given is not None:
            needs = f"{option} needs one of kind transfers: leave {option} out"
            raise refusal("unsupported", f"{store.path}: is a run of kind {store.kind}: {needs}")


def _print_pins(store: "Store", output_format: Format) -> None:
    from pcielab.analysis.calibrate.pins import link_of, pins
    from pcielab.kinds.tools.rows import measured_rows

    found = pins(measured_rows(store), link_of(store))
    rows: list[dict[str, Cell]] = [
        {
            "number": pin.key,
            "value": pin.value,
            "low": pin.low,
            "high": pin.high,
            "unit": pin.unit,
            "identified": pin.identified,
            "because": pin.reason,
            "tests": " ".join(map(str, pin.told_by)),
        }
        for pin in found
    ]
    if output_format is Format.TABLE:
        for row in rows:
            row["value"] = "NOT IDENTIFIED" if row["value"] is None else float(f"{row['value']:.4g}")
    if not rows:
        raise refusal("missing", f"{store.path}: no row of one direction, size or latency: nothing to calibrate")
    print_rows(rows, output_format, title=f"{store.title}: what its {store.origin} rows determine")


def _name(output: Path) -> str:
    return re.sub(r"\W+", "-", output.stem).strip("-").lower() or "calibrated"
