"""Groups of options that replace one parameter of a command, and the options that a command line gives."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, TypeAlias

import typer

from pcielab.errors import refusal


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
            raise refusal("conflict", f"{given[name]}: {remedy}")


Command: TypeAlias = Callable[..., None]
GROUP: Any = None
"""Placeholder in the signature for options that a decorator adds."""


def takes(
    group: str, options: Iterable[inspect.Parameter], made: Callable[[Mapping[str, Any]], object]
) -> Callable[[Command], Command]:
    """Replace one parameter of a command by options.

    Args:
        group: The parameter.
        options: The options, in the order of the help.
        made: Makes the parameter's value from the options' values by name.
    """
    inner = [*options]

    def with_options(command: Command) -> Command:
        signature = inspect.signature(command)
        parameters: list[inspect.Parameter] = []
        for own in signature.parameters.values():
            parameters += inner if own.name == group else [own]

        @functools.wraps(command)
        def gathering(**given: Any) -> None:
            command(**{group: made({option.name: given.pop(option.name) for option in inner})}, **given)

        vars(gathering)["__signature__"] = signature.replace(parameters=parameters)
        gathering.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return gathering

    return with_options


def option(name: str, kind: Any, default: object, meaning: str, **more: Any) -> inspect.Parameter:
    """An option of a group: `--name`, with further arguments of `typer.Option`."""
    return annotated(name, kind, default, typer.Option(f"--{name.replace('_', '-')}", help=meaning, **more))


def annotated(name: str, kind: Any, default: object, option: Any) -> inspect.Parameter:
    """An option of a group, as Typer describes it."""
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, either, default=default, annotation=Annotated[kind, option])
