"""`pcielab trace`: record traces of DMA, play them on a simulated host, make them from captures."""

import re
import sys
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab.cli.completion import choice
from pcielab.cli.option_groups import refuse_without_effect
from pcielab.cli.option_sets import Cache, Profile, Seed, Sets, WarmWindow, refuse_device_changes
from pcielab.cli.output import Cell, Format, FormatOption, OverwriteOption, is_stdout, print_rows, say
from pcielab.cli.progress import Bar, TlpLimit, announce_tlps
from pcielab.cli.quantities import size_option
from pcielab.errors import InputError, refusal, with_message
from pcielab.wording import shown

if TYPE_CHECKING:
    from pcielab.port.trace import Played

app = typer.Typer()

_OPERATIONS = ("bw-rd", "bw-wr", "bw-rdwr")
_COLUMNS = ("ready_ps", "write", "offset", "bytes", "sent_ps", "done_ps")
Output = Annotated[Path, typer.Option("--output", "-o", help="File to write, or `-` for stdout.")]


@app.command()
def record(
    output: Output,
    test: Annotated[str, choice("--test", _OPERATIONS, "What the device does")] = "bw-rd",
    size: Annotated[int, size_option("--size", "Bytes of a transaction.")] = 512,
    window: Annotated[int, size_option("--window", "Part of the buffer that it visits.", show_default="8K")] = 8
    << 10,
    transactions: Annotated[
        int, typer.Option("--transactions", min=1, max=1_000_000, help="Number of transactions.")
    ] = 10_000,
    profile: Profile = "hsw2620",
    changes: Sets = None,
    seed: Seed = 1,
    overwrite: OverwriteOption = False,
) -> None:
    """Record the TLPs of a test of DMA: each when the system's own device sends it.

    What limits that device is in the times: played on the same system, the trace has the rate of `pcielab run`.

    A trace is text, one TLP a line: `TIME read|write OFFSET BYTES`, the time in picoseconds. Its times are
    simulated.

    Examples:
    `pcielab trace record --test bw-rdwr --size 256 --window 64K -o dma.trace`

    `pcielab trace record --profile snb-iommu --transactions 1000 -o -`
    """
    from pcielab.library.profiles import resolve
    from pcielab.port.trace import record as recorded

    system = resolve(profile, changes or [])
    text = recorded(system, test, seed=seed, size=size, window=window, transactions=transactions)  # type: ignore[arg-type]
    _write(output, [text], overwrite=overwrite)


@app.command()
def play(
    context: typer.Context,
    trace: Annotated[Path, typer.Argument(help="A trace of `pcielab trace record` or `convert`.")],
    profile: Profile = "hsw2620",
    changes: Sets = None,
    cache: Cache = "cold",
    window: WarmWindow = 8 << 10,
    seed: Seed = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="RUN.db|CSV",
            help="Also write a store, for report, explain and compare; or, into any file but *.db, every transfer "
            "with its times as CSV, `-` for stdout.",
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    limit: TlpLimit = None,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Play a trace of DMA on a system's host and link, with a device that has the link's tags and no other limit.

    A transfer waits for its time, a tag and credits, and those behind it wait with it. A read is done when its
    last completion is at the device, a write when its last byte is at the host.

    A store has a test for the reads of the trace and one for its writes. Ctrl-C leaves a store of the transfers
    that were done.

    Examples:
    `pcielab trace play dma.trace --profile snb-iommu`

    `pcielab trace play dma.trace --set link.tags=64 -o few-tags.db`

    `pcielab trace play dma.trace --set link.tags=64 -o transfers.csv`
    """
    from pcielab.cli.model_options import errors_name_options
    from pcielab.errors import StoppedError
    from pcielab.library.input_files import read_text
    from pcielab.library.profiles import resolve
    from pcielab.port.trace import MOST_BYTES, play_columns
    from pcielab.work.running import stop_when_interrupted

    if cache == "cold":
        refuse_without_effect(context, ["window"], "cold caches hold no window: give --cache host-warm as well")
    refuse_device_changes(changes, "what the device does is in the trace, so record it with the change")
    system = resolve(profile, changes or [])
    if is_stdout(output) and output_format is not Format.TABLE:
        raise refusal("conflict", "--output -: stdout takes one of both: leave out --format, or give a file")
    text = read_text(trace, MOST_BYTES)
    total = None
    try:
        with Bar() as bar, errors_name_options(limit="--limit"):

            def show(done: int, total: int) -> None:
                announce_tlps(done, total)
                bar.update(done, total, "playing TLPs")

            how: dict[str, Any] = {
                "cache": cache,
                "window_bytes": window,
                "seed": seed,
                "progress": show,
                "limit": limit,
            }
            if output is not None and output.suffix == ".db":
                from pcielab.kinds.traces.play import play_into

                with stop_when_interrupted() as stop:
                    played, total = play_into(
                        output, system, text, name=trace.name, overwrite=overwrite, stop=stop, **how
                    )
            else:
                played = play_columns(system, text, **how)
    except InputError as error:
        raise error if str(output) in str(error) else with_message(error, f"{trace}: {error}") from error
    if output is not None and total is None:
        _write(output, _csv(played), overwrite=overwrite)
    if not is_stdout(output):
        print_rows(_rows(played), output_format, f"simulated: {system.title}")
    if total is not None and len(played) < total:
        raise StoppedError(
            f"{output}: interrupted: holds {len(played)} of {total} transfers: play again with --overwrite"
        )


@app.command()
def convert(
    capture: Annotated[
        Path,
        typer.Argument(help="A capture of TLPs: pcap-ng, pcap, or another format in docs/reference."),
    ],
    output: Output,
    skip: Annotated[
        int,
        typer.Option("--skip", min=0, max=4096, help="In pcap-ng and pcap: bytes of each packet before its TLP."),
    ] = 0,
    requester: Annotated[
        str | None,
        typer.Option("--requester", metavar="BUS:DEVICE.FUNCTION", help="Only requests of this device."),
    ] = None,
    link_type: Annotated[
        int | None,
        typer.Option(
            "--link-type",
            min=0,
            max=65535,
            help="In pcap-ng and pcap: link type of the packets that hold TLPs. By default 125 and 147 to 162, "
            "those of analysers, and NetTLP's packets in Ethernet or IP.",
        ),
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Make a trace from a capture of TLPs: its memory reads and writes, with their times.

    Pages of the captured machine become pages of the buffer, in the order of first use. Interrupts, completions,
    other TLPs and requests of the host are left out and counted. A capture of other packets is refused.

    Examples:
    `pcielab trace convert analyser.pcapng --requester 03:00.0 -o dma.trace`

    `pcielab trace convert nettlp.pcapng -o dma.trace`
    """
    from pcielab.library.input_files import read_bytes
    from pcielab.port.trace import MOST_BYTES, convert as converted

    identifier = None if requester is None else _requester(requester)
    content = read_bytes(capture, MOST_BYTES)
    try:
        text, others = converted(content, skip_bytes=skip, requester=identifier, link_type=link_type)
    except InputError as error:
        raise with_message(error, f"{capture}: {error}") from error
    if others:
        say(f"note: {others} packets are no memory reads or writes{' of the device' if requester else ''}")
    _write(output, [text], overwrite=overwrite)


def _requester(text: str) -> int:
    """The requester ID of a device."""
    found = re.fullmatch(r"([0-9a-f]{1,2}):([01]?[0-9a-f])\.([0-7])", text, re.IGNORECASE)
    if found is None:
        raise refusal("malformed", f"--requester {shown(text)}: give bus, device and function, as 03:00.0")
    bus, device, function = (int(part, 16) for part in found.groups())
    return bus << 8 | device << 3 | function


def _write(output: Path, texts: Iterable[str], *, overwrite: bool) -> None:
    """Write texts one after the other, the last of which ends a line."""
    from pcielab.outputs import check_file, write_file

    if is_stdout(output):
        sys.stdout.writelines(texts)
        return
    check_file(output, overwrite=overwrite)
    content = BytesIO()
    content.writelines(text.encode() for text in texts)
    write_file(output, content.getvalue(), overwrite=overwrite)


def _csv(played: "Played") -> Iterator[str]:
    """The lines of every transfer."""
    yield ",".join(_COLUMNS) + "\n"
    for row in played.rows():
        yield ",".join(map(str, row)) + "\n"


def _rows(played: "Played") -> list[dict[str, Cell]]:
    """What reads and writes got, each in a row."""
    from pcielab.percentiles import percentile

    rows: list[dict[str, Cell]] = []
    for kind, write in (("read", 0), ("write", 1)):
        of_kind = played.write == write
        if not of_kind.any():
            continue
        sent_ps, done_ps = played.sent_ps[of_kind], played.done_ps[of_kind]
        moved_bytes = int(played.bytes[of_kind].sum())
        elapsed_ps = int(done_ps.max()) - int(sent_ps.min())
        times_ns = (done_ps - sent_ps) / 1000
        rows.append(
            {
                "kind": kind,
                "transfers": len(sent_ps),
                "bytes": moved_bytes,
                "elapsed_ns": elapsed_ps / 1000,
                "gbps": 8000 * moved_bytes / max(elapsed_ps, 1),
                "median_ns": percentile(times_ns, 0.5),
                "p99_ns": percentile(times_ns, 0.99),
                "waited": int((sent_ps > played.ready_ps[of_kind]).sum()),
            }
        )
    return rows
