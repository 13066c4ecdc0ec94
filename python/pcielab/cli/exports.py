"""`pcielab export`: stores in formats that other tools read, one command for each exporter.

Stands alone: `commands.py` loads each command at its use.
"""

from pathlib import Path
from typing import Annotated

import typer

from pcielab.cli.output import OverwriteOption, say
from pcielab.cli.stores import opened
from pcielab.formats.exporters import EXPORTERS, Exporter, export

app = typer.Typer()


def _add(exporter: Exporter) -> None:
    @app.command(exporter.name, help=exporter.help)
    def write(
        run: Annotated[Path, typer.Argument(metavar="RUN", help="The store to export.")],
        output: Annotated[Path, typer.Option("--output", "-o", metavar="PATH", help="File or folder to write.")],
        overwrite: OverwriteOption = False,
    ) -> None:
        for warning in export(opened(run), exporter.name, output, overwrite=overwrite):
            say(f"warning: {warning}")
        say(f"wrote {output}")


for _exporter in EXPORTERS.values():
    _add(_exporter)
