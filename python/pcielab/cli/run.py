"""`pcielab run`: a suite, or one test, on a device, into a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from pcielab.cli.carrying_out import carry_out
from pcielab.cli.completion import choice, profile_names, suite_names
from pcielab.cli.outcome import tell
from pcielab.cli.output import Format
from pcielab.cli.run_options import takes_run_options
from pcielab.cli.run_work import asked
from pcielab.cli.single_options import takes_test_options
from pcielab.library.suites import benchmark

if TYPE_CHECKING:
    from pcielab.work.options import RunOptions

Output = Annotated[Path, typer.Option("-o", "--output", help="Store to write (RUN.db).")]
Device = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="KIND[:ADDRESS]",
        help="What carries the tests out: sim, the simulator; cpu, a core of this machine; "
        "cuda, an NVIDIA GPU; "
        "nvme:ADDRESS, a drive; e1000e:ADDRESS, a NIC; pio:ADDRESS, stores into a BAR; "
        "rtl, the FPGA core in simulation, on the host of a system; see devices list.",
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME|FILE",
        autocompletion=profile_names("system", "messages"),
        help="System: a shipped one or a file [default: hsw2620]; for a suite of messages, a profile of core "
        "and device [default: kpio-2012]; with another device than sim, a file of its options.",
        show_default=False,
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change one value of the profile, or, as host.KEY or device.KEY, of a device; repeatable.",
    ),
]
SuiteOption = Annotated[
    str | None,
    typer.Option(
        "--suite",
        metavar="NAME|FILE",
        autocompletion=suite_names("transfers", "messages"),
        help="Suite: a shipped one or a file [default: quick].",
    ),
]
Families = Annotated[
    list[str] | None,
    typer.Option(
        "--family", help="With --suite: only its tests of this family; bw_* stands for several; repeatable."
    ),
]
Nic = Annotated[
    str | None,
    typer.Option(
        "--nic",
        metavar="NAME|FILE",
        autocompletion=profile_names("nic"),
        help="A NIC in place of the system's card, with frames of the sizes of --frames.",
    ),
]
FrameSizes = Annotated[
    str | None,
    typer.Option(
        "--frames",
        metavar="LIST|RANGE",
        help="With --nic: bytes of Ethernet frames, FCS included; first:last goes in steps of 64 "
        "[default: 64:1500].",
        show_default=False,
    ),
]
Line = Annotated[
    float | None,
    typer.Option("--line", help="With --nic: line rate in Gb/s [default: 40].", show_default=False),
]
Direction = Annotated[
    str | None, choice("--direction", ("both", "tx", "rx"), "With --nic: both sends on what it receives")
]
TestOption = Annotated[str | None, choice("--test", get_args(benchmark.Operation), "One test")]
RowFormat = Annotated[Format, typer.Option("--format", help="How the row of a single test is printed.")]
_GROUP: Any = None
"""What stands in the signature for options that a decorator puts there."""


@takes_test_options
@takes_run_options()
def run(
    output: Output,
    device: Device = "sim",
    profile: Profile = None,
    sets: Sets = None,
    suite: SuiteOption = None,
    families: Families = None,
    nic: Nic = None,
    frames: FrameSizes = None,
    line: Line = None,
    direction: Direction = None,
    test: TestOption = None,
    single: dict[str, object] = _GROUP,
    options: "RunOptions" = _GROUP,
    output_format: RowFormat = Format.TABLE,
) -> None:
    """Run a suite, or one test, and keep the results in a store.

    Results say wherever they are shown whether they were simulated or measured: without --device they are
    simulated. On two cores the suite quick then takes a second, demo and kpio a few, paper ten to twenty (with
    --samples full, seven minutes).

    A single test prints what was asked, what binds it, and what would help.

    For example:

        pcielab run -o quick.db

        pcielab run --profile snb --suite paper -o snb.db

        pcielab run --test bw-rd --size 64 --window 64M --profile ib-000-nosp -o one.db

        pcielab run --set host.iommu.walk_ns=500 --profile ib-000-nosp --suite demo -o what-if.db

        pcielab run --suite kpio -o messages.db

        pcielab run --device cpu --suite cpu -o cpu.db

        pcielab run --nic niantic-dpdk --profile ib-000-nosp --frames 64:1500 -o nic.db

        pcielab run --device cuda:0 --suite cuda-quick -o gpu.db
    """
    given = {"suite": suite, "family": families, "test": test, "nic": nic, "frames": frames, "line": line}
    way, work = asked({**given, "direction": direction, **single})
    carrier, store = carry_out(work, device, output, options, profile, sets or ())
    way.show(store, carrier, output_format)
    tell(store, carrier.name)
