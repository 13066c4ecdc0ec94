"""`pcielab run`: a suite, or one test, on a device, into a store."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from pcielab.cli.completion import choice, profile_names, suite_names
from pcielab.cli.outcome import print_single, tell
from pcielab.cli.output import Format
from pcielab.errors import InputError
from pcielab.suites import benchmark

if TYPE_CHECKING:
    from pcielab.suites import Suite


class Samples(StrEnum):
    """How many of the published transactions are simulated."""

    FULL = "full"
    ADAPTIVE = "adaptive"


class Engine(StrEnum):
    """What simulates bandwidth tests; both give the same numbers."""

    FAST = "fast"
    REFERENCE = "reference"


def _chosen_suite(suite: str | None, test: str | None, options: dict[str, object]) -> "Suite":
    from pcielab.suites import load_suite, single_test

    if test is None:
        given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
        if given:
            raise InputError(f"{', '.join(given)}: describes a single test: give --test as well")
        return load_suite(suite or "quick")
    if suite is not None:
        raise InputError("--suite and --test: give one of them: a suite has its own tests")
    chosen = {name: value for name, value in options.items() if value is not None}
    return single_test(test, **chosen)  # type: ignore[arg-type]


def _run_messages(
    suite: str,
    profile: str,
    sets: list[str],
    output: Path,
    seed: int,
    resume: bool,
    overwrite: bool,
    single: dict[str, object],
) -> None:
    from pcielab.cli.progress import Bar
    from pcielab.model import load_message_profile
    from pcielab.simulation import simulate_messages
    from pcielab.suites import load_message_suite

    given = [f"--{name.replace('_', '-')}" for name, value in single.items() if value is not None]
    if given:
        raise InputError(f"{', '.join(given)}: describes a single test: leave it out with --suite {suite}")
    if resume:
        raise InputError(f"--resume: suite {suite} takes seconds and is not gone on with: give --overwrite")
    chosen = load_message_suite(suite)
    machine = load_message_profile(profile)
    with Bar() as bar:
        simulate_messages(machine, chosen, output, sets=sets, seed=seed, overwrite=overwrite, progress=bar.update)
    tell(output, machine.name)


def run(
    output: Annotated[Path, typer.Option("-o", "--output", help="Store to write (RUN.db).")],
    device: Annotated[str, typer.Option("--device", help="Back end: sim, the simulator.")] = "sim",
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME|FILE",
            autocompletion=profile_names("system", "messages"),
            help="System: a shipped one or a file [default: hsw2620]; for a suite of messages, a profile of core "
            "and device [default: kpio-2012].",
            show_default=False,
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change one value of the profile; repeatable."),
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
    test: Annotated[str | None, choice("--test", get_args(benchmark.Operation), "One test")] = None,
    path: Annotated[
        str | None, choice("--path", get_args(benchmark.Path), "With --test: path through the card")
    ] = None,
    size: Annotated[str | None, typer.Option("--size", help="With --test: transfer size, such as 64.")] = None,
    window: Annotated[str | None, typer.Option("--window", help="With --test: window, such as 8K or 64M.")] = None,
    cache: Annotated[
        str | None, choice("--cache", get_args(benchmark.Cache), "With --test: caches before it")
    ] = None,
    pattern: Annotated[
        str | None, choice("--pattern", get_args(benchmark.Pattern), "With --test: order of the accesses")
    ] = None,
    host_offset: Annotated[int | None, typer.Option("--host-offset", help="With --test: bytes.")] = None,
    device_offset: Annotated[int | None, typer.Option("--device-offset", help="With --test: bytes.")] = None,
    stride: Annotated[int | None, typer.Option("--stride", help="With --test: units, for strided.")] = None,
    outstanding: Annotated[int | None, typer.Option("--outstanding", help="With --test: most in flight.")] = None,
    transactions: Annotated[int | None, typer.Option("--transactions", help="With --test: how many.")] = None,
    samples: Annotated[
        Samples, typer.Option("--samples", help="All transactions, or enough of them.")
    ] = Samples.ADAPTIVE,
    engine: Annotated[Engine, typer.Option("--engine", help="What simulates: reference is slower.")] = Engine.FAST,
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

    Everything is simulated: results say so wherever they are shown. On two cores the suite quick takes a second,
    demo and kpio a few, paper ten to twenty (with --samples full, seven minutes).

    A single test prints what was asked, what binds it, and what would help.

    For example:

        pcielab run -o quick.db

        pcielab run --profile snb --suite paper -o snb.db

        pcielab run --test bw-rd --size 64 --window 64M --profile ib-000-nosp -o one.db

        pcielab run --set host.iommu.walk_ns=500 --profile ib-000-nosp --suite demo -o what-if.db

        pcielab run --suite kpio -o messages.db
    """
    from pcielab.cli.progress import Bar
    from pcielab.profiles import resolve
    from pcielab.simulation import simulate
    from pcielab.store import open_store
    from pcielab.suites import is_message_suite

    if device != "sim":
        raise InputError(f"--device {device}: unknown: give sim")
    single: dict[str, object] = {
        "path": path,
        "size": size,
        "window": window,
        "cache": cache,
        "pattern": pattern,
        "host_offset": host_offset,
        "device_offset": device_offset,
        "stride": stride,
        "outstanding": outstanding,
        "transactions": transactions,
    }
    if suite is not None and test is None and is_message_suite(suite):
        _run_messages(suite, profile or "kpio-2012", sets or [], output, seed, resume, overwrite, single)
        return
    chosen = _chosen_suite(suite, test, single)
    system = resolve(profile or "hsw2620", sets or ())
    if repeat_damaged:
        _drop_damaged(output, resume=resume)
    with Bar() as bar:
        simulate(
            system,
            chosen,
            output,
            samples=samples.value,
            engine=engine.value,
            seed=seed,
            jobs=jobs,
            resume=resume,
            overwrite=overwrite,
            progress=bar.update,
        )
    if test is not None:
        print_single(open_store(output), system.title, output_format)
    tell(output, system.system.name)


def _drop_damaged(output: Path, *, resume: bool) -> None:
    from pcielab.store import drop_damaged_tests

    if not resume:
        raise InputError("--repeat-damaged: only a store that is gone on with is repaired: give --resume as well")
    if output.exists():
        for damaged in drop_damaged_tests(output):
            typer.echo(f"{output}: {damaged} was damaged and is done again", err=True)
