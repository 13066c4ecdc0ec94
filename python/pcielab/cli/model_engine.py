"""`pcielab model engine`: rates of drives, copy engines of GPUs and FPGA shells."""

from dataclasses import replace
from typing import Annotated, Any

import typer

from pcielab import model
from pcielab._core import read_sizes
from pcielab.cli.completion import profile_names, set_option
from pcielab.cli.model_options import errors_name_options, link_option
from pcielab.cli.output import Cell, Format, FormatOption, print_rows
from pcielab.library import shipped

_ENGINES = "the engine's"


def engine(
    engines: Annotated[
        list[str],
        typer.Argument(
            help=f"{', '.join(shipped.profile_files('engine'))}, or .toml files.",
            metavar="NAME|FILE...",
            autocompletion=profile_names("engine"),
        ),
    ],
    sizes: Annotated[
        str,
        typer.Option(
            "--sizes",
            help="Data of a command: 60 to 4K, or multiples of 4K: 512,4K,128K or first:last[:step].",
            metavar="LIST|RANGE",
        ),
    ] = "512,4K,16K,128K,1M,16M",
    depth: Annotated[
        int | None,
        typer.Option("--depth", help="Commands in flight.  [default: the engine's]", show_default=False),
    ] = None,
    generation: Annotated[int | None, link_option("generation", _ENGINES)] = None,
    lanes: Annotated[int | None, link_option("lanes", _ENGINES)] = None,
    mps_bytes: Annotated[int | None, link_option("mps_bytes", _ENGINES)] = None,
    mrrs_bytes: Annotated[int | None, link_option("mrrs_bytes", _ENGINES)] = None,
    sets: Annotated[
        list[str] | None,
        set_option("Change one value of the engine, as engine.queue.depth=64", "engine"),
    ] = None,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Compute the rate of a drive, a GPU's copy engines or an FPGA's DMA engine, in GB/s, and what binds it.

    `to_device` commands read host memory, `to_host` commands write it; `both` runs them at equal rates, and gives
    the rate of one direction. The rate is the least of four bounds: the link with every access of a command
    (`wire-upstream`, `wire-downstream`), the commands in flight (`queue-depth`), the engine's commands a second
    (`command-rate`), and the data that the device itself takes or gives (`device`).

    Examples:
    `pcielab model engine gpu gpu-h100 --sizes 4K,64K,1M,16M`

    `pcielab model engine nvme-gen4 --sizes 4K --depth 1`

    `pcielab model engine gpu-h100 --gen 4 --mps 128`

    `pcielab model engine nvme-gen4 --set engine.pace.command_ns=500 --sizes 4K`
    """
    from pcielab.library.profiles.read import own_sets

    given = {"generation": generation, "lanes": lanes, "mps_bytes": mps_bytes, "mrrs_bytes": mrrs_bytes}
    rows: list[dict[str, Cell]] = []
    for name in engines:
        profile = model.load_engine(name, own_sets("engine", sets or (), "an engine"))
        changes: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        link = replace(profile.usual_link, **changes)
        with errors_name_options():
            answers = model.engine(profile, read_sizes(sizes, "--sizes"), link=link, depth=depth)
        for answer in answers:
            ways = {"to_device": answer.to_device, "to_host": answer.to_host, "both": answer.both}
            row: dict[str, Cell] = {
                "engine": profile.name,
                "size_bytes": answer.size_bytes,
                "depth": answer.depth,
            }
            row |= {f"{way}_gbytes_per_s": rate.gbytes_per_s for way, rate in ways.items()}
            row |= {f"{way}_bound": rate.bound for way, rate in ways.items()}
            rows.append(row)
    print_rows(rows, output_format, "modelled (spec): each engine on its usual link" + _changed(given))


def _changed(given: dict[str, int | None]) -> str:
    changes = [f"{key} {value}" for key, value in given.items() if value is not None]
    return f", changed: {', '.join(changes)}" if changes else ""
