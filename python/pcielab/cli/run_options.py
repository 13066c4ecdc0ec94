"""How work is run, as options: those of `RunOptions`, for the commands that run something."""

from collections.abc import Callable

import typer

from pcielab.cli.option_groups import Command, option, takes
from pcielab.work.options import Engine, RunOptions, Samples


def _if_given(context: typer.Context, parameter: typer.CallbackParam, value: Samples) -> Samples | None:
    """None for a default, so that work without samples refuses only what was asked for."""
    source = context.get_parameter_source(parameter.name or "")
    return value if source is not None and source.name == "COMMANDLINE" else None


_OPTIONS = [
    option("samples", Samples, "adaptive", "All transactions, or enough of them.", callback=_if_given),
    option("engine", Engine | None, None, "What simulates: reference is slower [default: fast]."),
    option("jobs", int, 0, "Tests side by side; 0: one per core."),
    option("seed", int, 1, "Names the run."),
    option("resume", bool, False, "Go on with a store that is there."),
    option("repeat_damaged", bool, False, "With --resume: do tests again whose numbers are damaged."),
    option("overwrite", bool, False, "Replace a store that is there."),
]


def takes_run_options(*words: str) -> Callable[[Command], Command]:
    """Gives a command `RunOptions` as its parameter `options`, made of these options; of all without words."""
    return takes(
        "options", [one for one in _OPTIONS if not words or one.name in words], lambda given: RunOptions(**given)
    )
