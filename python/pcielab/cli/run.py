"""`pcielab run`: a suite, or one test, on a device, into a store."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from pcielab.cli.completion import choice, profile_names, suite_names
from pcielab.cli.outcome import print_single, tell
from pcielab.cli.output import Format
from pcielab.cli.single_options import takes_test_options
from pcielab.errors import InputError
from pcielab.library.suites import benchmark

if TYPE_CHECKING:
    from pcielab.library.suites import Suite


class Samples(StrEnum):
    """How many of the published transactions are simulated."""

    FULL = "full"
    ADAPTIVE = "adaptive"


class Engine(StrEnum):
    """What simulates bandwidth tests; both give the same numbers."""

    FAST = "fast"
    REFERENCE = "reference"


_NOTHING: dict[str, object] = {}
"""What stands in the signature for the options of a single test, which the decorator puts there."""


def _chosen_suite(suite: str | None, test: str | None, options: dict[str, object]) -> "Suite":
    from pcielab.library.suites import load_suite, single_test

    if test is None:
        _refuse(options, "describes a single test: give --test as well")
        return load_suite(suite or "quick")
    if suite is not None:
        raise InputError("--suite and --test: give one of them: a suite has its own tests")
    chosen = {name: value for name, value in options.items() if value is not None}
    return single_test(test, **chosen)


def _refuse(options: dict[str, object], why: str) -> None:
    """Refuse options that were given and mean nothing here.

    Raises:
        InputError: One was.
    """
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
    if given:
        raise InputError(f"{', '.join(given)}: {why}")


def _run_messages(
    suite: str,
    profile: str,
    sets: list[str],
    output: Path,
    single: dict[str, object],
    **options: Any,
) -> None:
    from pcielab.cli.progress import Bar
    from pcielab.library.suites import load_message_suite
    from pcielab.model import load_message_profile
    from pcielab.run.simulation import simulate_messages

    _refuse(single, f"describes a single test: leave it out with --suite {suite}")
    chosen = load_message_suite(suite)
    machine = load_message_profile(profile)
    with Bar() as bar:
        simulate_messages(machine, chosen, output, sets=sets, progress=bar.update, **options)
    tell(output, machine.name)


def _run_stores(
    device: str,
    profile: str | None,
    sets: list[str],
    suite: str,
    output: Path,
    single: dict[str, object],
    **options: Any,
) -> None:
    """Run a suite of messages on the BAR of a device that exists."""
    from pcielab.cli.progress import Bar
    from pcielab.devices.real import run_stores
    from pcielab.devices.registry import kind_and_options
    from pcielab.library.profiles.read import parse_sets
    from pcielab.library.suites import load_message_suite

    _refuse(single, f"describes a single test: leave it out with --suite {suite}")
    chosen = load_message_suite(suite)
    _, _, asked = kind_and_options(device, _options_file(device, profile), parse_sets(sets))
    with Bar() as bar:
        run_stores(device, asked, chosen, output, progress=bar.update, **options)
    tell(output, device)


def _options_file(device: str, profile: str | None) -> dict[str, Any]:
    """The options of a device in a file, if one is given."""
    from pcielab.library.input_files import given_path, read_toml

    if profile is not None and not profile.endswith(".toml"):
        raise InputError(
            f"--profile {profile}: names a system for --device sim: give {device} a file of its options (*.toml), "
            "or --set device.KEY=VALUE and --set host.KEY=VALUE"
        )
    return read_toml(given_path(profile)) if profile is not None else {}


def _run_device(
    device: str,
    profile: str | None,
    sets: list[str],
    chosen: "Suite",
    output: Path,
    engine: Engine | None,
    **options: Any,
) -> str:
    """Run a suite on what is no simulator of ours; what it ran on, in words."""
    from pcielab.cli.progress import Bar
    from pcielab.devices import open_kind
    from pcielab.devices import run as run_on
    from pcielab.library.profiles.read import parse_sets

    if engine is not None:
        raise InputError(f"--engine {engine.value}: is for --device sim: {device} simulates nothing")
    backend = open_kind(device, _options_file(device, profile), parse_sets(sets))
    with Bar() as bar:
        run_on(backend, chosen, output, title=f"{device}, suite {chosen.name}", progress=bar.update, **options)
    return device


@takes_test_options
def run(
    output: Annotated[Path, typer.Option("-o", "--output", help="Store to write (RUN.db).")],
    device: Annotated[
        str,
        typer.Option(
            "--device",
            metavar="KIND[:ADDRESS]",
            help="What carries the tests out: sim, the simulator; cpu, a core of this machine; "
            "cuda, an NVIDIA GPU; "
            "nvme:ADDRESS, a drive; e1000e:ADDRESS, a NIC; pio:ADDRESS, stores into a BAR; "
            "rtl, the FPGA core in simulation, on the host of a system; see devices list.",
        ),
    ] = "sim",
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME|FILE",
            autocompletion=profile_names("system", "messages"),
            help="System: a shipped one or a file [default: hsw2620]; for a suite of messages, a profile of core "
            "and device [default: kpio-2012]; with another device than sim, a file of its options.",
            show_default=False,
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change one value of the profile, or, as host.KEY or device.KEY, of a device; repeatable.",
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            "--suite",
            metavar="NAME|FILE",
            autocompletion=suite_names("transfers", "messages"),
            help="Suite: a shipped one or a file [default: quick].",
        ),
    ] = None,
    families: Annotated[
        list[str] | None,
        typer.Option(
            "--family", help="With --suite: only its tests of this family; bw_* stands for several; repeatable."
        ),
    ] = None,
    nic: Annotated[
        str | None,
        typer.Option(
            "--nic",
            metavar="NAME|FILE",
            autocompletion=profile_names("nic"),
            help="A NIC in place of the system's card, with frames of the sizes of --frames.",
        ),
    ] = None,
    frames: Annotated[
        str | None,
        typer.Option(
            "--frames",
            metavar="LIST|RANGE",
            help="With --nic: bytes of Ethernet frames, FCS included; first:last goes in steps of 64 "
            "[default: 64:1500].",
            show_default=False,
        ),
    ] = None,
    line: Annotated[
        float | None,
        typer.Option("--line", help="With --nic: line rate in Gb/s [default: 40].", show_default=False),
    ] = None,
    direction: Annotated[
        str | None, choice("--direction", ("both", "tx", "rx"), "With --nic: both sends on what it receives")
    ] = None,
    test: Annotated[str | None, choice("--test", get_args(benchmark.Operation), "One test")] = None,
    single: dict[str, object] = _NOTHING,
    samples: Annotated[
        Samples, typer.Option("--samples", help="All transactions, or enough of them.")
    ] = Samples.ADAPTIVE,
    engine: Annotated[
        Engine | None, typer.Option("--engine", help="What simulates: reference is slower [default: fast].")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", help="Tests side by side; 0: one per core.")] = 0,
    seed: Annotated[int, typer.Option("--seed", help="Names the run.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a store that is there.")] = False,
    repeat_damaged: Annotated[
        bool, typer.Option("--repeat-damaged", help="With --resume: do tests again whose numbers are damaged.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a store that is there.")] = False,
    output_format: Annotated[Format, typer.Option("--format", help="How the row of a single test is printed.")] = (
        Format.TABLE
    ),
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
    from pcielab.cli.stores import tell_damaged
    from pcielab.library.catalog import suite_kind
    from pcielab.store import open_store

    kept = {"seed": seed, "resume": resume, "repeat_damaged": repeat_damaged, "overwrite": overwrite}
    if repeat_damaged:
        tell_damaged(output)
    of_nic: dict[str, object] = {"frames": frames, "line": line, "direction": direction}
    if nic is not None:
        others = {"suite": suite, "family": families, "test": test, "engine": engine, **single}
        _refuse(others, "is not for --nic, whose tests are --frames")
        if device != "sim":
            raise InputError(f"--nic {nic}: is simulated: leave --device {device} away")
        from pcielab.cli.run_nic import run_nic

        run_nic(
            nic,
            profile or "hsw2620",
            sets or [],
            output,
            frames=frames or "64:1500",
            line=line or 40.0,
            direction=direction or "both",
            output_format=output_format,
            jobs=jobs,
            **kept,
        )
        tell(output, profile or "hsw2620")
        return
    _refuse(of_nic, "describes the frames of a NIC: give --nic as well")
    kind = suite_kind(suite) if suite is not None and test is None else "transfers"
    if kind == "fabric":
        raise InputError(f"--suite {suite}: is a suite of a fabric: give it to `pcielab fabric run`")
    if suite is not None and kind == "messages":
        if device.partition(":")[0] == "pio":
            _run_stores(device, profile, sets or [], suite, output, single, **kept)
            return
        if device != "sim":
            raise InputError(
                f"--suite {suite}: is a suite of messages, which --device {device} cannot take: give sim, or "
                "pio:ADDRESS"
            )
        _run_messages(suite, profile or "kpio-2012", sets or [], output, single, **kept)
        return
    chosen = _chosen_suite(suite, test, single)
    if families:
        _refuse({"test": test}, "is one test of no family: leave --family away")
        chosen = chosen.only(families)
    common = {"samples": samples.value, "jobs": jobs, **kept}
    if device == "rtl":
        title = name = _run_rtl(profile or "hsw2620", sets or [], chosen, output, engine, **common)
    elif device == "sim":
        title, name = _simulate(profile or "hsw2620", sets or [], chosen, output, engine or Engine.FAST, **common)
    else:
        title = name = _run_device(device, profile, sets or [], chosen, output, engine, **common)
    if test is not None:
        print_single(open_store(output), title, output_format)
    tell(output, name)


def _run_rtl(
    profile: str, sets: list[str], chosen: "Suite", output: Path, engine: Engine | None, **options: Any
) -> str:
    """Run a suite on the FPGA core, plugged into the host of a simulated system; what it ran on, in words."""
    from pcielab.cli.progress import Bar
    from pcielab.devices.rtl import run_rtl

    if engine is not None:
        raise InputError(f"--engine {engine.value}: is for --device sim: the core's RTL is what simulates")
    with Bar() as bar:
        system = run_rtl(profile, chosen, output, sets=sets, progress=bar.update, **options)
    return f"the FPGA core on {system.system.name}"


def _simulate(
    profile: str, sets: list[str], chosen: "Suite", output: Path, engine: Engine, **options: Any
) -> tuple[str, str]:
    """Run a suite on a simulated system; its title and its name."""
    from pcielab.cli.progress import Bar
    from pcielab.library.profiles import resolve
    from pcielab.run.simulation import simulate

    system = resolve(profile, sets)
    with Bar() as bar:
        simulate(system, chosen, output, engine=engine.value, progress=bar.update, **options)
    return system.title, system.system.name
