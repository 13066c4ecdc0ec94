"""`pcielab export`: stores in formats that other tools read, one command for each exporter."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pcielab.exporters import EXPORTERS, Exporter, export
from pcielab.store import open_store

app = typer.Typer(help="Write a store in a format that other tools read.", no_args_is_help=True)

messages = Console(stderr=True)


def _add(exporter: Exporter) -> None:
    @app.command(exporter.name, help=exporter.help)
    def write(
        run: Annotated[Path, typer.Argument(metavar="RUN", help="The store to export.")],
        output: Annotated[Path, typer.Option("--output", "-o", metavar="PATH", help="What to write.")],
        overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    ) -> None:
        export(open_store(run), exporter.name, output, overwrite=overwrite)
        messages.print(f"wrote {output}", highlight=False, markup=False)


for _exporter in EXPORTERS.values():
    _add(_exporter)
