"""Groups of options that replace one parameter of a command."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, TypeAlias

import typer

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
