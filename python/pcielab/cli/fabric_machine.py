"""`pcielab fabric from` and `paths`: a machine as a fabric, and what is between two of its devices."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pcielab.cli.completion import profile_names, set_option
from pcielab.cli.fabric_tables import print_flows
from pcielab.cli.output import Format, FormatOption, OverwriteOption, print_data, print_text, records, say
from pcielab.strict_json import strict_json


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
    overwrite: OverwriteOption = False,
) -> None:
    """Write a machine as a fabric file: sockets, stacks, root ports, switches, devices, and links as they trained.

    Capacities of links are modelled: payload of large transfers with the MPS of the path. What no register shows,
    as the bandwidth of memory, is borrowed from published figures of the same family of processors; comments name
    their rows, and what nobody published is unknown and limits nothing. Empty slots, links
    inside chips and tunnels are left out, and counted on stderr.

    Examples:
    `pcielab fabric from lspci.txt -o server.toml`

    `sudo pcielab fabric from /sys -o server.toml`

    `pcielab fabric from lspci.txt topo.xml -o server.toml`
    """
    from functools import reduce

    from pcielab.doctor import merged, read_machine
    from pcielab.expectations.memory import memory_of_tree
    from pcielab.fabric import fabric_of
    from pcielab.outputs import check_file, write_file

    if output is not None:
        check_file(output, overwrite=overwrite)
    tree = reduce(merged, map(read_machine, sources))
    written = fabric_of(tree, (output or sources[0]).stem, memory_of_tree(tree))
    for note in written.notes:
        say(note)
    if output is None:
        print_data(written.text)
        return
    write_file(output, written.text.encode(), overwrite=overwrite)
    say(f"wrote {output}: {written.nodes} nodes, {written.links} PCIe links")


def paths(
    file: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            help="A shipped fabric, or a file (*.toml).",
            autocompletion=profile_names("fabric"),
        ),
    ],
    source: Annotated[str, typer.Argument(metavar="A", help="The node that the data come from.")],
    destination: Annotated[str, typer.Argument(metavar="B", help="The node that they go to.")],
    sets: Annotated[
        list[str] | None, set_option("Change one value of the fabric, as fabric.link.nic1.lanes=8", "fabric")
    ] = None,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Show the path between two nodes: edges with their capacity both ways, bounds, latency, and what slows it.

    Between two devices, the notes say what prevents or slows peer-to-peer: ACS redirection, stacks and sockets on
    the way, MPS, the IOMMU. Capacities of the root complex are borrowed from published figures; notes name their
    rows.

    Examples:
    `pcielab fabric paths server.toml gpu0 nic1`

    `pcielab fabric paths fabrex-u55c A C --set fabric.node.S.delay_ns=90 --format json`
    """
    from pcielab import fabric
    from pcielab.fabric.paths import described
    from pcielab.library.profiles.read import own_sets

    chosen = fabric.load(file, own_sets("fabric", sets or (), "the fabric"))
    found = fabric.path(chosen, source, destination)
    if output_format is Format.JSON:
        print_data(strict_json({**asdict(found), "edges": records(found.edges)}, indent=1))
        return
    print_flows(found.edges, output_format, f"{found.source} to {found.destination} (modelled)")
    if output_format is Format.TABLE:
        print_text(described(found))
