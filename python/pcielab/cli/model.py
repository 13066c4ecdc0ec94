"""`pcielab model`: bounds in closed form."""

from typing import TYPE_CHECKING, Annotated

import typer

from pcielab import model
from pcielab._core import read_sizes
from pcielab.cli import model_cxl, model_engine, model_host, model_mmio, model_pio, model_sizing
from pcielab.cli.completion import profile_names, set_option
from pcielab.cli.model_options import ModelOptions, takes_model_options
from pcielab.cli.option_groups import GROUP
from pcielab.cli.output import Cell, Format, FormatOption, print_rows, say
from pcielab.cli.quantities import size_option
from pcielab.library import shipped
from pcielab.model.link import Ethernet, Gap

if TYPE_CHECKING:
    from pcielab.model import Answer, Bandwidth, NicThroughput

app = typer.Typer()

Sizes = Annotated[
    str,
    typer.Option(
        "--sizes", help="Sizes in bytes: 64, 60,61,77, first:last[:step] or 64:4K:x2.", metavar="LIST|RANGE"
    ),
]
FrameSizes = Annotated[
    str,
    typer.Option(
        "--sizes",
        help="Ethernet frame sizes in bytes, FCS included: 64, first:last[:step] or 64:1024:x2.",
        metavar="LIST|RANGE",
    ),
]
Line = Annotated[float, typer.Option("--line", help="Ethernet line rate in Gb/s, 1 to 800.")]
Vlan = Annotated[bool, typer.Option("--vlan", help="Frames carry a VLAN tag on the line.")]
GapOption = Annotated[Gap, typer.Option("--gap", help="Interpacket gap.")]
Completions = Annotated[
    int | None,
    size_option(
        "--completions",
        "The host cuts completions at multiples of this size, from RCB to MPS.  [default: as large as MPS]",
        show_default=False,
    ),
]
Details = Annotated[bool, typer.Option("--details", help="Add columns (see above).")]

app.command("cxl")(model_cxl.cxl)
app.command("engine")(model_engine.engine)
app.command("host")(model_host.host)
app.command("mmio")(model_mmio.mmio)
app.command("pio")(model_pio.pio)
app.command("sizing")(model_sizing.sizing)


@app.command("bandwidth")
@takes_model_options
def bandwidth(
    sizes: Sizes = "64,128,256,512,1024,2048,4096",
    offset: Annotated[
        int, typer.Option("--offset", min=0, help="Start of each transfer above a 4 KiB boundary, in bytes.")
    ] = 0,
    completions: Completions = None,
    details: Details = False,
    output_format: FormatOption = Format.TABLE,
    options: ModelOptions = GROUP,
) -> None:
    """Compute the highest bandwidth of DMA reads, writes, and both at once (per direction), in Gb/s.

    `tlp_gbps` is the link's rate for TLPs in each direction. With `--rtt-ns`, `tags_to_fill` is the least number
    of outstanding read requests with which the link binds, not the tags. `--details` adds the TLPs of one
    transfer, transfers per second, the bandwidth in each direction including TLP headers, and the share of data;
    in flit mode, the share of flits that TLPs fill, and the bandwidth that NOPs take; without flits, the share of
    the rate that a link loses whose ports send DLLPs in whole bytes (`whole_dllps_share`), as simulated ones do;
    with `--ide`, the share of the bandwidth that prefixes and MACs take (`ide_share`).

    Examples:
    `pcielab model bandwidth --gen 3 --lanes 8 --mps 256 --mrrs 512 --sizes 64:1500`

    `pcielab model bandwidth --gen 5 --lanes 16 --mps 512 --rtt-ns 900 --tags 256 --sizes 64,256,4K`

    `pcielab model bandwidth --gen 6 --lanes 16 --ide 8 --sizes 64,256 --details`
    """
    answers = model.bandwidth(
        options.link,
        read_sizes(sizes, "--sizes"),
        accounting=options.accounting,
        limits=options.limits,
        offset_bytes=offset,
        completion_bytes=completions,
    )
    rows: list[dict[str, Cell]] = []
    for answer in answers:
        row: dict[str, Cell] = {
            "size_bytes": answer.size_bytes,
            "read_gbps": answer.read.gbps,
            "write_gbps": answer.write.gbps,
            "rdwr_gbps": answer.rdwr.gbps,
            "read_bound": answer.read.bound,
            "write_bound": answer.write.bound,
            "rdwr_bound": answer.rdwr.bound,
            "tlp_gbps": answer.tlp_gbps,
        }
        if options.limits.round_trip_ns is not None:
            row["tags_to_fill"] = answer.tags_to_fill
        if details:
            row |= _link_use(answer)
        rows.append(row)
    print_rows(rows, output_format, options.title)


@app.command("nic")
@takes_model_options
def nic(
    nics: Annotated[
        list[str],
        typer.Argument(
            help=f"{', '.join(shipped.profile_files('nic'))}, or .toml files; NAME+FEATURE turns a feature on.",
            metavar="NAME|FILE...",
            autocompletion=profile_names("nic"),
        ),
    ],
    sizes: FrameSizes = "64,128,256,512,1024,1500",
    line: Line = Ethernet.line_gbps,
    vlan: Vlan = False,
    gap: GapOption = Gap.STANDARD,
    sets: Annotated[
        list[str] | None, set_option("Change one value of each NIC, as nic.queues.pairs=4", "nic")
    ] = None,
    details: Details = False,
    output_format: FormatOption = Format.TABLE,
    options: ModelOptions = GROUP,
) -> None:
    """Compute a NIC's rate over PCIe in Gb/s: sending, receiving, and both at once (`bi`, per direction).

    Frames lose their 4-byte FCS before they cross PCIe; all rates, including the line rate, count the bytes that
    cross. `--details` adds packets per second.

    Examples:
    `pcielab model nic simple-nic --gen 3 --lanes 8 --mps 256 --mrrs 512 --sizes 64:1500`

    `pcielab model nic niantic-kernel niantic-dpdk --accounting sigcomm18 --sizes 64,512,1500`

    `pcielab model nic connectx-5 connectx-5+mprq+cqe-compression --gen 3 --lanes 16 --line 100`

    `pcielab model nic niantic-dpdk --set nic.step.1.batch=8 --sizes 64,128`

    `pcielab model nic my-nic.toml --gen 4 --lanes 16 --line 100 --format csv`
    """
    from pcielab.library.profiles.read import own_sets

    ethernet = Ethernet(line_gbps=line, vlan=vlan, gap=gap)
    frames = read_sizes(sizes, "--sizes")
    rows: list[dict[str, Cell]] = []
    warnings: dict[str, str] = {}
    for name in nics:
        device = model.load_nic(name, own_sets("nic", sets or (), "a NIC"))
        for answer in model.nic(
            device,
            options.link,
            frames,
            ethernet=ethernet,
            accounting=options.accounting,
            limits=options.limits,
        ):
            row: dict[str, Cell] = {
                "nic": device.name,
                "size_bytes": answer.frame_bytes,
                "bi_gbps": answer.bi.gbps,
                "tx_gbps": _gbps(answer.tx),
                "rx_gbps": _gbps(answer.rx),
                "line_gbps": answer.line_gbps,
                "bi_bound": answer.bi.bound,
                "tx_bound": answer.tx.bound if answer.tx else None,
                "rx_bound": answer.rx.bound if answer.rx else None,
            }
            if details:
                row |= _packets(answer)
            rows.append(row)
            if device.name not in warnings and (warning := _above_stated(device.name, answer)):
                warnings[device.name] = warning
    for warning in warnings.values():
        say(f"warning: {warning}")
    print_rows(rows, output_format, options.title)


def _link_use(answer: "Bandwidth") -> dict[str, Cell]:
    """Columns of the link's use by one size, for reads, writes and both."""
    cells: dict[str, Cell] = {}
    for name in ("read", "write", "rdwr"):
        rate, use = getattr(answer, name), getattr(answer, f"{name}_use")
        cells |= {f"{name}_millions_per_s": rate.millions_per_s}
        cells |= {f"{name}_{key}": value for key, value in use.model_dump().items() if value is not None}
    return cells


def _packets(answer: "NicThroughput") -> dict[str, Cell]:
    ways = {"bi": answer.bi, "tx": answer.tx, "rx": answer.rx}
    cells: dict[str, Cell] = {
        f"{name}_millions_per_s": way.millions_per_s if way else None for name, way in ways.items()
    }
    return cells | {"line_millions_per_s": answer.bi.millions_per_s * answer.line_gbps / answer.bi.gbps}


def _above_stated(name: str, answer: "NicThroughput") -> str | None:
    """A warning of packets that PCIe and line allow, and that the NIC is not known to process."""
    from pcielab.library.packet_rates import above_stated

    ways = [way.millions_per_s for way in (answer.bi, answer.tx, answer.rx) if way]
    line_mpps = answer.bi.millions_per_s * answer.line_gbps / answer.bi.gbps
    return above_stated(name, answer.frame_bytes, min(max(ways), line_mpps))


def _gbps(answer: "Answer | None") -> float | None:
    return answer.gbps if answer else None
