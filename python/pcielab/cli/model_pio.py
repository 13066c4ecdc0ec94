"""`pcielab model pio`: messages sent by write-combined stores, against descriptor DMA."""

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab import model
from pcielab._core import read_sizes
from pcielab.cli.completion import profile_names, set_option
from pcielab.cli.model_options import errors_name_options, link_option
from pcielab.cli.output import Cell, Format, FormatOption, print_rows, say
from pcielab.library import shipped
from pcielab.library.link import Link
from pcielab.model.link import Accounting

if TYPE_CHECKING:
    from pcielab.model import MessageProfile, Messages


_PRESENT_GENERATION = 5


class Show(StrEnum):
    """Table to print."""

    MESSAGES = "messages"
    STEPS = "steps"
    CROSSINGS = "crossings"
    LOOPBACK = "loopback"


def _option(option: str, text: str, panel: str, most: int | None = None) -> typer.models.OptionInfo:
    """An option without a default; with `most`, it takes 1 to that many."""
    least = None if most is None else 1
    info: typer.models.OptionInfo = typer.Option(
        option, min=least, max=most, help=text, rich_help_panel=panel, show_default=False
    )
    return info


def pio(
    sizes: Annotated[
        str,
        typer.Option(
            "--messages", help="Payload sizes in bytes: 64, first:last[:step] or 64:4K:x2.", metavar="LIST|RANGE"
        ),
    ] = "20,64,256,1K,4K,16K,64K",
    show: Annotated[
        Show,
        typer.Option(
            "--show",
            help="`messages`: bytes, latency, CPU time and bandwidth of each method; `steps`: timeline of one "
            "message; `crossings`: sizes from which DMA wins; `loopback`: a packet out by stores and back by DMA.",
        ),
    ] = Show.MESSAGES,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME|FILE",
            help=f"{', '.join(shipped.profile_files('messages'))}, or a .toml file; kpio-2012 is the paper's.  "
            "[default: a present-day core of the link's generation]",
            autocompletion=profile_names("messages"),
            show_default=False,
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        set_option("Change one value of the profile, as messages.stores.first_interval_ns=120", "messages"),
    ] = None,
    flushes: Annotated[
        int, typer.Option("--flushes", min=0, help="Partial write-combining flushes in each message.")
    ] = 0,
    buffers: Annotated[
        int | None, _option("--buffers", "Write-combining buffers of the core.", "Machine", 4096)
    ] = None,
    in_flight: Annotated[
        int | None, _option("--in-flight", "Messages that descriptor DMA has under way.", "Machine", 4096)
    ] = None,
    batch: Annotated[
        int | None,
        _option(
            "--batch", "Messages that share a doorbell, a read of descriptors and a write-back.", "Machine", 256
        ),
    ] = None,
    inline_bytes: Annotated[
        int | None,
        _option(
            "--inline",
            "Bytes, headers included, up to which a message is part of its descriptor (inline send): the device "
            "reads both at once.",
            "Machine",
            1024,
        ),
    ] = None,
    generation: Annotated[int | None, link_option("generation")] = None,
    lanes: Annotated[int | None, link_option("lanes")] = None,
    mps_bytes: Annotated[int | None, link_option("mps_bytes")] = None,
    mrrs_bytes: Annotated[int | None, link_option("mrrs_bytes")] = None,
    address_bits: Annotated[int | None, link_option("address_bits")] = None,
    accounting: Annotated[
        Accounting, typer.Option("--accounting", help="How overhead is counted.", rich_help_panel="Link")
    ] = Accounting.SPEC,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Compare messages sent by stores (uncached or write-combined) with descriptor DMA.

    The profile describes the link; options change it. Only the link's part of each time then changes: the slower
    of core and link sets the pace. Latencies are of one message alone, in ns; bandwidth is payload of back-to-back
    messages. Without --profile, the core is the usual one of servers with a link of --gen [default: 5].

    Examples:
    `pcielab model pio --messages 20,64`

    `pcielab model pio --show crossings --gen 5 --lanes 16`

    `pcielab model pio --profile kpio-2012 --set messages.stores.first_interval_ns=120 --messages 64`

    `pcielab model pio --batch 32 --show crossings`

    `pcielab model pio --inline 256 --messages 64,200,400`

    `pcielab model pio --show loopback --profile exanic-2018 --messages 64,128,1500`
    """
    from pcielab.library.cores import core_for
    from pcielab.library.profiles.read import own_sets
    from pcielab.model.message_questions import times_of_older_link

    own = {
        "core.write_combining_buffers": buffers,
        "descriptors.messages_in_flight": in_flight,
        "descriptors.inline_bytes": inline_bytes,
    }
    name = profile or core_for(None, generation or _PRESENT_GENERATION)
    chosen = model.load_message_profile(name, own_sets("messages", sets or (), "the messages of --profile"))
    with errors_name_options(
        write_combining_buffers="--buffers", messages_in_flight="--in-flight", messages_per_doorbell="--batch"
    ):
        chosen = chosen.with_({key: value for key, value in own.items() if value is not None})
        if batch is not None:
            chosen = chosen.with_batch(batch)
    changes: dict[str, Any] = {
        "generation": generation,
        "lanes": lanes,
        "mps_bytes": mps_bytes,
        "mrrs_bytes": mrrs_bytes,
        "address_bits": address_bits,
    }
    link = replace(chosen.link, **{key: value for key, value in changes.items() if value is not None})
    if generation is not None:
        link = replace(link, flit_mode=None)
    payloads = read_sizes(sizes, "--messages")
    if profile is None:
        say(f"core: {chosen.title} ({chosen.name})")
    for note in times_of_older_link(chosen, link):
        say(note)
    with errors_name_options():
        rows = _rows(show, chosen, link, payloads, flushes, accounting)
    title = (
        f"modelled ({accounting}): {chosen.name}, Gen{link.generation} x{link.lanes}, MPS {link.mps_bytes}, "
        f"{link.address_bits}-bit addresses"
    )
    if output_format is Format.TABLE:
        rows = [_for_reading(row) for row in rows]
    print_rows(rows, output_format, title)


_SHORT_HEADS = {"downstream_bytes": "bytes_down", "upstream_bytes": "bytes_up"}
"""Short names of columns that would make a table wider than a terminal."""


def _for_reading(row: dict[str, Cell]) -> dict[str, Cell]:
    """A row as a table shows it: short heads, and whole bytes without decimals."""
    return {
        _SHORT_HEADS.get(key, key): int(cell) if key in _SHORT_HEADS and cell == int(cell or 0) else cell
        for key, cell in row.items()
    }


def _rows(
    show: Show, profile: "MessageProfile", link: Link, payloads: list[int], flushes: int, accounting: Accounting
) -> list[dict[str, Cell]]:
    if show is Show.CROSSINGS:
        found = model.crossings(profile, link=link, accounting=accounting)
        say(
            "payload sizes at which descriptors first beat write-combined stores (first), and from which they "
            f"always do (from); the host's times are those of {profile.name}"
        )
        return [
            {"by": by, "first_bytes": crossing.first_bytes, "from_bytes": crossing.from_bytes}
            for by, crossing in (
                ("latency", found.latency),
                ("bandwidth", found.bandwidth),
                ("cpu-time", found.cpu),
            )
        ]
    if show is Show.LOOPBACK:
        return [
            {
                "packet_bytes": answer.packet_bytes,
                "total_ns": answer.total_ns,
                "pcie_ns": answer.pcie_ns,
                "nic_ns": answer.nic_ns,
                "pcie_percent": 100 * answer.pcie_share,
            }
            for answer in model.loopback(profile, payloads, link=link)
        ]
    answers = model.messages(profile, payloads, link=link, flushes=flushes, accounting=accounting)
    rows_of = _steps if show is Show.STEPS else _ways
    return [row for answer in answers for row in rows_of(answer)]


def _ways(answer: "Messages") -> list[dict[str, Cell]]:
    ways = {
        "uncached": answer.uncached,
        "write-combined": answer.write_combined,
        "descriptors": answer.descriptors,
    }
    return [
        {
            "payload_bytes": answer.payload_bytes,
            "way": way,
            "buffers": answer.buffers if way == "write-combined" else None,
            "downstream_bytes": sending.downstream_bytes,
            "upstream_bytes": sending.upstream_bytes,
            "wire_efficiency_percent": 100 * sending.wire_efficiency,
            "control_percent": 100 * answer.control_share if way == "descriptors" else 0.0,
            "latency_ns": sending.latency_ns,
            "cpu_ns": sending.cpu_ns,
            "gbps": sending.bandwidth.gbps,
            "bound": sending.bandwidth.bound,
        }
        for way, sending in ways.items()
    ]


def _steps(answer: "Messages") -> list[dict[str, Cell]]:
    steps = [
        ("write-combined", "payload", answer.write_combined.latency_ns),
        ("descriptors", "doorbell", 0.0),
        ("descriptors", "descriptor", answer.descriptor_ns),
        ("descriptors", "payload-request", answer.payload_request_ns),
        ("descriptors", "payload", answer.descriptors.latency_ns),
    ]
    return [
        {"payload_bytes": answer.payload_bytes, "way": way, "step": step, "at_ns": at_ns}
        for way, step, at_ns in steps
        if at_ns is not None
    ]
