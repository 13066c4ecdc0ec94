"""`pcielab import`: stores from other tools' measurements."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab.cli.completion import choice
from pcielab.cli.option_groups import annotated, option, takes
from pcielab.cli.output import OverwriteOption, say
from pcielab.cli.quantities import size_option
from pcielab.cli.tlp_reading import CapturedGeneration, CapturedLanes, takes_reading

if TYPE_CHECKING:
    from pcielab.captures import Reading
    from pcielab.formats.importers.tools.given import Given
    from pcielab.kinds.tools.rows import Tool

_PANEL = "Machine"


def _option(name: str, kind: Any, metavar: str, meaning: str) -> Any:
    return option(name, kind, None, meaning, metavar=metavar, rich_help_panel=_PANEL, show_default=False)


def _size(name: str, meaning: str) -> Any:
    return annotated(
        name, int | None, None, size_option(f"--{name}", meaning, rich_help_panel=_PANEL, show_default=False)
    )


_OPTIONS = [
    _option(
        "doctor",
        Path | None,
        "FILE",
        "Machine of `pcielab doctor --save`, or text of lspci -vvv: gives link, MPS and MRRS.",
    ),
    _option("address", str | None, "BDF", "PCI address of the device, e.g. 0000:17:00.0."),
    _option("link", str | None, "LINK", "Negotiated link, generation and lanes, e.g. gen5x16."),
    _size("mps", "Maximum payload size of the device."),
    _size("mrrs", "Maximum read request size of the device."),
    _option("numa", int | None, "NODE", "NUMA node of the host memory that the tool used."),
]


def _given(options: Mapping[str, Any]) -> "Given":
    from pcielab.formats.importers.tools.given import Given

    machine: dict[str, dict[str, Any]] = {}
    if options["doctor"] is not None:
        from pcielab.doctor import device_links, read_machine
        from pcielab.errors import refusal

        machine = device_links(read_machine(options["doctor"]))
        if not machine:
            raise refusal(
                "missing", f"--doctor {options['doctor']}: no device with a link: run the doctor with sudo"
            )
    return Given(
        link=options["link"],
        mps_bytes=options["mps"],
        mrrs_bytes=options["mrrs"],
        numa_node=options["numa"],
        address=options["address"],
        machine=machine,
        machine_source=f"--doctor {options['doctor']}",
    )


takes_machine_options = takes("given", _OPTIONS, _given)
"""Adds the options to a command, which gets their facts as its parameter `given`."""


app = typer.Typer()

Output = Annotated[Path, typer.Option("--output", "-o", metavar="RUN.db", help="The store to write.")]


@app.command("pcie-bench")
def pcie_bench(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder with published `bw_*.csv` and `lat_*.csv` files.")
    ],
    output: Output,
    overwrite: OverwriteOption = False,
) -> None:
    """Import a whole folder in the published pcie-bench format."""
    from pcielab.formats.importers import import_pcie_bench

    import_pcie_bench(directory, output, overwrite=overwrite)
    _report(output)


@app.command("netfpga")
def netfpga(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Raw results, as `pcielab export netfpga` writes.")],
    output: Output,
    overwrite: OverwriteOption = False,
) -> None:
    """Import raw results of a NetFPGA (counter ticks of each test)."""
    from pcielab.formats.importers import import_netfpga

    import_netfpga(file, output, overwrite=overwrite)
    _report(output)


_BufferOption = Annotated[int | None, size_option("--size", "Buffer size of nvbandwidth (`-b`), e.g. 512M.")]
_LastOption = Annotated[
    str | None,
    typer.Option("--last", metavar="TEST", help="Last test of nvbandwidth that ran: refuse a text without it."),
]


@app.command("output")
@takes_machine_options
def output_of_tools(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What one tool or several printed, with any text around it.")
    ],
    output: Output,
    given: "Given",
    size: _BufferOption = None,
    last: _LastOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Import what tools printed: the command finds the output of each in a file with any text around it.

    It reads nvbandwidth, perftest, fio, bandwidthTest, p2pBandwidthLatencyTest, rocm-bandwidth-test, nccl-tests
    and Intel MLC. Prompts, quotes, colours and other text around them do no harm. stderr lists what was not read.

    Examples:
    `pcielab import output paste.txt -o run.db`

    `pcielab import output paste.txt --link gen4x16 -o run.db`
    """
    _import(None, file, output, given=given, size_bytes=size, last_test=last, overwrite=overwrite)


@app.command("nvbandwidth")
@takes_machine_options
def nvbandwidth(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Output of nvbandwidth 0.2 to 0.10, text or JSON (`-j`); excerpts, too."
        ),
    ],
    output: Output,
    given: "Given",
    size: _BufferOption = None,
    last: _LastOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Import the bandwidths and latencies that nvbandwidth measured between host and GPUs.

    The file does not give the size of the buffer, the link, MPS or the NUMA node. They stay unknown, unless an
    option or a machine that `pcielab doctor --save` wrote gives them.

    Examples:
    `pcielab import nvbandwidth result.json -o gpu.db`

    `pcielab import nvbandwidth result.txt --size 512M --link gen5x16 --mps 256 --mrrs 512 -o gpu.db`

    `pcielab import nvbandwidth result.json --doctor machine.json -o gpu.db`
    """
    _import("nvbandwidth", file, output, given=given, size_bytes=size, last_test=last, overwrite=overwrite)


@app.command("perftest")
@takes_machine_options
def perftest(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Reports as printed, or a file of `--out_json`.",
        ),
    ],
    output: Output,
    given: "Given",
    overwrite: OverwriteOption = False,
) -> None:
    """Import what ib_write_bw, ib_read_bw, ib_send_bw, ib_atomic_bw or ib_*_lat measured over RDMA.

    The path includes the network and the other host. The file does not give the link, MPS or the NUMA node. They
    stay unknown, unless an option or a machine that `pcielab doctor --save` wrote gives them.

    Examples:
    `pcielab import perftest write.txt -o nic.db`

    `pcielab import perftest perftest_out.json --doctor machine.json --address 0000:17:00.0 -o nic.db`
    """
    _import("perftest", file, output, given=given, overwrite=overwrite)


@app.command("fio")
@takes_machine_options
def fio(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Output of fio 3: JSON, json+, normal, or terse 3 to 5.")
    ],
    output: Output,
    given: "Given",
    overwrite: OverwriteOption = False,
) -> None:
    """Import the bandwidths, rates and latencies that fio measured on a drive.

    The file does not give the link, MPS or the NUMA node. They stay unknown, unless an option or a machine that
    `pcielab doctor --save` wrote gives them. So do a block size and a depth that the job does not set.

    Examples:
    `pcielab import fio randread.json -o drive.db`

    `pcielab import fio randread.json --link gen4x4 --mps 256 --mrrs 512 -o drive.db`
    """
    _import("fio", file, output, given=given, overwrite=overwrite)


@app.command("capture")
@takes_reading
def capture(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Captures, as of `pcielab tlp explain`.")],
    output: Output,
    reading: "Reading",
    cache: Annotated[
        list[str] | None,
        choice(
            "--cache",
            ("cold", "host-warm", "device-warm"),
            "State of the caches, one for each FILE [default: cold]",
        ),
    ] = None,
    window: Annotated[
        int | None,
        size_option("--window", "Part of the buffer that was accessed.", show_default="the pages touched"),
    ] = None,
    generation: CapturedGeneration = None,
    lanes: CapturedLanes = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Import the latencies and bandwidths of a device's accesses in captures of packets.

    Reads that are alone in flight give rows of latencies, others rows of bandwidths, one for each size. Times
    are those at the captured end of the link: `pcielab calibrate RUN.db --device link-capture` adds none.

    Examples:
    `pcielab import capture reads.pcapng -o run.db`

    `pcielab import capture cold.csv warm.csv --cache cold --cache host-warm --window 256K -o run.db`
    """
    from pcielab.errors import refusal
    from pcielab.formats.importers import CaptureFile, import_capture

    states = cache or ["cold"] * len(files)
    if len(states) != len(files):
        raise refusal("conflict", f"--cache: {len(states)} states for {len(files)} files: give one for each")
    captured = [CaptureFile(file, state, window) for file, state in zip(files, states, strict=True)]
    notes = import_capture(
        captured, output, reading=reading, generation=generation, lanes=lanes, overwrite=overwrite
    )
    _report(output)
    for note in notes:
        say(f"note: {note}")


def _import(tool: "Tool | None", file: Path, output: Path, **options: Any) -> None:
    from pcielab.formats.importers import import_output

    notes = import_output(file, output, tool=tool, **options)
    _report(output)
    for note in notes:
        say(note)


def _report(output: Path) -> None:
    from pcielab.store import open_store

    say(f"{len(open_store(output).tests)} tests imported: {output}")
