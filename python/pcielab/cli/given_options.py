"""Options that a command line gives, to refuse those that would have no effect."""

from collections.abc import Iterable

import typer

from pcielab.errors import InputError


def given_options(context: typer.Context) -> dict[str, str]:
    """The options on the command line, not defaults: each as `--name`, by the name of its parameter."""
    found = {}
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE":
            found[str(parameter.name)] = parameter.opts[0]
    return found


def refuse_without_effect(context: typer.Context, names: Iterable[str], remedy: str) -> None:
    """Refuse the first of some options that the command line gives.

    Args:
        context: The command.
        names: Names of the parameters that would have no effect.
        remedy: Why they would have none, and what to give instead.

    Raises:
        InputError: One is given.
    """
    given = given_options(context)
    for name in names:
        if name in given:
            raise InputError(f"{given[name]}: {remedy}")
