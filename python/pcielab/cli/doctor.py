"""`pcielab doctor`: whether this machine's PCIe is what it should be."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from pcielab.cli.output import Cell, Format, print_rows
from pcielab.errors import InputError

if TYPE_CHECKING:
    from pcielab.doctor import Examination, Tree
    from pcielab.doctor.finding import Finding

messages = Console(stderr=True)


def doctor(
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN",
            help="A store with a sys-lspci.txt in it, or a file that --save wrote. Without it, this machine.",
            show_default=False,
        ),
    ] = None,
    lspci: Annotated[
        Path | None, typer.Option("--lspci", metavar="FILE", help="Read the text of `sudo lspci -vvv` instead.")
    ] = None,
    sysfs: Annotated[
        Path | None, typer.Option("--sysfs", metavar="DIR", help="Read a copy of /sys instead of this machine's.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Write what was read to a file, to be looked at elsewhere."),
    ] = None,
    tree: Annotated[
        bool, typer.Option("--tree", help="Show the tree, with what each link carries, before the findings.")
    ] = False,
    watch: Annotated[
        float | None,
        typer.Option(
            "--watch", metavar="SECONDS", min=0.1, max=86_400, help="Read twice, and find what changes in between."
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 where a finding is serious.")] = False,
    output_format: Annotated[Format, typer.Option("--format", help="How findings are printed.")] = Format.TABLE,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file of --save if it exists.")
    ] = False,
) -> None:
    """Read a machine's PCIe tree and say what is wrong with it, worst first, and what that costs by the model.

    Nothing is written to any device. As root it sees everything; other users are told what they do not see.

    Examples:
    `pcielab doctor`

    `sudo pcielab doctor --tree --watch 30`

    `pcielab doctor --lspci lspci.txt --format json`

    `sudo pcielab doctor --save machine.json`, and elsewhere `pcielab doctor machine.json`

    `pcielab doctor measured.db --strict`
    """
    # Imported here because the other commands need not wait for it.
    from pcielab import __version__
    from pcielab.doctor import examine
    from pcielab.doctor.saved import saved
    from pcielab.doctor.watch import changes
    from pcielab.outputs import refuse_existing, write_file

    if save is not None:
        refuse_existing(save, overwrite=overwrite)
    machine = _read(run, lspci, sysfs)
    more: list[Finding] = []
    if watch is not None:
        if run is not None or lspci is not None or sysfs is not None:
            raise InputError("--watch: reads this machine twice: leave out RUN, --lspci and --sysfs")
        messages.print(f"reading again in {watch:g} s", highlight=False)
        time.sleep(watch)
        before, machine = machine, _read(run, lspci, sysfs)
        more = changes(before, machine, watch)
    if save is not None:
        write_file(save, saved(machine, __version__), overwrite=overwrite)
    examination = examine(machine, more)
    _print(examination, machine, output_format, with_tree=tree)
    if strict and examination.is_serious:
        raise typer.Exit(1)


def _read(run: Path | None, lspci: Path | None, sysfs: Path | None) -> "Tree":
    from pcielab.doctor import read_lspci, read_sysfs
    from pcielab.doctor.saved import read_saved

    if sum(source is not None for source in (run, lspci, sysfs)) > 1:
        raise InputError("RUN, --lspci, --sysfs: each is a machine of its own: give one of them")
    if lspci is not None:
        return read_lspci(_text(lspci), str(lspci))
    if sysfs is not None:
        return read_sysfs(sysfs)
    if run is None:
        return read_sysfs()
    if _is_store(run):
        from pcielab.doctor.stores import tree_of_store
        from pcielab.store import open_store

        return tree_of_store(open_store(run))
    return read_saved(run)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read: {error.strerror}: give the output of `sudo lspci -vvv`"
        ) from error


def _is_store(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read: {error.strerror}: give a store, or a file that `pcielab doctor --save` wrote"
        ) from error


def _print(examination: "Examination", tree: "Tree", output_format: Format, *, with_tree: bool) -> None:
    from pcielab.doctor.branches import branches
    from pcielab.doctor.text import describe, draw

    if output_format is Format.JSON:
        shown = examination.model_copy(update={"tree": tuple(branches(tree))}) if with_tree else examination
        typer.echo(shown.model_dump_json(indent=1))
        return
    for line in examination.unseen:
        messages.print(escape(f"not seen: {line}"), highlight=False, soft_wrap=True)
    if output_format is Format.CSV:
        print_rows([_row(finding) for finding in examination.findings], output_format)
        return
    console = Console(highlight=False)
    if with_tree:
        console.print(draw(tree), markup=False, soft_wrap=True)
    console.print(describe(examination, tree, console.width), markup=False, soft_wrap=True)


def _row(finding: "Finding") -> dict[str, Cell]:
    first = finding.losses[0] if finding.losses else None
    return {
        "severity": finding.severity.value,
        "sureness": finding.sureness.value,
        "rule": finding.rule,
        "cause": finding.cause,
        "device": finding.device,
        "port": finding.port,
        "what": finding.what,
        "operation": first.operation if first else None,
        "size_bytes": first.size_bytes if first else None,
        "now_gbps": first.now_gbps if first else None,
        "could_gbps": first.could_gbps if first else None,
        "added_latency_ns": finding.added_latency_ns,
        "remedy": finding.remedy,
    }
