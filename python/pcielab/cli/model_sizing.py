"""`pcielab model sizing`: what a device must keep in flight to fill an Ethernet line, or a link by its reads."""

from typing import Annotated, Any

import typer

from pcielab import model
from pcielab.cli.completion import profile_names
from pcielab.cli.model_options import ModelOptions, errors_name_options
from pcielab.cli.output import Cell, Format, print_rows
from pcielab.errors import InputError
from pcielab.library.quantities import parse_bytes, parse_range
from pcielab.model.link import Ethernet, Gap

_FRAMES = "64,128,256,512,1024,1500"
_READS = "64,128,256,512,1024,2048,4096"


def _of_line(kind: str, meaning: str, **more: Any) -> Any:
    return typer.Option(kind, help=meaning, rich_help_panel="Ethernet line", show_default=False, **more)


def _of_link(option: str, meaning: str) -> Any:
    return typer.Option(option, help=meaning, rich_help_panel="Link", show_default=False)


def _link_size(option: str, meaning: str) -> Any:
    return typer.Option(
        option,
        help=meaning,
        rich_help_panel="Link",
        show_default=False,
        parser=lambda given: parse_bytes(str(given), option),
        metavar="BYTES",
    )


def sizing(
    latency_ns: Annotated[
        str,
        typer.Option(
            "--latency-ns",
            help="Latency of one DMA in ns, 500 to 1000 on most servers; several as a list: 560,666.",
            metavar="LIST",
        ),
    ],
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes",
            help=f"Bytes of frames, FCS included [default: {_FRAMES}], or of reads of a link [default: {_READS}].",
            metavar="LIST|RANGE",
            show_default=False,
        ),
    ] = None,
    clock_ghz: Annotated[
        float | None,
        typer.Option("--clock-ghz", help="The device's clock, to compute its cycles per DMA or read request."),
    ] = None,
    line: Annotated[
        float | None,
        _of_line("--line", f"Ethernet line rate in Gb/s, 1 to 800.  [default: {Ethernet.line_gbps:g}]"),
    ] = None,
    nic: Annotated[
        str | None,
        _of_line(
            "--nic",
            "Also count this NIC's descriptors: a name or a .toml file.",
            metavar="NAME|FILE",
            autocompletion=profile_names("nic"),
        ),
    ] = None,
    vlan: Annotated[bool, _of_line("--vlan", "Frames carry a VLAN tag on the line.")] = False,
    gap: Annotated[Gap | None, _of_line("--gap", "Interpacket gap.  [default: standard]")] = None,
    gen: Annotated[
        int | None, _of_link("--gen", "PCIe generation, 1 to 7: fill this link with reads, not a line.")
    ] = None,
    lanes: Annotated[int | None, _of_link("--lanes", "Link width.")] = None,
    mps: Annotated[
        int | None, _link_size("--mps", f"Maximum Payload Size.  [default: {ModelOptions.mps}]")
    ] = None,
    mrrs: Annotated[
        int | None, _link_size("--mrrs", f"Maximum Read Request Size.  [default: {ModelOptions.mrrs}]")
    ] = None,
    rcb: Annotated[
        int | None, _link_size("--rcb", f"Read Completion Boundary.  [default: {ModelOptions.rcb}]")
    ] = None,
    addr: Annotated[
        int | None, _of_link("--addr", f"Address width in bits, 32 or 64.  [default: {ModelOptions.addr}]")
    ] = None,
    completions: Annotated[
        int | None,
        _link_size("--completions", "The host cuts completions at multiples of this size.  [default: MPS]"),
    ] = None,
    output_format: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TABLE,
) -> None:
    """Compute what a device must keep in flight to fill an Ethernet line, or a PCIe link with its reads.

    Of a line: DMAs in flight, and the clock cycles for each. Of a link (`--gen` and `--lanes`): `tags_to_fill`,
    the least number of outstanding read requests with which the link binds, not the tags; whole reads in flight;
    and headers and bytes of the buffer for completions that suffice.

    Examples:
    `pcielab model sizing --line 40 --sizes 128 --latency-ns 560,666,900`

    `pcielab model sizing --nic niantic-kernel --latency-ns 900 --clock-ghz 1.2`

    `pcielab model sizing --gen 4 --lanes 8 --latency-ns 900 --clock-ghz 0.25`
    """
    of_line = {"--line": line, "--nic": nic, "--vlan": vlan or None, "--gap": gap}
    of_link = {"gen": gen, "lanes": lanes, "mps": mps, "mrrs": mrrs, "rcb": rcb, "addr": addr}
    given: dict[str, Any] = {key: value for key, value in of_link.items() if value is not None}
    option = f"--{next(iter(given))}" if given else "--completions" if completions is not None else None
    if option is None:
        ethernet = Ethernet(
            line_gbps=Ethernet.line_gbps if line is None else line, vlan=vlan, gap=gap or Gap.STANDARD
        )
        rows = _line_rows(ethernet, sizes or _FRAMES, latency_ns, nic, clock_ghz)
        of = nic or "packets alone"
        print_rows(rows, output_format, f"modelled: {ethernet.line_gbps:g}GbE, DMAs of {of}")
        return
    for line_option, value in of_line.items():
        if value is not None:
            raise InputError(f"{line_option} cannot be combined with {option}: give a line, or a link")
    if gen is None or lanes is None:
        raise InputError(f"{option}: needs both --gen and --lanes: give them, or leave {option} out")
    options = ModelOptions(**given)
    with errors_name_options():
        answers = model.link_sizing(
            options.link,
            parse_range(sizes or _READS, "--sizes"),
            _latencies(latency_ns),
            completion_bytes=completions,
            clock_ghz=clock_ghz,
        )
    print_rows([dict(answer.model_dump()) for answer in answers], output_format, options.title)


def _line_rows(
    ethernet: Ethernet, sizes: str, latency_ns: str, nic: str | None, clock_ghz: float | None
) -> list[dict[str, Cell]]:
    with errors_name_options():
        answers = model.sizing(
            parse_range(sizes, "--sizes"),
            _latencies(latency_ns),
            ethernet=ethernet,
            device=model.load_nic(nic) if nic else None,
            clock_ghz=clock_ghz,
        )
    return [
        {
            "size_bytes": answer.frame_bytes,
            "latency_ns": answer.latency_ns,
            "packet_interval_ns": answer.packet_interval_ns,
            "packets_in_flight": answer.packets_in_flight,
            "tx_dmas_per_packet": answer.tx.dmas_per_packet,
            "tx_dmas_in_flight": answer.tx.dmas_in_flight,
            "tx_cycles_per_dma": answer.tx.cycles_per_dma,
            "rx_dmas_per_packet": answer.rx.dmas_per_packet,
            "rx_dmas_in_flight": answer.rx.dmas_in_flight,
            "rx_cycles_per_dma": answer.rx.cycles_per_dma,
        }
        for answer in answers
    ]


def _latencies(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--latency-ns {text!r}: give times in ns, for example 900 or 560,666") from None
