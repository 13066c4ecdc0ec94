"""`pcielab paper findings`: table 2 of the pcie-bench paper, for any runs."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pcielab.cli.output import Format, print_rows
from pcielab.cli.stores import opened


def findings(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Stores of one machine in different set-ups, or a single store."),
    ],
    output_format: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TABLE,
) -> None:
    """Show the cost of caches, NUMA and the IOMMU in one or several runs, with the numbers and the remedy.

    One run shows the effect of its caches. Two runs of one machine show the cost of remote memory, or of the
    IOMMU. The suite fig8-fig9 measures the rows that this needs.

    Examples:
    `pcielab paper findings snb.db`

    `pcielab paper findings local.db remote.db translated.db --format csv`
    """
    from pcielab.errors import InputError
    from pcielab.paper import claims as find

    stores = [opened(path) for path in runs]
    for store in stores:
        store.require_kind("transfers", "what caches and IOMMU cost")
        store.require_speed("what caches and IOMMU cost")
    found = find(stores)
    if not found:
        raise InputError(
            "these runs show no cost of caches, NUMA or IOMMU: give a run with reads of cold and warm windows, or "
            "two runs of one machine that differ in the memory's socket or the IOMMU (suite fig8-fig9)"
        )
    print_rows([asdict(one) for one in found], output_format, title="What these runs show, and what to do")
