"""`pcielab model cxl`: what memory behind CXL.mem gives, and how long a read takes."""

from typing import TYPE_CHECKING, Annotated

import typer

from pcielab import model
from pcielab._core import read_number
from pcielab.cli.completion import profile_names, set_option
from pcielab.cli.model_options import errors_name_options
from pcielab.cli.output import Cell, Format, FormatOption, print_rows
from pcielab.library import shipped

if TYPE_CHECKING:
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
    read waits.

    Examples:
    `pcielab model cxl --reads 58%`

    `pcielab model cxl --gen 6 --reads 0,0.5,1 --loads 0,25%,50%,75%,90%`

    `pcielab model cxl cxl2-ddr5-5600 --set expander.memory.channels=2 --details`
    """
    from pcielab.library.profiles.read import own_sets

    rows: list[dict[str, Cell]] = []
    for name in expanders or [_USUAL]:
        profile = model.load_expander(name, own_sets("expander", sets or (), "an expander"))
        with errors_name_options():
            profile = profile.with_(_changes(generation, lanes))
            answers = model.expander(profile, _shares(reads, "--reads"), loads=_shares(loads, "--loads"))
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
        "bus_wait_ns": at.bus_wait_ns,
        "from_memory_wait_ns": at.from_memory_wait_ns,
    }
