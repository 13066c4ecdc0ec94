"""`pcielab fabric from` and `paths`: a machine as a fabric, and what is between two of its devices."""

from pathlib import Path
from typing import Annotated

import typer

from pcielab.cli.output import print_data, say


def from_machine(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE...",
            help="The output of `sudo lspci -vvv`, /sys of this machine or a copy, a file of `pcielab doctor "
            "--save`, or an NCCL topology (XML). A second source of the same machine adds names and NUMA nodes.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Fabric file to write (*.toml); by default it is printed."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a machine as a fabric file: sockets, stacks, root ports, switches, devices, and links as they trained.

    Capacities of links are modelled: payload of large transfers with the MPS of the path. What no register shows,
    as the bandwidth of memory, is borrowed from published figures; comments name their rows. Empty slots, links
    inside chips and tunnels are left out, and counted on stderr.

    Examples:
    `pcielab fabric from lspci.txt -o server.toml`

    `sudo pcielab fabric from /sys -o server.toml`

    `pcielab fabric from lspci.txt topo.xml -o server.toml`
    """
    from functools import reduce

    from pcielab.doctor import merged, read_machine
    from pcielab.fabric import fabric_of
    from pcielab.outputs import check_file, write_file

    if output is not None:
        check_file(output, overwrite=overwrite)
    tree = reduce(merged, map(read_machine, sources))
    written = fabric_of(tree, (output or sources[0]).stem)
    for note in written.notes:
        say(note)
    if output is None:
        print_data(written.text)
        return
    write_file(output, written.text.encode(), overwrite=overwrite)
    say(f"wrote {output}: {written.nodes} nodes, {written.links} PCIe links")
