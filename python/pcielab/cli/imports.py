"""`pcielab import`: stores from measurements that were taken elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command("pcie-bench")
def pcie_bench(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Holds published `bw_*.csv` and `lat_*.csv` files.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="RUN.db", help="The store to write.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the store if it exists.")] = False,
) -> None:
    """Read a directory in the published pcie-bench format, all of it."""
    from pcielab.importers import import_pcie_bench
    from pcielab.store import open_store

    import_pcie_bench(directory, output, overwrite=overwrite)
    typer.echo(f"{len(open_store(output).tests)} tests imported: {output}", err=True)
