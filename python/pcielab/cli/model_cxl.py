"""`pcielab model cxl`: what memory behind CXL.mem gives, and how long a read takes."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab import model
from pcielab._core import read_number
from pcielab.cli.completion import profile_names, set_option
from pcielab.cli.model_options import errors_name_options
from pcielab.cli.output import Cell, Format, FormatOption, print_rows
from pcielab.errors import refusal
from pcielab.library import shipped

if TYPE_CHECKING:
    from pcielab.library.expanders import ExpanderProfile
    from pcielab.model import ExpanderLoad, ExpanderRates

_USUAL = "cxl2-ddr5-5600"


def cxl(
    expanders: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"{', '.join(shipped.profile_files('expander'))}, or .toml files.  [default: {_USUAL}]",
            metavar="NAME|FILE...",
            show_default=False,
            autocompletion=profile_names("expander"),
        ),
    ] = None,
    reads: Annotated[
        str, typer.Option("--reads", help="Shares of the lines that are read: 0.58 or 58%.", metavar="LIST")
    ] = "0,50%,67%,100%",
    loads: Annotated[
        str, typer.Option("--loads", help="Shares of the peak, at most 0.99 or 99%.", metavar="LIST")
    ] = "0,50%,90%",
    generation: Annotated[
        int | None, typer.Option("--gen", help="PCIe generation of the link.  [default: the expander's]")
    ] = None,
    lanes: Annotated[int | None, typer.Option("--lanes", help="Link width.  [default: the expander's]")] = None,
    cores: Annotated[
        int | None,
        typer.Option("--cores", help="Cores, whose lines in flight may limit the peak.  [default: any number]"),
    ] = None,
    fill_buffers: Annotated[
        int, typer.Option("--fill-buffers", help="With --cores: lines that each keeps in flight.")
    ] = 16,
    host_ns: Annotated[
        float, typer.Option("--host-ns", help="With --cores: the host's part of the time of a line.")
    ] = 0.0,
    weights: Annotated[
        str | None,
        typer.Option(
            "--interleave",
            metavar="WEIGHTS",
            help="Interleave lines over all expanders, by these weights; with --local, its weight first: 3,1.",
            show_default=False,
        ),
    ] = None,
    local: Annotated[
        str | None,
        typer.Option(
            "--local",
            metavar="CHANNELSxMT/s",
            help="With --interleave: memory of the host beside the expanders: 8x4800.",
            show_default=False,
        ),
    ] = None,
    local_ns: Annotated[
        float, typer.Option("--local-ns", help="With --local: time of an unloaded read of it.")
    ] = 90.0,
    details: Annotated[bool, typer.Option("--details", help="Add columns (see above).")] = False,
    sets: Annotated[
        list[str] | None,
        set_option("Change one value of the expander, as expander.memory.channels=2", "expander"),
    ] = None,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Compute the peak of a CXL memory expander for mixes of reads and writes, and the time of a read below it.

    The peak counts the data of both directions. It is the least of four bounds: slots of flits to memory, which
    writes fill; slots from memory, which reads fill; the memory's bus; its banks. The latency is the mean beyond
    the host. Generations 6 and 7 have flits of 256 B. `--details` adds the slots of a line each way, and where a
    read waits. `--cores` adds a bound: their lines in flight. `--interleave` spreads lines over several expanders,
    and with `--local` over memory of the host: the first that is full limits all.

    Examples:
    `pcielab model cxl --reads 58%`

    `pcielab model cxl --gen 6 --reads 0,0.5,1 --loads 0,25%,50%,75%,90%`

    `pcielab model cxl cxl2-ddr5-5600 --set expander.memory.channels=2 --details`

    `pcielab model cxl --cores 1 --host-ns 100 --reads 1`

    `pcielab model cxl cxl2-ddr5-5600 cxl2-ddr5-5600 --local 8x4800 --interleave 8,1,1 --reads 67%`
    """
    from pcielab.library.profiles.read import own_sets

    if weights is not None:
        if cores is not None:
            raise refusal(
                "conflict", "--cores: lines in flight of interleaved memories are not modelled: leave it out"
            )
        own = own_sets("expander", sets or (), "an expander")
        profiles = [
            model.load_expander(name, own).with_(_changes(generation, lanes)) for name in expanders or [_USUAL]
        ]
        _print_interleaved(profiles, weights, local, local_ns, reads, loads, output_format)
        return
    if local is not None:
        raise refusal("missing", "--local: is interleaved with expanders: give --interleave WEIGHTS, as 3,1")
    requesters = None if cores is None else {"cores": cores, "fill_buffers": fill_buffers, "host_ns": host_ns}
    rows: list[dict[str, Cell]] = []
    for name in expanders or [_USUAL]:
        profile = model.load_expander(name, own_sets("expander", sets or (), "an expander"))
        with errors_name_options():
            profile = profile.with_(_changes(generation, lanes))
            shares, at_loads = _shares(reads, "--reads"), _shares(loads, "--loads")
            answers = model.expander(profile, shares, loads=at_loads, requesters=requesters)
        for answer in answers:
            for at in answer.loads:
                row: dict[str, Cell] = {
                    "expander": profile.name,
                    "read_share": answer.read_share,
                    "peak_gbytes_per_s": answer.peak_gbytes_per_s,
                    "bound": answer.bound,
                    "load": at.load,
                    "gbytes_per_s": at.gbytes_per_s,
                    "read_latency_ns": at.read_latency_ns,
                }
                if details:
                    row |= _details(answer, at)
                rows.append(row)
    print_rows(rows, output_format, "modelled (spec): memory behind CXL.mem, read latency beyond the host")


def _print_interleaved(
    profiles: "list[ExpanderProfile]",
    weights: str,
    local: str | None,
    local_ns: float,
    reads: str,
    loads: str,
    output_format: Format,
) -> None:
    """Print what memories give together: a row for each mix and load, with each memory's part."""
    given = [read_number(part.strip(), "--interleave", "number", "", (1e-6, 1e6)) for part in weights.split(",")]
    memories = len(profiles) + (local is not None)
    if len(given) != memories:
        names = ("local, " if local is not None else "") + ", ".join(profile.name for profile in profiles)
        raise refusal(
            "wrong-value", f"--interleave {weights}: {memories} memories: give a weight for each of {names}"
        )
    own = None if local is None else _local(local, local_ns, profiles[0])
    first = None if own is None else (own, given.pop(0))
    with errors_name_options():
        answers = model.interleaved(
            list(zip(profiles, given, strict=True)),
            _shares(reads, "--reads"),
            local=first,
            loads=_shares(loads, "--loads"),
        )
    rows: list[dict[str, Cell]] = []
    for answer in answers:
        parts = " + ".join(f"{member.gbytes_per_s:.1f}" for member in answer.members)
        rows += [
            {
                "read_share": answer.read_share,
                "peak_gbytes_per_s": answer.peak_gbytes_per_s,
                "of_each": parts,
                "bound": answer.bound,
                "load": at.load,
                "gbytes_per_s": at.gbytes_per_s,
                "read_latency_ns": at.read_latency_ns,
                "latency_of_each": ", ".join(f"{ns:.1f}" for ns in at.member_latencies_ns),
            }
            for at in answer.loads
        ]
    names = ", ".join(member.name for member in answers[0].members)
    print_rows(
        rows, output_format, f"modelled (spec): lines interleaved over {names}, read latency beyond the host"
    )


def _local(text: str, unloaded_ns: float, like: "ExpanderProfile") -> dict[str, Any]:
    found = re.fullmatch(r"\s*(\d{1,3})\s*x\s*(?:ddr\d-)?(\d{3,5})\s*", text, re.IGNORECASE)
    if found is None:
        raise refusal("wrong-value", f"--local {text}: give channels and MT/s, as 8x4800 or 8xDDR5-4800")
    return model.local_memory(int(found[1]), int(found[2]), unloaded_ns=unloaded_ns, like=like)


def _changes(generation: int | None, lanes: int | None) -> dict[str, object]:
    """Changes of the link; flits follow the generation."""
    changes: dict[str, object] = {} if lanes is None else {"link.lanes": lanes}
    if generation is not None:
        changes |= {"link.generation": generation} | ({"link.flit_bytes": 256} if generation > 5 else {})
    return changes


def _shares(text: str, option: str) -> list[float]:
    return [read_number(part.strip(), option, "share", "", (0.0, 1.0)) for part in text.split(",")]


def _details(answer: "ExpanderRates", at: "ExpanderLoad") -> dict[str, Cell]:
    return {
        "slots_to_memory": answer.slots_to_memory,
        "slots_from_memory": answer.slots_from_memory,
        "to_memory_wait_ns": at.to_memory_wait_ns,
        "bank_wait_ns": at.bank_wait_ns,
        **({"refresh_wait_ns": at.refresh_wait_ns} if at.refresh_wait_ns else {}),
        "bus_wait_ns": at.bus_wait_ns,
        "from_memory_wait_ns": at.from_memory_wait_ns,
    }
