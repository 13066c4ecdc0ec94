"""`pcielab tlp`: captures of packets explained, listed, and made on a simulated host."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab.cli.completion import choice
from pcielab.cli.markdown_tables import TableFormat
from pcielab.cli.option_sets import Cache, Profile, Seed, Sets, WarmWindow
from pcielab.cli.output import (
    Cell,
    Format,
    OverwriteOption,
    Theme,
    ThemeOption,
    is_stdout,
    picture_option,
    print_rows,
    say,
)
from pcielab.cli.progress import Bar
from pcielab.cli.quantities import size_option
from pcielab.cli.tlp_reading import (
    Capture,
    CapturedGeneration,
    CapturedLanes,
    StoredTest,
    packets_of,
    takes_reading,
)
from pcielab.cli.tlp_tables import print_explanation
from pcielab.errors import StoppedError

if TYPE_CHECKING:
    from pcielab.captures import Reading, Transaction

app = typer.Typer()

_KINDS = ("read", "write", "io", "configuration", "atomic", "message")


@app.command()
@takes_reading
def explain(
    capture: Capture,
    reading: "Reading",
    test: StoredTest = None,
    generation: CapturedGeneration = None,
    lanes: CapturedLanes = None,
    flits: Annotated[
        bool | None, typer.Option("--flits/--no-flits", help="Whether it runs in flit mode.", show_default=False)
    ] = None,
    mps: Annotated[
        int | None, size_option("--mps", "Maximum payload size: report packets with more.", show_default=False)
    ] = None,
    mrrs: Annotated[
        int | None, size_option("--mrrs", "Maximum read request size: report reads of more.", show_default=False)
    ] = None,
    rcb: Annotated[
        int | None,
        typer.Option(
            "--rcb", help="Read completion boundary: report completions that end elsewhere.", show_default=False
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME|FILE",
            help="Also play the accesses on this system's host, with better cuts.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None, picture_option("Also draw what was in flight: .svg, .png, .pdf or .html.")
    ] = None,
    theme: ThemeOption = Theme.LIGHT,
    overwrite: OverwriteOption = False,
    output_format: Annotated[TableFormat, typer.Option("--format", help="Output format.")] = TableFormat.TABLE,
) -> None:
    """Say what a capture moved, what bound it and what to change, with the time by cause.

    The shares of each direction of the link add up to the time of the capture. Ctrl-C prints what was read so far.

    Examples:
    `pcielab tlp explain analyser.pcapng`

    `pcielab tlp explain ila.csv --clock-ns 4 --gen 3 --lanes 8 --output in-flight.svg`

    `pcielab tlp explain dma.csv --profile snb --format markdown`

    `pcielab tlp explain traced.db --test 2`
    """
    from pcielab import captures

    played: list[dict[str, Cell]] = []
    with packets_of(capture, test) as packets:
        with Bar() as bar:
            found = captures.explain(
                packets,
                reading=reading,
                generation=generation,
                lanes=lanes,
                flits=flits,
                mps_bytes=mps,
                mrrs_bytes=mrrs,
                rcb_bytes=rcb,
                progress=lambda done, total: bar.update(done, total, "reading"),
            )
        if profile is not None:
            from pcielab.library.profiles import resolve

            played = [
                {
                    "cuts": row.cuts,
                    "transfers": row.transfers,
                    "bytes": row.bytes,
                    "gbps": row.gbps,
                    "median_ns": row.median_ns,
                }
                for row in captures.better_cuts(packets, resolve(profile), reading=reading)
            ]
    if output is not None:
        from pcielab.captures.picture import in_flight
        from pcielab.report.save import save_figure

        save_figure(in_flight(found, capture.name), output, theme=theme.value, overwrite=overwrite)
    print_explanation(found, played, output_format)
    if found.is_interrupted:
        raise StoppedError(
            f"{capture}: interrupted: the figures are of the first {found.report['counts']['records']} records"
        )


@app.command("list")
@takes_reading
def list_(
    capture: Capture,
    reading: "Reading",
    test: StoredTest = None,
    direction: Annotated[
        str | None, choice("--direction", ("upstream", "downstream"), "Only requests that go this way")
    ] = None,
    kind: Annotated[str | None, choice("--kind", _KINDS, "Only requests of this kind")] = None,
    tag: Annotated[
        int | None, typer.Option("--tag", min=0, max=16383, help="Only this tag.", show_default=False)
    ] = None,
    from_ns: Annotated[
        float | None,
        typer.Option(
            "--from-ns", min=0, help="Only from this time after the first packet on.", show_default=False
        ),
    ] = None,
    until_ns: Annotated[
        float | None, typer.Option("--until-ns", min=0, help="Only before this time.", show_default=False)
    ] = None,
    output_format: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TABLE,
) -> None:
    """List the transactions of a capture: each request with the times of its completions.

    In the order of their ends. Times are of the starts of packets. A table has the first 1000 transactions; CSV
    and JSON have all of them.

    Examples:
    `pcielab tlp list analyser.pcapng --kind read --tag 5`

    `pcielab tlp list analyser.pcapng --from-ns 1000 --until-ns 2000 --format csv`
    """
    from pcielab.captures.listed import take_transactions

    printer = _Printer(output_format)
    with packets_of(capture, test) as packets, Bar() as bar:
        stopped = take_transactions(
            packets,
            printer.take,
            reading=reading,
            direction=direction,
            kind=kind,
            tag=tag,
            from_ns=from_ns,
            until_ns=until_ns,
            progress=lambda done, total: bar.update(done, total, "reading"),
        )
    printer.end()
    if stopped:
        raise StoppedError(f"{capture}: interrupted: these are the transactions that were read")


class _Printer:
    """Prints blocks of transactions as they come: CSV and JSON at once, a table at the end."""

    _MOST = 1000

    def __init__(self, output_format: Format) -> None:
        self._format = output_format
        self._rows: list[Transaction] = []
        self._count = 0

    def take(self, rows: "list[Transaction]") -> None:
        first, self._count = self._count == 0, self._count + len(rows)
        if self._format is Format.TABLE:
            self._rows += rows[: max(0, self._MOST - len(self._rows))]
        elif self._format is Format.CSV:
            import csv

            writer = csv.DictWriter(sys.stdout, fieldnames=list(rows[0]), lineterminator="\n")
            if first:
                writer.writeheader()
            writer.writerows(rows)
        else:
            from pcielab.strict_json import strict_json

            text = strict_json(rows, indent=1).removeprefix("[").removesuffix("\n]")
            sys.stdout.writelines(["[" if first else ",", text])

    def end(self) -> None:
        if self._format is Format.TABLE and self._rows:
            rows: list[dict[str, Any]] = [dict(row) for row in self._rows]
            print_rows(rows, Format.TABLE, "Transactions in the order of their ends, ns")
            if self._count > len(self._rows):
                say(f"note: the first {len(self._rows)} of {self._count}: --format csv has all of them")
        elif self._format is Format.JSON:
            sys.stdout.writelines(["\n]\n" if self._count else "[]\n"])
        elif not self._count and self._format is Format.CSV:
            from pcielab.captures import Transaction

            sys.stdout.writelines([",".join(Transaction.__annotations__), "\n"])
        if not self._count:
            say("note: no transaction passes the filters")


@app.command()
@takes_reading
def convert(
    capture: Capture,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write, or `-` for stdout.")],
    reading: "Reading",
    form: Annotated[
        str,
        typer.Option(
            "--capture-format",
            metavar="NAME",
            help="Format to write: list (CSV), raw or cyrozap (pcap-ng), text, ila-csv or vcd.",
        ),
    ] = "list",
    test: StoredTest = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Write the packets of a capture in another format: by default as CSV, a packet a row.

    What the format cannot hold is counted on stderr.

    Examples:
    `pcielab tlp convert analyser.pcapng -o -`

    `pcielab tlp convert ila.csv --clock-ns 4 --capture-format raw -o packets.pcapng`
    """
    from io import BytesIO

    from pcielab import captures
    from pcielab.outputs import check_file, write_file

    to_stdout = is_stdout(output)
    content = BytesIO()
    if not to_stdout:
        check_file(output, overwrite=overwrite)
    with packets_of(capture, test) as packets, Bar() as bar:
        left_out, stopped = captures.convert(
            packets,
            form,
            sys.stdout.buffer.write if to_stdout else content.write,
            reading=reading,
            progress=lambda done, total: bar.update(done, total, "converting"),
        )
    if not to_stdout:
        write_file(output, content.getvalue(), overwrite=overwrite)
    for what, count in left_out.items():
        say(f"note: {count} left out: {what}")
    if stopped:
        raise StoppedError(f"{capture}: interrupted: these are the packets that were read")


@app.command()
def record(
    trace: Annotated[Path, typer.Argument(help="A trace of `pcielab trace record` or `convert`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write, or `-` for stdout.")],
    profile: Profile = "hsw2620",
    changes: Sets = None,
    form: Annotated[
        str,
        typer.Option(
            "--capture-format",
            metavar="NAME",
            help="Format of the file: list (CSV), raw or cyrozap (pcap-ng), text, ila-csv or vcd.",
        ),
    ] = "list",
    with_credits: Annotated[
        bool, typer.Option("--credits", help="With an UpdateFC whenever credits come back.")
    ] = False,
    cache: Cache = "cold",
    window: WarmWindow = 8 << 10,
    seed: Seed = 1,
    overwrite: OverwriteOption = False,
) -> None:
    """Make the capture that an analyser at the device would have of a trace on a simulated host.

    The device has the link's tags and no other limit, as for `pcielab trace play`. Its times are simulated.

    Examples:
    `pcielab tlp record dma.trace --profile snb -o dma.csv`

    `pcielab tlp record dma.trace --set link.tags=8 --capture-format raw -o few-tags.pcapng`
    """
    from pcielab import captures
    from pcielab.library.input_files import read_text
    from pcielab.library.profiles import resolve
    from pcielab.outputs import check_file, write_file
    from pcielab.port.trace import MOST_BYTES

    to_stdout = is_stdout(output)
    if not to_stdout:
        check_file(output, overwrite=overwrite)
    text = read_text(trace, MOST_BYTES)
    content = captures.record(
        resolve(profile, changes or []),
        text,
        file_format=form,
        with_credits=with_credits,
        cache=cache,  # type: ignore[arg-type]
        window_bytes=0 if cache == "cold" else window,
        seed=seed,
    )
    if to_stdout:
        sys.stdout.buffer.write(content)
    else:
        write_file(output, content, overwrite=overwrite)
