"""How commands read captures: the file or the trace of a run, its format, and the link if it does not say."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab.cli.option_groups import option, takes
from pcielab.cli.output import say
from pcielab.errors import refusal

if TYPE_CHECKING:
    from pcielab.captures import Reading

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

CapturedGeneration = Annotated[
    int | None,
    typer.Option(
        "--generation",
        "--gen",
        min=1,
        max=7,
        help="Generation of the link [default: as captured].",
        show_default=False,
    ),
]
CapturedLanes = Annotated[
    int | None,
    typer.Option("--lanes", min=1, max=32, help="Its width [default: as captured].", show_default=False),
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
def packets_of(capture: Path, test: int | None) -> Iterator[Path]:
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
