"""The system of a command: `--profile` and `--set`, what the caches of its host hold, and the seed."""

from typing import Annotated

import typer

from pcielab.cli.completion import choice, keys_to_set, profile_names

_CACHES = ("cold", "device-thrash", "device-warm", "host-warm")
Profile = Annotated[
    str,
    typer.Option(
        "--profile",
        help="System: a name or a .toml file.",
        metavar="NAME|FILE",
        autocompletion=profile_names("system"),
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        autocompletion=keys_to_set,
        help="Change a key of the system; repeatable.",
    ),
]
Cache = Annotated[str, choice("--cache", _CACHES, "State of the caches at the start")]
WarmWindow = Annotated[
    str, typer.Option("--window", metavar="BYTES", help="Bytes that are warm, from the start of the buffer.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=(1 << 64) - 1, help="Seed of random draws.")]
