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
    """What caches, NUMA and the IOMMU cost between runs, the numbers behind it, and what to do.

    One run shows what its caches do; two of one machine, with the buffer on either socket or the IOMMU on and off,
    what that costs. The suite fig8-fig9 has the rows.

    Examples:
    `pcielab paper findings snb.db`

    `pcielab paper findings local.db remote.db translated.db --format csv`
    """
    from pcielab.errors import InputError
    from pcielab.paper import claims as find

    stores = [opened(path) for path in runs]
    for store in stores:
        store.require_kind("transfers", "what caches and IOMMU cost")
        store.require_speed("a finding")
    found = find(stores)
    if not found:
        raise InputError(
            "nothing to find: no run has reads over a cold and a warm window, and no two are of one machine that "
            "differ in the socket of the memory or in the IOMMU; the suite fig8-fig9 has the rows"
        )
    print_rows([asdict(one) for one in found], output_format, title="What these runs show, and what to do")
