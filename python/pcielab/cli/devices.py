"""`pcielab devices`: the devices that tests can run on."""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from pcielab.cli.completion import profile_names
from pcielab.cli.output import Cell, Format, FormatOption, print_data, print_rows
from pcielab.cli.profiles import print_listing
from pcielab.errors import refusal

app = typer.Typer()

Address = Annotated[str, typer.Argument(metavar="ADDRESS", help="PCI address of the device: 0000:3b:00.0.")]
Formats = FormatOption


@app.command("list")
def list_devices(output_format: Formats = Format.TABLE) -> None:
    """List the devices that tests can run on here, and what each lacks, without opening any.

    `sim` is the simulator with its device profiles. Choose another kind by `pcielab run --device KIND`.
    """
    from pcielab.devices import kinds

    rows: list[dict[str, Cell]] = [
        {
            "device": kind.name,
            "card": name,
            "title": kind.titled(name) if kind.titled else kind.title,
            "missing": missing,
        }
        for kind in kinds().values()
        for name, missing in kind.present()
    ]
    print_rows(rows, output_format)


@app.command()
def bind(
    address: Address,
    unbound: Annotated[
        bool, typer.Option("--unbound", help="Leave the device without a driver, for stores into its BARs (pio).")
    ] = False,
    user: Annotated[str | None, typer.Option("--user", help="User who may measure the device.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what was looked at and what holds the device; bind nothing.")
    ] = False,
    output_format: Formats = Format.TABLE,
) -> None:
    """Bind a device to the kernel's vfio-pci driver for measuring; needs root.

    It takes only NVMe drives, NICs, GPUs, accelerators and memory, and only if they are known to be free. It
    refuses a device if anything at any depth below it is in use: a disk that is mounted, swap, exported or part of
    a volume, an interface that is up or has a route, a node or BAR that a program has open, the console's display.
    What cannot be read counts as in use. `--dry-run` prints every place that was looked at. `pcielab run` binds no
    device and needs no root.

    Examples:
    `sudo pcielab devices bind 0000:3b:00.0 --dry-run`

    `sudo pcielab devices bind 0000:3b:00.0 --user $USER`

    `sudo pcielab devices bind 0000:3b:00.0 --unbound --user $USER`
    """
    from pcielab.devices import real

    if not dry_run:
        real.bind(address, unbound=unbound, user=user)
        return
    survey = real.survey(address, unbound=unbound)
    rows: list[dict[str, Cell]] = [
        {"looked for": look.subject, "in": look.places, "holder": holder}
        for look in survey.looks
        for holder in look.holders or ("none",)
    ]
    print_rows(rows, output_format, f"{address}: uses that were looked for")
    if survey.refusal is not None:
        raise refusal("unsupported", survey.refusal)


@app.command()
def release(address: Address) -> None:
    """Return a bound device to the driver that the kernel chooses; needs root.

    It refuses a device that pcielab did not bind.

    Example:
    `sudo pcielab devices release 0000:3b:00.0`
    """
    from pcielab.devices import real

    real.release(address)


@app.command()
def show(
    card: Annotated[
        str,
        typer.Argument(
            metavar="KIND|NAME|FILE",
            help="A kind of device, a simulated device, or the file of one (*.toml).",
            autocompletion=profile_names("device"),
        ),
    ],
    output_format: Formats = Format.TABLE,
) -> None:
    """Print the options of a kind of device, or every value of a simulated device with its source.

    Examples:
    `pcielab devices show cpu`

    `pcielab devices show sim`

    `pcielab devices show nfp6000`
    """
    from pcielab.devices import kinds
    from pcielab.library.profiles.listing import listing

    kind = kinds().get(card)
    if kind is None:
        print_listing(listing("device", card), output_format)
    else:
        print_rows([*_rows(kind.schema)], output_format, f"{kind.title}: keys of --set")


@app.command()
def schema(
    kind: Annotated[
        str,
        typer.Argument(metavar="KIND", help="A kind of device.", autocompletion=lambda: [*_kinds()]),
    ],
) -> None:
    """Print the JSON Schema of the options file that `run --device KIND --profile FILE` reads.

    Example:
    `pcielab devices schema cpu`
    """
    from pcielab.devices import kinds

    found = kinds().get(kind)
    if found is None:
        from pcielab.library.alike import suggestion

        raise refusal("not-found", f"{kind}: unknown kind of device: {suggestion(kind, _kinds())}")
    print_data(json.dumps(found.schema, indent=1))


def _kinds() -> list[str]:
    from pcielab.devices import kinds

    return [*kinds()]


def _rows(schema: Mapping[str, Any]) -> Iterator[dict[str, Cell]]:
    """Dotted key, default and meaning of every option of a kind."""
    from pcielab.library.profiles.keys import leaves

    for key, described, _ in leaves(schema, None):
        default = "" if described["required"] else str(described.get("default"))
        yield {"key": key, "default": default, "meaning": described.get("description", "")}
