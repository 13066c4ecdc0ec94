"""`pcielab devices`: what tests can run on."""

from typing import Annotated

import typer

from pcielab import shipped
from pcielab.cli.completion import profile_names
from pcielab.cli.output import Cell, Format, print_rows
from pcielab.cli.profiles import print_listing

app = typer.Typer()

Formats = Annotated[Format, typer.Option("--format", help="How rows are printed.")]


@app.command("list")
def list_devices(output_format: Formats = Format.TABLE) -> None:
    """List what tests can run on here, and what is missing for it; nothing is opened.

    `sim` is the simulator, with the cards that it knows. Another kind is chosen by `pcielab run --device KIND`.
    """
    from pcielab.devices import kinds

    rows: list[dict[str, Cell]] = [
        {"device": "sim", "card": name, "title": shipped.title(path), "missing": ""}
        for name, path in shipped.profile_files("device").items()
    ]
    for kind in kinds().values():
        for name, missing in kind.present():
            rows.append({"device": kind.name, "card": name, "title": kind.title, "missing": missing})
    print_rows(rows, output_format)


@app.command()
def show(
    card: Annotated[
        str,
        typer.Argument(
            metavar="KIND|NAME|FILE",
            help="A kind of device, a simulated card, or a file of one (*.toml).",
            autocompletion=profile_names("device"),
        ),
    ],
    output_format: Formats = Format.TABLE,
) -> None:
    """Print the options of a kind of device, or every value of a simulated card with where it comes from.

    Examples:
    `pcielab devices show cpu`

    `pcielab devices show nfp6000`
    """
    from pcielab.devices import kinds
    from pcielab.devices.options import option_rows
    from pcielab.profiles.listing import listing

    kind = kinds().get(card)
    if kind is None:
        print_listing(listing("device", card), output_format)
    else:
        print_rows([*option_rows(kind.options)], output_format, f"{kind.title}: what --set takes")
