"""`pcielab model sizing`: what a device must keep in flight to fill an Ethernet line, or a link by its reads."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab import model
from pcielab._core import read_number, read_sizes
from pcielab.cli.completion import profile_names
from pcielab.cli.model_options import (
    ModelOptions,
    NicSets,
    default_of,
    errors_name_options,
    link_option,
    link_with,
    nic_with,
    option_of,
)
from pcielab.cli.output import Cell, Format, FormatOption, print_rows
from pcielab.cli.quantities import size_option
from pcielab.errors import refusal
from pcielab.model.link import Ethernet, Gap

if TYPE_CHECKING:
    from pcielab.model import NicProfile

_FRAMES = "64,128,256,512,1024,1500"
_PERCENTILE = 99.9
_READS = "64,128,256,512,1024,2048,4096"


def _of_line(kind: str, meaning: str, **more: Any) -> Any:
    return typer.Option(kind, help=meaning, rich_help_panel="Ethernet line", show_default=False, **more)


def _of_link(key: str) -> Any:
    return link_option(key, f"with --gen and --lanes, {default_of(key)}")


def sizing(
    latency_ns: Annotated[
        str | None,
        typer.Option(
            "--latency-ns",
            help="Latency of one DMA in ns, 500 to 1000 on most servers; several as a list: 560,666.",
            metavar="LIST",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Take latencies from a store's reads, or simulate those of a system: they vary.",
            metavar="RUN.db|SYSTEM",
            show_default=False,
            autocompletion=profile_names("system"),
        ),
    ] = None,
    percentile: Annotated[
        float | None,
        typer.Option(
            "--percentile",
            help="With --from: the percentage of DMAs that start at once.  [default: 99.9]",
            show_default=False,
        ),
    ] = None,
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
    sets: NicSets = None,
    vlan: Annotated[bool, _of_line("--vlan", "Frames carry a VLAN tag on the line.")] = False,
    gap: Annotated[Gap | None, _of_line("--gap", "Interpacket gap.  [default: standard]")] = None,
    generation: Annotated[int | None, link_option("generation", "fill a line, not a link")] = None,
    lanes: Annotated[int | None, link_option("lanes", "fill a line, not a link")] = None,
    mps_bytes: Annotated[int | None, _of_link("mps_bytes")] = None,
    mrrs_bytes: Annotated[int | None, _of_link("mrrs_bytes")] = None,
    rcb_bytes: Annotated[int | None, _of_link("rcb_bytes")] = None,
    address_bits: Annotated[int | None, _of_link("address_bits")] = None,
    completions: Annotated[
        int | None,
        size_option(
            "--completions",
            "The host cuts completions at multiples of this size.  [default: MPS]",
            rich_help_panel="Link",
            show_default=False,
        ),
    ] = None,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Compute what a device must keep in flight to fill an Ethernet line, or a PCIe link with its reads.

    Of a line: DMAs in flight, and the clock cycles for each. Of a link (`--gen` and `--lanes`): `tags_to_fill`,
    the least number of outstanding read requests with which the link binds, not the tags; whole reads in flight;
    and headers and bytes of the buffer for completions that suffice.

    With `--from`, latencies vary: `dmas_in_flight` is the size at which `--percentile` of the DMAs of a line start
    at once, `mean_in_flight` their mean, which is too few, and `constant_in_flight` what a latency of this
    percentile would need if it were constant. `waiting_percent` is simulated with these latencies: the DMAs that
    wait in a device of this size.

    Examples:
    `pcielab model sizing --line 40 --sizes 128 --latency-ns 560,666,900`

    `pcielab model sizing --line 40 --sizes 128 --from snb-iommu --percentile 99.9`

    `pcielab model sizing --nic niantic-kernel --latency-ns 900 --clock-ghz 1.2`

    `pcielab model sizing --nic niantic-dpdk --set nic.step.1.batch=8 --latency-ns 900`

    `pcielab model sizing --gen 4 --lanes 8 --latency-ns 900 --clock-ghz 0.25`
    """
    of_line = {"--line": line, "--nic": nic, "--set": sets or None, "--vlan": vlan or None, "--gap": gap}
    of_link = {
        "generation": generation,
        "lanes": lanes,
        "mps_bytes": mps_bytes,
        "mrrs_bytes": mrrs_bytes,
        "rcb_bytes": rcb_bytes,
        "address_bits": address_bits,
    }
    given: dict[str, Any] = {key: value for key, value in of_link.items() if value is not None}
    if (latency_ns is None) == (source is None):
        raise refusal(
            "missing" if source is None else "conflict",
            "give --latency-ns, a time or several, or --from with a store or a system",
        )
    if percentile is not None and source is None:
        raise refusal("missing", "--percentile needs --from: name a store or a system whose latencies vary")
    option = option_of(next(iter(given))) if given else "--completions" if completions is not None else None
    if option is None:
        ethernet = Ethernet(
            line_gbps=Ethernet.line_gbps if line is None else line, vlan=vlan, gap=gap or Gap.STANDARD
        )
        device = nic_with(nic, sets)
        if source is not None:
            share = _PERCENTILE if percentile is None else percentile
            _varying(source, ethernet, sizes or _FRAMES, share, device, clock_ghz, output_format)
            return
        assert latency_ns is not None, "one of both was given"
        rows = _line_rows(ethernet, sizes or _FRAMES, latency_ns, device, clock_ghz)
        of = nic or "packets alone"
        print_rows(rows, output_format, f"modelled: {ethernet.line_gbps:g}GbE, DMAs of {of}")
        return
    for line_option, value in of_line.items():
        if value is not None:
            raise refusal("conflict", f"{line_option} cannot be combined with {option}: give a line, or a link")
    if latency_ns is None:
        raise refusal("conflict", f"--from cannot be combined with {option}: give --latency-ns for a link")
    if generation is None or lanes is None:
        raise refusal("missing", f"{option}: needs both --gen and --lanes: give them, or leave {option} out")
    options = ModelOptions(link=link_with(**given))
    with errors_name_options():
        answers = model.link_sizing(
            options.link,
            read_sizes(sizes or _READS, "--sizes"),
            _latencies(latency_ns),
            completion_bytes=completions,
            clock_ghz=clock_ghz,
        )
    print_rows([dict(answer.model_dump()) for answer in answers], output_format, options.title)


def _line_rows(
    ethernet: Ethernet, sizes: str, latency_ns: str, nic: "NicProfile | None", clock_ghz: float | None
) -> list[dict[str, Cell]]:
    with errors_name_options():
        answers = model.sizing(
            read_sizes(sizes, "--sizes"),
            _latencies(latency_ns),
            ethernet=ethernet,
            device=nic,
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


def _varying(
    source: str,
    ethernet: Ethernet,
    sizes: str,
    percentile: float,
    nic: "NicProfile | None",
    clock_ghz: float | None,
    output_format: Format,
) -> None:
    """Print the sizes for latencies that vary."""
    from dataclasses import asdict

    from pcielab.design.in_flight import in_flight

    with errors_name_options():
        rows = in_flight(
            source,
            read_sizes(sizes, "--sizes"),
            percentile=percentile,
            ethernet=ethernet,
            device=nic,
            clock_ghz=clock_ghz,
        )
    title = f"{ethernet.line_gbps:g}GbE, {percentile:g} % of DMAs start at once: latencies of {source}"
    print_rows([asdict(row) for row in rows], output_format, title)


def _latencies(text: str) -> list[float]:
    return [read_number(part, "--latency-ns", "time", "ns") for part in text.split(",")]
