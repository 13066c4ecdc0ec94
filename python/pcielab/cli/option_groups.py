"""Options that several commands take, or that one takes in numbers, in the place of one parameter of a command."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, TypeAlias

import typer

Command: TypeAlias = Callable[..., None]


def takes(
    group: str, options: Iterable[inspect.Parameter], made: Callable[[Mapping[str, Any]], object]
) -> Callable[[Command], Command]:
    """Give a command some options in the place of one parameter.

    Args:
        group: The parameter.
        options: The options, in the order of the help.
        made: What the parameter gets, of what was given, by the names of the options.
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
    """An option of a group: `--name`, with what Typer is to know besides."""
    return annotated(name, kind, default, typer.Option(f"--{name.replace('_', '-')}", help=meaning, **more))


def annotated(name: str, kind: Any, default: object, option: Any) -> inspect.Parameter:
    """An option of a group, as Typer describes it."""
    place = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, place, default=default, annotation=Annotated[kind, option])
