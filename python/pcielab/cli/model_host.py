"""`pcielab model host`: what busy cores, an IOMMU and pools of lines leave to devices, in closed form."""

from typing import TYPE_CHECKING, Annotated

import typer

from pcielab import model
from pcielab._core import read_counts, read_width
from pcielab.cli.completion import choice
from pcielab.cli.model_options import errors_name_options
from pcielab.cli.option_sets import Profile, Sets
from pcielab.cli.output import Cell, Format, FormatOption, print_rows, say
from pcielab.cli.quantities import size_option
from pcielab.cli.stores import say_borrowed
from pcielab.errors import refusal
from pcielab.wording import shown

if TYPE_CHECKING:
    from pcielab.model.answers import PoolFill
    from pcielab.model.host_questions import LoadedHost

_CORES_MOST = 4096
_BOUNDS = ("write_bound", "read_bound")
_KINDS = ("read", "read-write")


def host(
    cores: Annotated[
        str, typer.Option("--load", help="Busy cores: 3, 0,3,6 or first:last[:step].", metavar="LIST|RANGE")
    ] = "0:6",
    profile: Profile = "clx-6234",
    changes: Sets = None,
    kind: Annotated[
        str | None,
        choice("--kind", _KINDS, "What the cores do, by default what the system says"),
    ] = None,
    size: Annotated[int, size_option("--size", "Bytes of a transfer.", show_default="4K")] = 4 << 10,
    misses: Annotated[
        float | None,
        typer.Option(
            "--misses",
            help="IO-TLB misses for each MiB of data.  [default: one for each page given anew]",
            show_default=False,
        ),
    ] = None,
    devices: Annotated[
        str | None,
        typer.Option(
            "--devices",
            help="Links of several devices below the root complex: gen4x16,4x gen4x4.  [default: the system's]",
            metavar="LINKS",
            show_default=False,
        ),
    ] = None,
    offered: Annotated[
        float | None,
        typer.Option(
            "--offered",
            help="What each device asks for in each direction, Gb/s of data.  [default: all that its link gives]",
            show_default=False,
        ),
    ] = None,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Compute what a host leaves to its devices beside busy cores, in Gb/s of data, and what binds.

    Busy cores that read and write share a saturated memory with the writes of devices; cores that only read cost a
    device nothing. `write_pool_lines` and `read_pool_lines` are the cache lines that the root complex holds, and
    the latencies how long it holds each. Several devices share pools, IOMMU and memory max-min, reads and writes
    apart. A system that has no key for load answers for 0 cores. Latencies are those of devices that ask for all
    that their links give, or for `--offered`. `extrapolated` marks numbers of cores that nobody measured.

    Examples:
    `pcielab model host --load 3 --profile clx-6234`

    `pcielab model host --load 3 --offered 80`

    `pcielab model host --load 0,4 --profile clx-6234 --devices 'gen3x16,4x gen3x4'`

    `pcielab model host --load 0 --profile icx-6346 --misses 432`
    """
    from pcielab.library.profiles import resolve
    from pcielab.library.profiles.borrowed import borrowed_keys

    system = resolve(profile, changes or [])
    links = [link.strip() for link in (devices or "").split(",") if link.strip()]
    for link in links:
        read_width(link, "--devices")
    if kind not in (None, *_KINDS):
        raise refusal("not-found", f"--kind {shown(kind)}: give {' or '.join(_KINDS)}")
    with errors_name_options(
        cores="--load", size_bytes="--size", misses_per_mib="--misses", offered_gbps="--offered"
    ):
        answers = model.host(
            system,
            read_counts(cores, "--load", _CORES_MOST),
            kind=kind,  # type: ignore[arg-type]
            size_bytes=size,
            misses_per_mib=misses,
            devices=links,
            offered_gbps=offered,
        )
    rows = [_named(row, offered) for answer in answers for row in _rows(answer)]
    say_borrowed((str(row[key]) for key in _BOUNDS for row in rows), borrowed_keys(system))
    for note in answers.notes:
        say(f"extrapolated: {note}")
    if output_format is Format.TABLE and not any(row["extrapolated"] for row in rows):
        rows = [{key: cell for key, cell in row.items() if key != "extrapolated"} for row in rows]
    asking = "" if offered is None else f", each device offers {offered:g} Gb/s"
    print_rows(rows, output_format, f"modelled: {system.title}{asking}")


def _named(row: dict[str, Cell], offered: float | None) -> dict[str, Cell]:
    """A row in which the bound of an offered rate is called so."""
    if offered is None:
        return row
    return {key: "offered" if key in _BOUNDS and cell == "device-rate" else cell for key, cell in row.items()}


def _rows(answer: "LoadedHost") -> list[dict[str, Cell]]:
    shared: dict[str, Cell] = {
        "write_traffic_gbytes_per_s": answer.write_traffic_gbytes_per_s,
        **_pool("write_pool", answer.write_pool),
        **_pool("read_pool", answer.read_pool),
        "extrapolated": answer.extrapolated,
    }
    return [
        {
            "cores": answer.cores,
            "device": number,
            "write_gbps": device.write.gbps,
            "write_bound": device.write.bound,
            "read_gbps": device.read.gbps,
            "read_bound": device.read.bound,
            **shared,
        }
        for number, device in enumerate(answer.devices)
    ]


def _pool(name: str, fill: "PoolFill | None") -> dict[str, Cell]:
    return {
        f"{name}_lines": None if fill is None else fill.lines,
        f"{name}_latency_ns": None if fill is None else fill.latency_ns,
    }
