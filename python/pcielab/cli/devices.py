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
    """List the back ends and the cards that each knows; `sim` is the simulator."""
    rows: list[dict[str, Cell]] = [
        {"device": "sim", "card": name, "title": shipped.title(path)}
        for name, path in shipped.profile_files("device").items()
    ]
    print_rows(rows, output_format)


@app.command()
def show(
    card: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE", help="A card, or a file (*.toml).", autocompletion=profile_names("device")
        ),
    ],
    output_format: Formats = Format.TABLE,
) -> None:
    """Print every value of a card with where it comes from."""
    from pcielab.profiles.listing import listing

    print_listing(listing("device", card), output_format)
