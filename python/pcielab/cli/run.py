"""`pcielab run`: a suite, or one test, on a device, into a store."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from pcielab.cli.completion import choice, device_kinds, profile_names, set_option, suite_names
from pcielab.cli.option_groups import GROUP, refuse_without_effect
from pcielab.cli.option_sets import takes_line_options, takes_run_options, takes_test_options
from pcielab.cli.outcome import report_outcome
from pcielab.cli.output import Format, say
from pcielab.cli.progress import carry_out
from pcielab.cli.run_work import MEMORY_TEST, asked, refuse_unkept
from pcielab.library.suites import benchmark
from pcielab.model.link import Ethernet

if TYPE_CHECKING:
    from pcielab.devices import Carrier
    from pcielab.work.options import RunOptions

_LINE_GBPS = Ethernet.line_gbps
"""One default for every question about a NIC."""

Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        help="Store to write (RUN.db); --test and --nic also print without one.",
        show_default=False,
    ),
]
Device = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="KIND[:ADDRESS]",
        autocompletion=device_kinds,
        help="Device that carries out the tests: sim, the simulator; cpu, a core of this machine; cuda, an "
        "NVIDIA GPU; nvme:ADDRESS, a drive; e1000e:ADDRESS, a NIC; pio:ADDRESS, stores into a BAR; "
        "rtl, the FPGA core in RTL simulation. `devices list` shows which work here.",
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME|FILE",
        autocompletion=profile_names("system", "messages", "expander"),
        help="System: a shipped name or a file [default: hsw2620]. For a suite of messages, a message profile "
        "[default: kpio-2012]; for --test mem-rd, a CXL memory expander [default: cxl2-ddr5-5600]. For devices "
        "other than sim, a file with the device's options.",
        show_default=False,
    ),
]
Sets = Annotated[
    list[str] | None,
    set_option(
        "Change one value of the profile, the NIC (nic.KEY), the messages (messages.KEY), the expander "
        "(expander.KEY) or the options of the device",
        "nic",
        "messages",
        "expander",
        system=True,
    ),
]
SuiteOption = Annotated[
    str | None,
    typer.Option(
        "--suite",
        metavar="NAME|FILE",
        autocompletion=suite_names("transfers", "messages"),
        help="Suite: a shipped name or a file [default: quick].",
    ),
]
Families = Annotated[
    list[str] | None,
    typer.Option(
        "--family", help="With --suite: run only this family of tests; accepts patterns like bw_*; repeatable."
    ),
]
Nic = Annotated[
    str | None,
    typer.Option(
        "--nic",
        metavar="NAME|FILE",
        autocompletion=profile_names("nic"),
        help="Simulate this NIC instead of the system's device, with frames of the sizes in --frames.",
    ),
]
FrameSizes = Annotated[
    str | None,
    typer.Option(
        "--frames",
        metavar="LIST|RANGE",
        help="With --nic: Ethernet frame sizes in bytes, FCS included; first:last steps by 64 [default: 64:1500].",
        show_default=False,
    ),
]
Line = Annotated[
    float | None,
    typer.Option("--line", help=f"With --nic: line rate in Gb/s [default: {_LINE_GBPS:g}].", show_default=False),
]
Direction = Annotated[
    str | None,
    choice(
        "--direction",
        ("both", "tx", "rx"),
        "With --nic: send, receive, or both (send the received packets) [default: what the NIC has]",
    ),
]
Nics = Annotated[
    int | None,
    typer.Option(
        "--nics",
        min=1,
        max=16,
        help="With --nic: NICs of this kind below one root complex [default: 1].",
        show_default=False,
    ),
]
TestOption = Annotated[
    str | None,
    choice(
        "--test", (*get_args(benchmark.Operation), MEMORY_TEST), "One test; mem-rd: reads of a CXL memory expander"
    ),
]
RowFormat = Annotated[Format, typer.Option("--format", help="Format of a single test's row.")]


@takes_line_options
@takes_test_options
@takes_run_options()
def run(
    context: typer.Context,
    output: Output = None,
    device: Device = "sim",
    profile: Profile = None,
    sets: Sets = None,
    suite: SuiteOption = None,
    families: Families = None,
    nic: Nic = None,
    frames: FrameSizes = None,
    line: Line = None,
    direction: Direction = None,
    nics: Nics = None,
    test: TestOption = None,
    of_lines: dict[str, object] = GROUP,
    single: dict[str, object] = GROUP,
    options: "RunOptions" = GROUP,
    output_format: RowFormat = Format.TABLE,
) -> None:
    """Run a suite or one test and keep the results in a store.

    Without --device, results are simulated; every table and picture says whether its numbers were simulated or
    measured. On two cores, simulating `quick` takes a second, and `demo` or `kpio` a few seconds. `paper` takes
    ten to twenty seconds, or seven minutes with --samples full.

    A single test prints its parameters, the bound that limits it, and advice.

    For example:

        pcielab run -o quick.db

        pcielab run --profile snb --suite paper -o snb.db

        pcielab run --test bw-rd --size 64 --window 64M --profile ib-000-nosp

        pcielab run --set host.iommu.walk_ns=500 --profile ib-000-nosp --suite demo -o what-if.db

        pcielab run --suite kpio -o messages.db

        pcielab run --test mem-rd --profile cxl2-ddr5-5600 --reads 67% -o cxl.db

        pcielab run --device cpu --suite cpu -o cpu.db

        pcielab run --nic niantic-dpdk --profile ib-000-nosp --frames 64:1500 -o nic.db

        pcielab run --nic connectx-6-kernel --nics 2 --profile icx-6346 --line 100 --frames 1500 --direction rx

        pcielab run --device cuda:0 --suite cuda-quick -o gpu.db
    """
    given = {"suite": suite, "family": families, "test": test, "nic": nic, "frames": frames, "line": line}
    way, work = asked({**given, "direction": direction, "nics": nics, **of_lines, **single})
    if way.show is None:
        refuse_without_effect(context, ["output_format"], "a suite prints no rows: export its store instead")
    if output is None:
        refuse_unkept(way, options)
    carrier, store = carry_out(work, device, output, options, profile, sets or (), _announcing(profile, nic, line))
    if way.show is not None:
        way.show(store, carrier, output_format)
    report_outcome(store, carrier.name)


def _announcing(profile: str | None, nic: str | None, line: float | None) -> "Callable[[Carrier], None]":
    """Names the defaults of what was not given, first of all; then values outside the measured range."""

    def announce(carrier: "Carrier") -> None:
        assumes = "system" in carrier.described or "expander" in carrier.described
        assumed = [f"--profile {carrier.name}"] if profile is None and assumes else []
        assumed += [f"--line {_LINE_GBPS:g}"] if nic is not None and line is None else []
        if assumed:
            say(f"assumed: {', '.join(assumed)}")
        if "extrapolated" in carrier.described:
            say(f"extrapolated: {carrier.described['extrapolated']}")

    return announce
