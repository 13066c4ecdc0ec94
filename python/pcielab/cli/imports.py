"""`pcielab import`: stores from other tools' measurements."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab.cli.option_groups import annotated, option, takes
from pcielab.cli.output import OverwriteOption, say
from pcielab.cli.quantities import size_option

if TYPE_CHECKING:
    from pcielab.formats.importers.tools.given import Given

_PANEL = "Machine"


def _option(name: str, kind: Any, metavar: str, meaning: str) -> Any:
    return option(name, kind, None, meaning, metavar=metavar, rich_help_panel=_PANEL, show_default=False)


def _size(name: str, meaning: str) -> Any:
    return annotated(
        name, int | None, None, size_option(f"--{name}", meaning, rich_help_panel=_PANEL, show_default=False)
    )


_OPTIONS = [
    _option("doctor", Path | None, "FILE", "Machine of `pcielab doctor --save`: gives link, MPS and MRRS."),
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
        from pcielab.doctor import device_links, read_file
        from pcielab.errors import InputError

        machine = device_links(read_file(options["doctor"]))
        if not machine:
            raise InputError(f"--doctor {options['doctor']}: no device with a link: run the doctor with sudo")
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


@app.command("nvbandwidth")
@takes_machine_options
def nvbandwidth(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Output of nvbandwidth 0.2 to 0.10, text or JSON (`-j`).")
    ],
    output: Output,
    given: "Given",
    size: Annotated[
        int | None,
        size_option("--size", "Buffer size (`nvbandwidth -b`), e.g. 512M."),
    ] = None,
    last: Annotated[
        str | None,
        typer.Option(
            "--last", metavar="TEST", help="Last test that ran: for a text without a closing note to show its end."
        ),
    ] = None,
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
    from pcielab.formats.importers import import_nvbandwidth

    import_nvbandwidth(file, output, given=given, size_bytes=size, last_test=last, overwrite=overwrite)
    _report(output)


@app.command("perftest")
@takes_machine_options
def perftest(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Report that the client printed, or its file of `--out_json`.",
        ),
    ],
    output: Output,
    given: "Given",
    overwrite: OverwriteOption = False,
) -> None:
    """Import the bandwidths or latencies that ib_write_bw, ib_read_bw, ib_send_bw or ib_*_lat measured over RDMA.

    The path includes the network and the other host. The file does not give the link, MPS or the NUMA node. They
    stay unknown, unless an option or a machine that `pcielab doctor --save` wrote gives them.

    Examples:
    `pcielab import perftest write.txt -o nic.db`

    `pcielab import perftest perftest_out.json --doctor machine.json --address 0000:17:00.0 -o nic.db`
    """
    from pcielab.formats.importers import import_perftest

    import_perftest(file, output, given=given, overwrite=overwrite)
    _report(output)


@app.command("fio")
@takes_machine_options
def fio(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="JSON of fio 3: `fio --output-format=json --output=FILE`.")
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
    from pcielab.formats.importers import import_fio

    import_fio(file, output, given=given, overwrite=overwrite)
    _report(output)


def _report(output: Path) -> None:
    from pcielab.store import open_store

    say(f"{len(open_store(output).tests)} tests imported: {output}")
