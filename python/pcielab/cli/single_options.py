"""The options of a single test, from the table of parameters: what each is called, what it takes, and its help."""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from pcielab.cli.completion import choice
from pcielab.library.suites.parameter import Parameter
from pcielab.library.suites.parameters import PARAMETERS

_SWITCHES = frozenset(parameter.word for parameter in PARAMETERS if parameter.kind == "switch")


def takes_test_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a single test in the place of its parameter `single`.

    It gets there, by their words, what was given; None where nothing was.
    """
    signature = inspect.signature(command)
    parameters: list[inspect.Parameter] = []
    for own in signature.parameters.values():
        parameters += _options() if own.name == "single" else [own]
    words = [parameter.word for parameter in PARAMETERS if parameter.key != "operation"]

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        single = {word: given.pop(word) or None if word in _SWITCHES else given.pop(word) for word in words}
        command(single=single, **given)

    vars(with_options)["__signature__"] = signature.replace(parameters=parameters)
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_options


def _options() -> Iterator[inspect.Parameter]:
    for parameter in PARAMETERS:
        if parameter.key != "operation":
            default = False if parameter.kind == "switch" else None
            yield inspect.Parameter(
                parameter.word,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=default,
                annotation=Annotated[_type(parameter), _option(parameter)],
            )


def _type(parameter: Parameter) -> Any:
    return {"switch": bool, "whole": int | None, "size": str | None, "word": str | None}[parameter.kind]


def _option(parameter: Parameter) -> Any:
    meaning = f"With --test: {parameter.meaning[:1].lower()}{parameter.meaning[1:].rstrip('.')}"
    if parameter.kind == "word":
        return choice(parameter.option, parameter.choices, meaning)
    return typer.Option(parameter.option, help=f"{meaning}{', such as 4K' if parameter.kind == 'size' else ''}.")
