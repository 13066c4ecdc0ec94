"""`pcielab explain`: which bound binds, and how far off the others are."""

from collections.abc import Iterator
from typing import Annotated

import typer

from pcielab import model
from pcielab.cli.model import FormatOption, Sizes
from pcielab.cli.model_options import ModelOptions, takes_model_options
from pcielab.cli.output import Cell, Format, print_rows
from pcielab.model import Answer
from pcielab.quantities import parse_range


@takes_model_options
def explain(
    options: ModelOptions,
    sizes: Sizes = "64,256,1024",
    nic: Annotated[
        str | None,
        typer.Option(
            "--nic",
            help="Explain this NIC (a name or a .toml file); sizes are then Ethernet frames, FCS included.",
            metavar="NAME|FILE",
        ),
    ] = None,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Which bound binds, and the slack of the others, for a link given by its options.

    Each row is the rate that one bound alone would allow, tightest first; `slack_percent` is how much more that is
    than the bound that binds allows.

    Examples:
    `pcielab explain --gen 3 --lanes 8 --mps 256 --mrrs 512 --sizes 64`

    `pcielab explain --gen 5 --lanes 16 --mps 512 --tags 256 --rtt-ns 900 --sizes 64,4K`

    `pcielab explain --nic niantic-kernel --sizes 64,1500`
    """
    rows: list[dict[str, Cell]] = [
        {
            "size_bytes": size,
            "operation": operation,
            "bound": ceiling.bound,
            "gbps": ceiling.gbps,
            "slack_percent": 100 * ceiling.slack,
            "binds": ceiling.bound == answer.bound,
        }
        for size, operation, answer in _answers(options, parse_range(sizes, "--sizes"), nic)
        for ceiling in answer.ceilings
    ]
    print_rows(rows, output_format, options.title)


def _answers(options: ModelOptions, sizes: list[int], nic: str | None) -> Iterator[tuple[int, str, Answer]]:
    if nic is None:
        for row in model.bandwidth(options.link, sizes, accounting=options.accounting, limits=options.limits):
            yield from ((row.size_bytes, "read", row.read), (row.size_bytes, "write", row.write))
            yield row.size_bytes, "rdwr", row.rdwr
        return
    device = model.load_nic(nic)
    for throughput in model.nic(device, options.link, sizes, accounting=options.accounting, limits=options.limits):
        paths = {"bi": throughput.bi, "tx": throughput.tx, "rx": throughput.rx}
        yield from ((throughput.frame_bytes, path, answer) for path, answer in paths.items() if answer)
