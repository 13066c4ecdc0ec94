"""`pcielab expect`: what a machine should give, and whether a tool's output does."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcielab.cli.markdown_tables import TableFormat, markdown_table
from pcielab.cli.output import Cell, Format, print_data, print_rows, say
from pcielab.errors import refusal

if TYPE_CHECKING:
    from pcielab.expectations import Expectations, Machine


class Thresholds(StrEnum):
    """Form of thresholds."""

    PROMETHEUS = "prometheus"
    YAML = "yaml"
    SHELL = "shell"


def expect(
    machine: Annotated[
        list[str],
        typer.Argument(
            metavar="MACHINE...",
            help="The output of `sudo lspci -vvv`, an NCCL topology (XML), /sys or a copy, a fabric file, a file "
            'with `kind = "machine"`, or the name of a published box. A second source of the same machine adds '
            "what the first lacks.",
        ),
    ],
    processor: Annotated[
        str | None,
        typer.Option(
            "--processor",
            metavar="NAME",
            help="The machine's processor, as lscpu prints it: EPYC 9575F. Figures are comparable by its family.",
            show_default=False,
        ),
    ] = None,
    ask: Annotated[
        list[str] | None,
        typer.Option(
            "--ask",
            metavar="QUESTION",
            help="Ask this instead: h2d gpu0..3, p2p-write gpu0>gpu4, all-to-all gpu0..7, ring gpu0..7. May be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            "--check",
            metavar="OUTPUT",
            help="Compare the output of nvbandwidth, p2pBandwidthLatencyTest, nccl-tests, perftest or fio; exit "
            "with 1 if a value is low.",
            show_default=False,
        ),
    ] = None,
    thresholds: Annotated[
        Thresholds | None,
        typer.Option("--thresholds", help="Print thresholds for a health check instead.", show_default=False),
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Show what was published of a box, beside what is expected of it without the rows of its site.",
        ),
    ] = False,
    output_format: Annotated[TableFormat, typer.Option("--format", help="Output format.")] = TableFormat.TABLE,
) -> None:
    """Show what a machine should give: bound, expected range and limiting edge for each device and pair.

    Ranges come from published figures of comparable edges: links, root complexes by family of processors,
    uplinks of switches, lines of NICs, drives, rings. Each row names the rows that it rests on. An edge that
    nobody measured makes its answer unknown, between what is known.

    Questions: h2d, d2h, both, h2d-busy, d2h-busy, store, packets-in, packets-out, latency-rdma, all-to-all,
    all-to-all-read, ring and ring-staged take devices (gpu0..7); p2p-write, p2p-read, p2p-both, staged,
    staged-both, latency-read, latency-write and latency-staged take pairs (gpu0>gpu4, gpu0..3>gpu4..7, or
    gpu0..3>>gpu4..7 for every pair). Conditions follow: memory=1, redirect, sw0:gen4x16, protocol=roce, mtu=1024,
    size=64.

    Examples:
    `pcielab expect lspci.txt`

    `pcielab expect topo.xml --processor "EPYC 9575F" --format markdown`

    `pcielab expect rome2s-8x4090 --ask "p2p-write gpu0>gpu4" --ask "ring gpu0..7"`

    `pcielab expect rome2s-8x4090 --published`

    `pcielab expect server.toml --ask "packets-in nic0 size=64" --ask "h2d nic0 protocol=roce mtu=1024"`

    `pcielab expect server.toml --check nvbandwidth.txt`

    `pcielab expect server.toml --thresholds prometheus`
    """
    from pcielab.expectations import expect as expected_of, read

    if sum(option is not None for option in (ask or None, check, thresholds, published or None)) > 1:
        raise refusal(
            "conflict", "--ask, --check, --thresholds and --published exclude each other: give one of them"
        )
    if published:
        _print_published(machine, output_format)
        return
    found = read(machine, processor=processor)
    if check is not None:
        _check(found, check, output_format)
        return
    expected = expected_of(found, ask=tuple(ask or ()))
    for note in expected.notes:
        say(f"note: {note}")
    if thresholds is not None:
        from pcielab.expectations import thresholds as thresholds_of

        print_data(thresholds_of(expected, thresholds.value))
        return
    _print(expected, output_format)


def _print(expected: "Expectations", output_format: TableFormat) -> None:
    from pcielab.expectations.expecting import cells

    rows: list[dict[str, Cell]] = []
    for row in expected.rows:
        found: dict[str, Cell] = dict(cells(row))
        if output_format in (TableFormat.CSV, TableFormat.JSON) and row.given is not None:
            found |= {
                "sites": row.given.sites,
                "rows": " ".join(row.given.rows),
                "unknown": "; ".join(row.given.unknown),
            }
        elif output_format in (TableFormat.CSV, TableFormat.JSON):
            found |= {"sites": 0, "rows": "", "unknown": row.missing}
        rows.append(found)
    machine = expected.machine
    title = f"{machine.name}: what it should give (modelled bounds, ranges of published figures)"
    _print_rows(rows, output_format, title)


def _print_published(machine: list[str], output_format: TableFormat) -> None:
    from pcielab.expectations import box_names, box_rows, judged
    from pcielab.library.alike import suggestion

    [name, *others] = machine
    if others or name not in box_names():
        raise refusal("not-found", f"--published: {name}: no published box: {suggestion(name, box_names())}")
    rows: list[dict[str, Cell]] = [
        {
            "row": verdict.row.id,
            "question": verdict.row.asks or verdict.row.quantity,
            "published": verdict.row.scaled,
            "lower": verdict.given.lower if verdict.given else None,
            "upper": verdict.given.upper if verdict.given else None,
            "verdict": verdict.word,
            "limit": verdict.given.limit if verdict.given else verdict.refusal,
        }
        for verdict in judged(row for row in box_rows() if row.box == name)
    ]
    source = next(row for row in box_rows() if row.box == name)
    say(f"source: {source.source_title}, {source.source_ref}")
    _print_rows(rows, output_format, f"{name}: published (GB/s, us), and expected without its site")


def _print_rows(rows: list[dict[str, Cell]], output_format: TableFormat, title: str) -> None:
    if output_format is TableFormat.MARKDOWN:
        print_data(markdown_table(rows, ".2f"))
        return
    print_rows(rows, Format(output_format.value), title)


def _check(machine: "Machine", file: Path, output_format: TableFormat) -> None:
    from pcielab.expectations import checked_output

    found = checked_output(machine, file)
    for note in (*machine.notes, *found.notes):
        say(f"note: {note}")
    rows: list[dict[str, Cell]] = [
        {
            "question": check.question,
            "measured": check.measured,
            "lower": check.given.lower if check.given else None,
            "upper": check.given.upper if check.given else None,
            "outcome": check.outcome,
            "limit": check.given.limit if check.given else check.missing,
            "tool": check.tool,
            "test": check.test,
        }
        for check in found.checks
    ]
    _print_rows(rows, output_format, f"{machine.name}: measured beside what it should give, GB/s")
    for check in found.checks:
        if check.outcome == "low" and check.given is not None and check.given.lower is not None:
            say(
                f"low: {check.question}: {check.measured:.2f} GB/s, at least {check.given.lower:.2f} expected; "
                f"the edge that limits is: {check.given.limit}"
            )
    if found.is_low:
        raise typer.Exit(1)
