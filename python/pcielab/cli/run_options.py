"""The fields of `RunOptions` as options of the commands that run something."""

from collections.abc import Callable

import typer

from pcielab.cli.option_groups import Command, option, takes
from pcielab.work.options import Engine, RunOptions, Samples


def _if_given(context: typer.Context, parameter: typer.CallbackParam, value: Samples) -> Samples | None:
    """None for a default, so that work without samples refuses only an explicit option."""
    source = context.get_parameter_source(parameter.name or "")
    return value if source is not None and source.name == "COMMANDLINE" else None


_OPTIONS = [
    option(
        "samples",
        Samples,
        "adaptive",
        "Run all transactions, or as many as the confidence interval needs.",
        callback=_if_given,
    ),
    option("engine", Engine | None, None, "Simulation engine; reference is slower and simpler [default: fast]."),
    option("jobs", int, 0, "Tests to run in parallel; 0 means one per core."),
    option("seed", int, 1, "Seed of the run's random numbers."),
    option("resume", bool, False, "Continue an existing store."),
    option("repeat_damaged", bool, False, "With --resume: repeat tests whose results are damaged."),
    option("overwrite", bool, False, "Replace an existing store."),
]


def takes_run_options(*words: str) -> Callable[[Command], Command]:
    """Add these options, or all of them, to a command, which gets `RunOptions` as its parameter `options`."""
    return takes(
        "options", [one for one in _OPTIONS if not words or one.name in words], lambda given: RunOptions(**given)
    )
