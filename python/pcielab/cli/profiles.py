"""`pcielab profiles`: list and show profiles, print JSON Schemas, write skeletons of new ones."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcielab.cli.completion import profile_names, set_option
from pcielab.cli.output import Cell, Format, FormatOption, OverwriteOption, is_stdout, print_data, print_rows, say
from pcielab.errors import InputError, refusal, with_message
from pcielab.library import catalog, shipped
from pcielab.library.shipped import ProfileKind

if TYPE_CHECKING:
    from pcielab.library.profiles.listing import Listing

app = typer.Typer()

Formats = FormatOption
Sets = Annotated[
    list[str] | None,
    set_option("Change one value, as host.iommu.walk_ns=300 or nic.queues.pairs=4", system=True),
]


def print_listing(shown: "Listing", output_format: Format) -> None:
    """Print a profile's values; a table is followed by the sources of its parts."""
    print_rows([{**row} for row in shown.values], output_format, title=shown.title)
    if output_format is Format.TABLE:
        print_rows([{**row} for row in shown.sources], output_format, title="Where the values come from")


@app.command("list")
def list_profiles(
    kind: Annotated[ProfileKind | None, typer.Option("--kind", help="Only this kind.")] = None,
    output_format: Formats = Format.TABLE,
) -> None:
    """List the shipped profiles and their aliases; experimental ones are listed apart, with the reason."""
    rows: list[dict[str, Cell]] = [
        {
            "kind": one,
            "name": name,
            "aliases": " ".join(alias for alias, of in shipped.aliases(one).items() if of == name),
            "title": shipped.title(path),
            "experimental": shipped.experimental(path),
        }
        for one in ([kind] if kind else shipped.PROFILE_FOLDERS)
        for name, path in shipped.profile_files(one).items()
    ]
    apart = [row for row in rows if row["experimental"]]
    others = [row for row in rows if not row["experimental"]]
    if output_format is not Format.TABLE:
        print_rows([*others, *apart], output_format)
        return
    print_rows(
        [{key: cell for key, cell in row.items() if key != "experimental"} for row in others], output_format
    )
    if apart:
        print_rows(
            apart,
            output_format,
            title="Experimental: not calibrated, and not counted among the calibrated systems",
        )


@app.command()
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            help="A shipped profile of any kind, or a file (*.toml).",
            autocompletion=profile_names(*shipped.PROFILE_FOLDERS),
        ),
    ],
    kind: Annotated[
        ProfileKind | None,
        typer.Option("--kind", help="Kind of profile, if several have this name.  [default: the first]"),
    ] = None,
    sets: Sets = None,
    resolved: Annotated[bool, typer.Option("--resolved", help="Print the JSON that the simulator reads.")] = False,
    output_format: Formats = Format.TABLE,
) -> None:
    """Print every value of a profile with its source; a system includes its link, host and device.

    A device of fabrics (`nic-400g`) is shown, too; a fabric's file may change it as `devices.NAME`.
    """
    if kind is None and not sets and not resolved and (preset := catalog.preset_listing(name)) is not None:
        print_listing(preset, output_format)
        return
    kinds = [kind] if kind else catalog.profile_kinds(name)
    if resolved:
        if kinds[0] != "system":
            raise refusal("conflict", f"--resolved: shows systems only, not a {kinds[0]}")
        if output_format is Format.CSV:
            raise refusal("conflict", "--resolved: prints JSON only: leave out --format")
        from pcielab.library import profiles

        print_data(profiles.resolve(name, sets or ()).to_json())
        return
    print_listing(catalog.profile_listing(kinds[0], name, sets or ()), output_format)
    for other in kinds[1:]:
        say(f"note: {name} is also a {other} profile: show it with --kind {other}")


@app.command()
def schema(kind: Annotated[ProfileKind, typer.Argument(help="Kind of profile.")]) -> None:
    """Print the JSON Schema of a kind of file, for editors and generators."""
    from pcielab.library.editor_schemas import editor_schema

    print_data(json.dumps(editor_schema(kind), indent=1))


@app.command("skeleton")
def make_skeleton(
    lspci: Annotated[Path, typer.Option("--lspci", help="Output of `lspci -vvv`, run as root.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="File to write, or `-` for stdout. Its name without .toml names the system."
        ),
    ],
    device: Annotated[
        str | None, typer.Option("--device", help="Slot (02:00.0) or vendor:device (19ee:6000) of the device.")
    ] = None,
    host: Annotated[str | None, typer.Option("--host", help="Host profile to start from.")] = None,
    card: Annotated[str | None, typer.Option("--card", help="Device profile to start from.")] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Write a first system profile from the lspci output of a machine; nothing in it is calibrated."""
    from pcielab.doctor import read_lspci_file
    from pcielab.doctor.skeleton import skeleton
    from pcielab.doctor.tree import short
    from pcielab.outputs import check_file, write_file

    machine = read_lspci_file(lspci)
    check_file(output, overwrite=overwrite)
    try:
        made = skeleton(machine, "mine" if is_stdout(output) else output.stem, device, host, card)
    except InputError as error:
        raise with_message(error, f"--lspci {lspci}: {error}") from None
    write_file(output, made.text.encode(), overwrite=overwrite)
    chosen = f"{short(made.function.slot)} {made.function.title}"
    host = f"host {made.host} ({made.host_reason})"
    say(f"{output}: {chosen}; {host}, device {made.card}: uncalibrated")
    if made.downgrade:
        say(f"warning: {made.downgrade}: run `pcielab doctor` to find the cause")
