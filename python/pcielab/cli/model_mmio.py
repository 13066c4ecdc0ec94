"""`pcielab model mmio`: what loads, stores and doorbells of a core to a device cost."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from pcielab import model
from pcielab._core import read_sizes
from pcielab.cli.completion import choice, profile_names, set_option
from pcielab.cli.model_options import errors_name_options, link_option
from pcielab.cli.output import Cell, Format, FormatOption, print_rows
from pcielab.library import shipped
from pcielab.library.figure_words import INSTRUCTIONS
from pcielab.library.published_accesses import published_accesses
from pcielab.library.usual_link import USUAL_MPS_BYTES

if TYPE_CHECKING:
    from pcielab.model import Access, AccessTimes, BarProfile, CoreProfile

_ONE_STORE = ("doorbell", "exchange")


def mmio(
    instructions: Annotated[
        list[str] | None,
        choice(
            "--instruction",
            tuple(INSTRUCTIONS),
            f"{'; '.join(f'{word}: {text}' for word, text in INSTRUCTIONS.items())}; repeatable",
        ),
    ] = None,
    sizes: Annotated[
        str,
        typer.Option(
            "--sizes", help="Bytes of one access: 64, first:last[:step] or 64:4K:x2.", metavar="LIST|RANGE"
        ),
    ] = "4,8,64,4K,1M",
    width: Annotated[
        int | None,
        typer.Option(
            "--width", min=1, max=64, help="Bytes of one load or store.  [default: at most 8 if uncached]"
        ),
    ] = None,
    core: Annotated[
        str | None,
        typer.Option(
            "--core",
            metavar="NAME|FILE",
            help=f"{', '.join(shipped.profile_files('core'))}, or a .toml file.  [default: by --gen]",
            autocompletion=profile_names("core"),
            show_default=False,
        ),
    ] = None,
    cpu: Annotated[
        str | None,
        typer.Option("--cpu", metavar="TEXT", help="The processor's name, instead of --core.", show_default=False),
    ] = None,
    bar: Annotated[
        str | None,
        typer.Option(
            "--bar",
            metavar="NAME|FILE",
            help=f"{', '.join(shipped.profile_files('bar'))}, or a .toml file.  [default: gpu]",
            autocompletion=profile_names("bar"),
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="TEXT", help="The device's name, instead of --bar.", show_default=False),
    ] = None,
    cores: Annotated[int, typer.Option("--cores", min=1, max=256, help="Cores that do the same at once.")] = 1,
    switches: Annotated[int, typer.Option("--switches", min=0, max=8, help="Switches before the device.")] = 0,
    remote: Annotated[bool, typer.Option("--remote", help="The device is at the other socket.")] = False,
    fenced: Annotated[
        bool, typer.Option("--fenced", help="Add the call of a copy and the fence that ends it.")
    ] = False,
    links: Annotated[
        bool,
        typer.Option(
            "--links", help="Each link from Gen3 x8 to Gen5 x16 with its usual core, beside published figures."
        ),
    ] = False,
    generation: Annotated[int | None, link_option("generation")] = None,
    lanes: Annotated[int | None, link_option("lanes")] = None,
    simulated: Annotated[
        bool, typer.Option("--simulate", help="Simulate TLP by TLP, beside the closed form.")
    ] = False,
    core_sets: Annotated[
        list[str] | None,
        set_option("Change one value of the core, as core.stores.buffers.usual=12", "core"),
    ] = None,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Compute what loads, stores and doorbells of a core to a device's BAR cost, by instruction and size.

    A load is a round trip. Stores run at the pace of the slowest step: the core, its write-combining buffers, the
    link, the device. Each value has an interval: that of all machines whose profile it is.

    Examples:
    `pcielab model mmio --gen 5 --lanes 16`

    `pcielab model mmio --links`

    `pcielab model mmio --instruction uncached-load --sizes 1,8,64 --device 'Alveo U55C' --gen 3`

    `pcielab model mmio --instruction combined-store --sizes 64K --cpu 'EPYC 9654' --cores 4 --simulate`
    """
    from pcielab.errors import refusal
    from pcielab.library.profiles.read import own_sets

    for one, other, left, right in (("--core", "--cpu", core, cpu), ("--bar", "--device", bar, device)):
        if left is not None and right is not None:
            raise refusal("conflict", f"{one} and {other} name the same: give one of them")
    from pcielab.library.cores import bar_for, core_for

    if links:
        given = {
            "--core": core,
            "--cpu": cpu,
            "--gen": generation,
            "--lanes": lanes,
            "--instruction": instructions,
        }
        if wrong := [option for option, value in given.items() if value is not None]:
            raise refusal("conflict", f"{wrong[0]}: has no effect with --links: leave {wrong[0]} out")
        device_side = model.load_bar(bar or bar_for(device))
        title = "modelled: the usual core of each link, to " + _lower(device_side.title)
        print_rows(list(_of_links(device_side)), output_format, title)
        return
    generation = 5 if generation is None else generation
    link = model.Link(
        generation=generation, lanes=16 if lanes is None else lanes, mps_bytes=USUAL_MPS_BYTES, mrrs_bytes=512
    )
    chosen = model.load_core(core or core_for(cpu, generation), own_sets("core", core_sets or (), "the core"))
    device_side = model.load_bar(bar or bar_for(device))
    wanted = instructions or [word for word in INSTRUCTIONS if _has(chosen, word)]
    accesses = [
        model.Access(
            instruction=instruction,  # type: ignore[arg-type]
            size_bytes=size,
            width_bytes=width,
            cores=cores,
            switches=switches,
            remote=remote,
            fenced=fenced,
        )
        for instruction in wanted
        for size in read_sizes(sizes, "--sizes")
        if size <= 64 or instruction not in _ONE_STORE
    ]
    with errors_name_options(size_bytes="--sizes", width_bytes="--width", instruction="--instruction"):
        answers = model.mmio(chosen, device_side, accesses, link=link)
        outcomes = model.simulated_mmio(chosen, device_side, accesses, link=link) if simulated else None
    rows = [_row(answer) for answer in answers]
    if outcomes is not None:
        for row, outcome in zip(rows, outcomes, strict=True):
            row |= {"simulated_core_ns": outcome.core_ns, "simulated_gbytes_per_s": outcome.gbytes_per_s}
    title = f"modelled: {chosen.title}, to {_lower(device_side.title)}"
    print_rows(rows, output_format, f"{title}, Gen{link.generation} x{link.lanes}")


def _lower(title: str) -> str:
    """A title within a sentence."""
    return f"{title[0].lower()}{title[1:]}"


_LINKS = ((3, 8), (3, 16), (4, 8), (4, 16), (5, 8), (5, 16))
_USUAL = (
    ("uncached-load", 4, 4),
    ("uncached-load", 64, 64),
    ("streaming-load", 131_072, None),
    ("uncached-store", 4, 4),
    ("doorbell", 4, None),
    ("combined-store", 131_072, None),
    ("direct-store", 64, None),
    ("enqueue-store", 64, None),
)
"""Instructions of the table over links, with the size of an access and the width of one instruction."""
_SIMILAR = 4
"""Published sizes within this factor stand beside a row."""


def _of_links(bar: "BarProfile") -> Iterator[dict[str, Cell]]:
    """What the usual core of each link reaches by each instruction, with a published figure where there is one."""
    from pcielab.library.cores import core_for

    for generation, lanes in _LINKS:
        core = model.load_core(core_for(None, generation))
        link = model.Link(generation=generation, lanes=lanes, mps_bytes=USUAL_MPS_BYTES, mrrs_bytes=512)
        for instruction, size, width in _USUAL:
            if not _has(core, instruction):
                continue
            access = model.Access(
                instruction=instruction,  # type: ignore[arg-type]
                size_bytes=size,
                width_bytes=width,
                fenced=instruction == "combined-store",
            )
            [answer] = model.mmio(core, bar, [access], link=link)
            rate = [
                1e3 * size / took for took in (answer.core_ns.most, answer.core_ns.usual, answer.core_ns.least)
            ]
            yield {
                "link": f"Gen{generation} x{lanes}",
                "instruction": instruction,
                "bytes": size,
                "core_ns": answer.core_ns.usual,
                "mbytes_per_s": rate[1],
                "least": rate[0],
                "most": rate[2],
                "bound": answer.bound,
                "published": _published(access, f"gen{generation}x{lanes}", bar.name),
            }


def _published(access: "Access", link: str, bar: str) -> str | None:
    """The published figure of the nearest size of an access on a link to the same kind of device."""
    from pcielab.library.cores import bar_for

    found = [
        row
        for row in published_accesses()
        if row.question_link == link
        and row.instruction == access.instruction
        and not (row.remote or row.first_touch or row.window_set)
        and row.cores == 1
        and bar_for(row.device) == bar
        and row.access_bytes <= _SIMILAR * access.size_bytes <= _SIMILAR**2 * row.access_bytes
        and row.width_bytes in (None, access.width_bytes)
    ]
    if not found:
        return None
    nearest = min(found, key=lambda row: (abs(row.access_bytes - access.size_bytes), row.id))
    return f"{nearest.value:g} {nearest.unit}, {nearest.id}"


def _has(core: "CoreProfile", instruction: str) -> bool:
    """Whether a core has an instruction."""
    if instruction == "direct-store":
        return core.stores.direct_ns is not None
    return instruction != "enqueue-store" or core.loads.enqueues


def _row(answer: "AccessTimes") -> dict[str, Cell]:
    return {
        "instruction": answer.instruction,
        "bytes": answer.size_bytes,
        "core_ns": answer.core_ns.usual,
        "core_ns_least": answer.core_ns.least,
        "core_ns_most": answer.core_ns.most,
        "done_ns": answer.done_ns.usual,
        "gbytes_per_s": answer.gbytes_per_s.usual,
        "least": answer.gbytes_per_s.least,
        "most": answer.gbytes_per_s.most,
        "bound": answer.bound,
    }
