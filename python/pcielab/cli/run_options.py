"""How work is run, as options: those of `RunOptions`, for the commands that run something."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab.cli.option_groups import Command, option, takes

if TYPE_CHECKING:
    from pcielab.work.options import RunOptions


class Samples(StrEnum):
    """How many of the published transactions are simulated."""

    FULL = "full"
    ADAPTIVE = "adaptive"


class Engine(StrEnum):
    """What simulates bandwidth tests; both give the same numbers."""

    FAST = "fast"
    REFERENCE = "reference"


def _if_given(context: typer.Context, parameter: typer.CallbackParam, value: Samples) -> Samples | None:
    """None for a default, so that work without samples refuses only what was asked for."""
    source = context.get_parameter_source(parameter.name or "")
    return value if source is not None and source.name == "COMMANDLINE" else None


_OPTIONS = {
    "samples": option(
        "samples",
        Annotated[
            Samples,
            typer.Option("--samples", help="All transactions, or enough of them.", callback=_if_given),
        ],
        Samples.ADAPTIVE,
    ),
    "engine": option(
        "engine",
        Annotated[
            Engine | None, typer.Option("--engine", help="What simulates: reference is slower [default: fast].")
        ],
        None,
    ),
    "jobs": option("jobs", Annotated[int, typer.Option("--jobs", help="Tests side by side; 0: one per core.")], 0),
    "seed": option("seed", Annotated[int, typer.Option("--seed", help="Names the run.")], 1),
    "resume": option(
        "resume", Annotated[bool, typer.Option("--resume", help="Go on with a store that is there.")], False
    ),
    "repeat_damaged": option(
        "repeat_damaged",
        Annotated[
            bool,
            typer.Option("--repeat-damaged", help="With --resume: do tests again whose numbers are damaged."),
        ],
        False,
    ),
    "overwrite": option(
        "overwrite", Annotated[bool, typer.Option("--overwrite", help="Replace a store that is there.")], False
    ),
}


def takes_run_options(*words: str) -> Callable[[Command], Command]:
    """Gives a command `RunOptions` as its parameter `options`, made of these options; of all without words."""
    return takes("options", [_OPTIONS[word] for word in words or _OPTIONS], _made)


def _made(given: Mapping[str, Any]) -> "RunOptions":
    from pcielab.work.options import RunOptions

    plain: dict[str, Any] = {
        word: value.value if isinstance(value, StrEnum) else value for word, value in given.items()
    }
    return RunOptions(**plain)
