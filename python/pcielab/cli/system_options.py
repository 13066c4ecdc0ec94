"""The system of a command: `--profile` and `--set`, what the caches of its host hold, and the seed."""

from typing import Annotated

import typer

from pcielab.cli.completion import choice, profile_names, set_option
from pcielab.cli.output import say
from pcielab.cli.quantities import size_option
from pcielab.errors import refusal

_CACHES = ("cold", "device-thrash", "device-warm", "host-warm")


def _announced(context: typer.Context, parameter: typer.CallbackParam, value: str) -> str:
    """The system, named on stderr if nobody gave it."""
    source = context.get_parameter_source(parameter.name or "")
    if source is not None and source.name == "DEFAULT" and not context.resilient_parsing:
        say(f"assumed: --profile {value}")
    return value


Profile = Annotated[
    str,
    typer.Option(
        "--profile",
        help="System: a name or a .toml file.",
        metavar="NAME|FILE",
        autocompletion=profile_names("system"),
        callback=_announced,
    ),
]
Sets = Annotated[list[str] | None, set_option("Change a key of the system", system=True)]
Cache = Annotated[str, choice("--cache", _CACHES, "State of the caches at the start")]
WarmWindow = Annotated[
    int, size_option("--window", "Bytes that are warm, from the start of the buffer.", show_default="8K")
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=(1 << 64) - 1, help="Seed of random draws.")]


def refuse_device_changes(changes: list[str] | None, reason: str) -> None:
    """Refuse changes of the system's own device for a command that uses only its link and host.

    Args:
        changes: Values of `--set`.
        reason: Why they would have no effect, and what to do instead.

    Raises:
        InputError: One changes the device.
    """
    for change in changes or []:
        if change.partition("=")[0].partition(".")[0] == "device":
            raise refusal("conflict", f"--set {change}: {reason}; the command uses the system's link and host")
