"""`pcielab tlp`: captures of packets explained, listed, and made on a simulated host."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab.cli.completion import choice
from pcielab.cli.option_groups import option, takes
from pcielab.cli.option_sets import Cache, Profile, Seed, Sets, WarmWindow
from pcielab.cli.output import (
    Cell,
    Format,
    OverwriteOption,
    Theme,
    ThemeOption,
    is_stdout,
    picture_option,
    print_data,
    print_rows,
    print_text,
    say,
    say_sentences,
)
from pcielab.cli.progress import Bar
from pcielab.cli.quantities import size_option
from pcielab.errors import StoppedError, refusal

if TYPE_CHECKING:
    from pcielab.captures import Explanation, Reading, Transaction

app = typer.Typer()

_KINDS = ("read", "write", "io", "configuration", "atomic", "message")
_SHOWN = 20
"""Rows of a table that may have many."""
_FEW = 4
"""Reads from which on the median of a group is worth a comparison."""
_PAGES = 4
"""Pages of a table: the slowest."""


class TlpFormat(StrEnum):
    """Output format of an explanation."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    MARKDOWN = "markdown"


Capture = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A capture in any format of the reference, .gz of one, or a run with --trace."
    ),
]
StoredTest = Annotated[
    int | None,
    typer.Option(
        "--test", min=0, help="Number of the test, of a run with --trace [default: the first].", show_default=False
    ),
]

_READING = [
    option("input_format", str | None, None, "Format of FILE [default: by its content].", metavar="NAME"),
    option("skip", int | None, None, "Bytes of each packet before its TLP, in a packet capture.", min=0, max=4096),
    option(
        "columns",
        list[str] | None,
        None,
        "Column of a table that holds a field; repeatable.",
        metavar="FIELD=COLUMN",
    ),
    option(
        "link_type",
        int | None,
        None,
        "Link type of the packets that hold TLPs, in a packet capture.",
        min=0,
        max=65535,
    ),
    option("time_unit", str | None, None, "Unit of times without one: ps, ns, us, ms or s.", metavar="UNIT"),
    option("clock", str | None, None, "Name of the clock, in value changes.", metavar="NAME"),
    option("clock_ns", float | None, None, "Clock period of a logic analyser's samples, ns.", min=0.001),
]


def _reading(options: Mapping[str, Any]) -> "Reading":
    from pcielab.captures import Reading

    columns = {}
    for one in options["columns"] or []:
        key, separator, column = one.partition("=")
        if not separator:
            raise refusal("malformed", f"--columns {one}: give FIELD=COLUMN, as time=Timestamp")
        columns[key] = column
    period_ns = options["clock_ns"]
    return Reading(
        format=options["input_format"],
        skip_bytes=options["skip"],
        columns=columns,
        clock_ps=None if period_ns is None else round(1000 * period_ns),
        clock=options["clock"],
        link_type=options["link_type"],
        time_unit=options["time_unit"],
    )


@contextmanager
def _packets(capture: Path, test: int | None) -> Iterator[Path]:
    """The capture to read: the file itself or, of a run with --trace, the TLPs of one of its tests."""
    if not _is_store(capture):
        if test is not None:
            raise refusal("conflict", f"--test {test}: is of runs with --trace, and {capture} is a capture")
        yield capture
        return
    from tempfile import TemporaryDirectory

    from pcielab.cli.stores import opened
    from pcielab.kinds.lanes import chosen_test, traced_tests
    from pcielab.outputs import write_file

    store = opened(capture)
    chosen = chosen_test(store, test)["id"]
    tests = len(traced_tests(store))
    if tests > 1 and test is None:
        say(f"note: test {chosen}, the first of {tests} with a trace: --test N takes another")
    with TemporaryDirectory() as folder:
        # pcap-ng holds the link, picoseconds, and that the packets are simulated.
        written = Path(folder) / f"{capture.stem}.pcapng"
        write_file(written, store.capture(chosen, "raw")[0], overwrite=False)
        yield written


def _is_store(path: Path) -> bool:
    """Whether a file starts as stores do; a file that cannot be read is left to the reader of captures."""
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


takes_reading = takes("reading", _READING, _reading)
"""Adds the options to a command, which gets them as its parameter `reading`."""


@app.command()
@takes_reading
def explain(
    capture: Capture,
    reading: "Reading",
    test: StoredTest = None,
    generation: Annotated[
        int | None,
        typer.Option(
            "--generation",
            "--gen",
            min=1,
            max=7,
            help="Generation of the link [default: as captured].",
            show_default=False,
        ),
    ] = None,
    lanes: Annotated[
        int | None,
        typer.Option("--lanes", min=1, max=32, help="Its width [default: as captured].", show_default=False),
    ] = None,
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
    output_format: Annotated[TlpFormat, typer.Option("--format", help="Output format.")] = TlpFormat.TABLE,
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
    with _packets(capture, test) as packets:
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
    _print(found, played, output_format)
    if found.is_interrupted:
        raise StoppedError(
            f"{capture}: interrupted: the figures are of the first {found.report['counts']['records']} records"
        )


def _print(found: "Explanation", played: list[dict[str, Cell]], output_format: TlpFormat) -> None:
    if output_format is TlpFormat.JSON:
        from pcielab.strict_json import strict_json

        print_data(strict_json({**found.report, "played": played}, indent=1))
        return
    if output_format is TlpFormat.CSV:
        say_sentences(found.sentences)
        print_rows(_long(found, played), Format.CSV)
        return
    markdown = output_format is TlpFormat.MARKDOWN
    for sentence in found.sentences:
        print_text(sentence + ("\n" if markdown else ""))
    for title, rows in _tables(found, played):
        if markdown:
            print_text(_markdown(title, rows))
        else:
            print_text("")
            print_rows(rows, Format.TABLE, title)


def _markdown(title: str, rows: list[dict[str, Cell]]) -> str:
    def cell(value: Cell) -> str:
        if value is None:
            return "-"
        return (f"{value:.4g}" if isinstance(value, float) else str(value)).replace("|", "\\|")

    lines = [f"## {title}", "", "| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(map(cell, row.values())) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _long(found: "Explanation", played: list[dict[str, Cell]]) -> list[dict[str, Cell]]:
    """Every number of the tables as a row: table, row, key, value."""
    rows: list[dict[str, Cell]] = []
    for title, table in _tables(found, played, whole=True):
        for number, row in enumerate(table):
            rows += [{"table": title, "row": number, "key": key, "value": value} for key, value in row.items()]
    return rows


def _tables(
    found: "Explanation", played: list[dict[str, Cell]], *, whole: bool = False
) -> Iterator[tuple[str, list[dict[str, Cell]]]]:
    """The tables with their titles, `whole` or with what is worth reading; none is empty."""
    report = found.report
    for title, rows in (
        ("Link and settings", list(_settings(found))),
        ("Data", [dict(row) for row in report["moved"]]),
        ("Time by cause", _shares(found)),
        ("Latency of reads, ns: to the start of the last completion", _latencies(report, whole=whole)),
        ("The same accesses with other cuts: closed form", _cuts(found)),
        ("The same accesses as early as possible: simulated", played),
        ("Write-combining lines of the host", _lines(report)),
        ("Doorbells, and the device's first read after each", _doorbells(report)),
        ("Reads of descriptors, and the transfers that they point to", _descriptors(report)),
        ("Broken rules: the first of each", [dict(row) for row in report["violations"][:_SHOWN]]),
        ("Completions with errors", [{"status": status, "count": count} for status, count in report["errors"]]),
        (
            "Parts of the file that were not read",
            [{"what": what, "count": count, "first_record": first} for what, count, first in report["skipped"]],
        ),
        (
            f"The first transactions of {report['counts']['tlps']} TLPs by their requests, ns",
            report["transactions"][:_SHOWN],
        ),
    ):
        if rows:
            yield title, rows


def _settings(found: "Explanation") -> Iterator[dict[str, Cell]]:
    report, settings, link = found.report, found.report["settings"], found.report["link"]
    exact = {True: "used whole", False: "at least: nothing larger was sent"}
    shown = {
        "stated": "stated",
        "file": "stated in the file",
        "pace": "slowest link on which the fastest packets fit",
    }
    if link["generation"] is not None:
        yield _setting("link", " or ".join(link["alike"]), shown[link["source"]])
    if link["flits"] is not None:
        yield _setting("flits", "yes" if link["flits"] else "no", "")
    yield _setting("MPS", settings["mps_bytes"], exact[settings["mps_is_used"]])
    if settings["largest_read_bytes"]:
        yield _setting("MRRS", settings["mrrs_bytes"], exact[settings["mrrs_is_used"]])
    cut = settings["completions_cut_at_bytes"]
    if cut is not None:
        why = "completions end there" if settings["rcb_bytes"] else "not shown: completions are cut at MPS"
        yield _setting("RCB", settings["rcb_bytes"], why)
        yield _setting("completions cut at", cut, "largest power of two that divides every cut")
    if settings["tags_in_flight"]:
        yield _setting("tags", settings["tags_in_flight"], "most reads of the device in flight")
        yield _setting("highest tag", settings["highest_tag"], "10 bits" if settings["ten_bit_tags"] else "8 bits")
    for key, name in (
        ("relaxed_share", "relaxed ordering"),
        ("no_snoop_share", "no snoop"),
        ("id_ordering_share", "ID-based ordering"),
    ):
        if settings[key] is not None:
            yield _setting(name, f"{100 * settings[key]:.3g} %", "of the device's requests")
    again = report["acknowledgements"]
    if again["tlps_with_sequence"]:
        yield _setting("sent again", again["sent_again"], f"TLPs; {again['naks']} Naks")
    if report["latency"] is not None:
        yield _setting("out of order", report["out_of_order"], "reads that ended after a later one")


def _setting(name: str, value: Cell, meaning: str) -> dict[str, Cell]:
    return {"setting": name, "value": None if value is None else str(value), "meaning": meaning}


def _shares(found: "Explanation") -> list[dict[str, Cell]]:
    return [
        {"direction": row.direction, "cause": row.cause, "us": row.ns / 1000, "percent": 100 * row.share}
        for row in sorted(found.shares, key=lambda row: (row.direction, -row.share))
    ]


_TIMES = ("count", "least_ns", "average_ns", "p10_ns", "median_ns", "p95_ns", "p99_ns", "most_ns")


def _latencies(report: dict[str, Any], *, whole: bool) -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = []
    for name, key in (
        ("device reads", "latency"),
        ("their first completion", "first_latency"),
        ("host reads", "host_latency"),
    ):
        if report[key] is not None:
            rows.append({"of": name} | {time.removesuffix("_ns"): report[key][time] for time in _TIMES})
    for by in ("size", "offset in page", "page"):
        groups = [row for row in report["groups"] if row["by"] == by]
        if not whole and not _differ(groups, report):
            continue
        for row in groups if whole or by != "page" else groups[:_PAGES]:
            key = "others" if row["key"] is None else hex(row["key"]) if by == "page" else row["key"]
            rows.append({"of": f"{by} {key}"} | {time.removesuffix("_ns"): row[time] for time in _TIMES})
    return rows


def _differ(groups: list[dict[str, Any]], report: dict[str, Any]) -> bool:
    """Whether a group with enough reads has a median more than a tenth off that of all of the device's reads."""
    if report["latency"] is None:
        return False
    median = report["latency"]["median_ns"]
    return any(abs(row["median_ns"] - median) > median / 10 for row in groups if row["count"] >= _FEW)


def _cuts(found: "Explanation") -> list[dict[str, Cell]]:
    return [
        {
            "cuts": row.cuts,
            "reads": round(row.read_requests),
            "writes": round(row.write_tlps),
            "upstream_bytes": round(row.upstream_bytes),
            "downstream_bytes": round(row.downstream_bytes),
            "link_gbps": row.link_gbps,
            "bound_gbps": row.bound_gbps,
            "bound": row.bound,
        }
        for row in found.cuts
    ]


def _ns(ps: int | None) -> float | None:
    return None if ps is None else ps / 1000


def _lines(report: dict[str, Any]) -> list[dict[str, Cell]]:
    return [
        {
            "record": row["record"],
            "line": hex(row["address"]),
            "writes": row["packets"],
            "bytes": row["bytes"],
            "evicted": "full" if row["full"] else "in parts",
            "after_ns": _ns(row["after_ps"]),
        }
        for row in report["stores"]["evictions"][:_SHOWN]
    ]


def _doorbells(report: dict[str, Any]) -> list[dict[str, Cell]]:
    return [
        {
            "record": row["record"],
            "address": hex(row["address"]),
            "bytes": row["bytes"],
            "read_record": row["read_record"],
            "read_after_ns": _ns(row["read_after_ps"]),
        }
        for row in report["stores"]["doorbells"][:_SHOWN]
    ]


def _descriptors(report: dict[str, Any]) -> list[dict[str, Cell]]:
    return [
        {
            "record": row["record"],
            "address": hex(row["address"]),
            "bytes": row["bytes"],
            "doorbell": row["doorbell_record"],
            "latency_ns": _ns(row["latency_ps"]),
            "data_record": row["data_record"],
            "data_address": None if row["data_address"] is None else hex(row["data_address"]),
            "data_bytes": row["data_bytes"],
            "data_after_ns": _ns(row["data_after_ps"]),
        }
        for row in report["stores"]["descriptor_reads"][:_SHOWN]
    ]


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
    with _packets(capture, test) as packets, Bar() as bar:
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
    with _packets(capture, test) as packets, Bar() as bar:
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
