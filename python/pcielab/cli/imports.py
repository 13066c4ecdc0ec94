"""`pcielab import`: stores from other tools' measurements."""

from pathlib import Path
from typing import Annotated

import typer

from pcielab.cli.output import say

app = typer.Typer()

Output = Annotated[Path, typer.Option("--output", "-o", metavar="RUN.db", help="The store to write.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the store if it exists.")]


@app.command("pcie-bench")
def pcie_bench(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder with published `bw_*.csv` and `lat_*.csv` files.")
    ],
    output: Output,
    overwrite: Overwrite = False,
) -> None:
    """Import a whole folder in the published pcie-bench format."""
    from pcielab.formats.importers import import_pcie_bench

    import_pcie_bench(directory, output, overwrite=overwrite)
    _report(output)


@app.command("netfpga")
def netfpga(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Raw results, as `pcielab export netfpga` writes.")],
    output: Output,
    overwrite: Overwrite = False,
) -> None:
    """Import raw results of a NetFPGA (counter ticks of each test)."""
    from pcielab.formats.importers import import_netfpga

    import_netfpga(file, output, overwrite=overwrite)
    _report(output)


def _report(output: Path) -> None:
    from pcielab.store import open_store

    say(f"{len(open_store(output).tests)} tests imported: {output}")
