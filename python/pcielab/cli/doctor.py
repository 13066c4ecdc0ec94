"""`pcielab doctor`: find PCIe settings that cost bandwidth or latency."""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcielab.cli.output import Cell, Format, OverwriteOption, print_data, print_rows, print_text, say

if TYPE_CHECKING:
    from pcielab.doctor import Examination, Finding, Tree

_STANDARD_INPUT = Path("-")


def doctor(
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN",
            help="A store that holds sys-lspci.txt, or a file that --save wrote. Without it, this machine.",
            show_default=False,
        ),
    ] = None,
    lspci: Annotated[
        Path | None,
        typer.Option(
            "--lspci",
            metavar="FILE",
            help="Read the output of `sudo lspci -vvv` instead, or a kernel's log or topology; - is standard "
            "input.",
        ),
    ] = None,
    sysfs: Annotated[
        Path | None, typer.Option("--sysfs", metavar="DIR", help="Read a copy of /sys instead of this machine's.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Write the tree to a file, to examine it on another machine."),
    ] = None,
    tree: Annotated[
        bool,
        typer.Option(
            "--tree",
            help="Print the tree, with the capacity of each link and the severities, before the findings.",
        ),
    ] = False,
    watch: Annotated[
        float | None,
        typer.Option(
            "--watch", metavar="SECONDS", min=0.1, max=86_400, help="Read twice and report changes in between."
        ),
    ] = None,
    symptom: Annotated[
        str | None,
        typer.Option(
            "--symptom",
            metavar="TEXT",
            help="What you noticed: errors, slow, latency, p2p, hang, missing, or a value such as 3.2 GB/s. "
            "Findings "
            "that explain it come first.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with 1 if a finding is an error, or if registers could not be read."),
    ] = False,
    output_format: Annotated[
        Format, typer.Option("--format", help="Output format of the findings.")
    ] = Format.TABLE,
    overwrite: OverwriteOption = False,
) -> None:
    """Find PCIe settings that cost a machine bandwidth or latency, worst first, with the modelled cost and a fix.

    The doctor is read-only. As root it sees every register; for other users it lists the hidden registers.

    Examples:
    `pcielab doctor`

    `sudo pcielab doctor --tree --watch 30`

    `pcielab doctor --lspci lspci.txt --format json`

    `ssh server sudo lspci -vvv | pcielab doctor --lspci -`

    `pcielab doctor --lspci lspci.txt --symptom "RX slow"`

    `sudo pcielab doctor --save machine.json`; then, on another machine, `pcielab doctor machine.json`

    `pcielab doctor measured.db --strict`
    """
    from pcielab.doctor import examine
    from pcielab.outputs import check_file

    _refuse_two_machines(run, lspci, sysfs, watch)
    if save is not None:
        check_file(save, overwrite=overwrite)
    machine = _read(run, lspci, sysfs)
    more: list[Finding] = []
    if watch is not None:
        machine, more = _watched(machine, watch)
    if save is not None:
        _save(machine, save, overwrite=overwrite)
    examination = examine(machine, more, symptom)
    _print(examination, machine, output_format, with_tree=tree, in_order=symptom is not None)
    if strict and (examination.has_errors or not examination.is_complete):
        raise typer.Exit(1)


def _refuse_two_machines(run: Path | None, lspci: Path | None, sysfs: Path | None, watch: float | None) -> None:
    from pcielab.errors import refusal

    given = sum(source is not None for source in (run, lspci, sysfs))
    if given > 1:
        raise refusal("conflict", "RUN, --lspci and --sysfs name different machines: give one of them")
    if given and watch is not None:
        raise refusal("conflict", "--watch reads this machine twice: leave out RUN, --lspci and --sysfs")


def _read(run: Path | None, lspci: Path | None, sysfs: Path | None) -> "Tree":
    from pcielab.doctor import read_file, read_lspci_file, read_lspci_stream, read_sysfs

    if lspci == _STANDARD_INPUT:
        return read_lspci_stream(sys.stdin.buffer, "standard input")
    if lspci is not None:
        return read_lspci_file(lspci)
    return read_sysfs(sysfs) if run is None else read_file(run)


def _watched(before: "Tree", seconds: float) -> tuple["Tree", "list[Finding]"]:
    import time

    from pcielab.cli.progress import Bar
    from pcielab.doctor import changes, read_sysfs

    end = time.monotonic() + seconds
    say(f"reading again in {seconds:g} s")
    with Bar() as bar:
        while (left := end - time.monotonic()) > 0:
            bar.update(int(seconds - left), int(seconds), "watching")
            time.sleep(min(left, 1.0))
    after = read_sysfs()
    return after, changes(before, after, seconds)


def _save(machine: "Tree", path: Path, *, overwrite: bool) -> None:
    from pcielab import __version__
    from pcielab.doctor import saved
    from pcielab.outputs import write_file

    write_file(path, saved(machine, __version__), overwrite=overwrite)
    say(f"wrote {path}")


def _print(
    examination: "Examination", tree: "Tree", output_format: Format, *, with_tree: bool, in_order: bool
) -> None:
    from pcielab.doctor.examine import branches, describe, draw

    if output_format is Format.JSON:
        shown = examination.model_copy(update={"tree": tuple(branches(tree))}) if with_tree else examination
        print_data(shown.model_dump_json(indent=1))
        return
    for line in examination.unseen:
        say(f"not seen: {line}")
    if output_format is Format.CSV:
        print_rows([_row(finding) for finding in examination.findings], output_format)
        return
    if with_tree:
        print_text(draw(tree, examination))
    print_text(describe(examination, tree, shutil.get_terminal_size((110, 24)).columns, in_order=in_order))


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
        "command": finding.command,
    }
