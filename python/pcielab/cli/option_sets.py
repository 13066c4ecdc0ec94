"""Options that several commands have: those of a run, of a single test, and of a system."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from pcielab.cli.completion import choice, profile_names, set_option
from pcielab.cli.option_groups import Command, annotated, option, takes
from pcielab.cli.output import say
from pcielab.cli.quantities import size_option
from pcielab.errors import refusal
from pcielab.library.suites.parameter import PARAMETERS, Parameter
from pcielab.work.options import Engine, RunOptions, Samples


def _if_given(context: typer.Context, parameter: typer.CallbackParam, value: Samples) -> Samples | None:
    """None for a default, so that work without samples refuses only an explicit option."""
    source = context.get_parameter_source(parameter.name or "")
    return value if source is not None and source.name == "COMMANDLINE" else None


_OF_RUN = [
    option(
        "samples",
        Samples,
        "adaptive",
        "Run all transactions, or as many as the confidence interval needs.",
        callback=_if_given,
    ),
    option("engine", Engine | None, None, "Simulation engine; reference is slower and simpler [default: fast]."),
    option(
        "trace",
        float | None,
        None,
        "Keep the trace of the first microseconds of each simulated test, e.g. 20us: TLPs, phases, counters; see "
        "pcielab export perfetto.",
        metavar="TIME",
    ),
    option("jobs", int, 0, "Tests to run in parallel; 0 means one per core."),
    option("seed", int, 1, "Seed of the run's random numbers."),
    option("resume", bool, False, "Continue an existing store."),
    option("repeat_damaged", bool, False, "With --resume: repeat tests whose results are damaged."),
    option("overwrite", bool, False, "Replace an existing store."),
]


def takes_run_options(*words: str) -> Callable[[Command], Command]:
    """Add these options, or all of them, to a command, which gets `RunOptions` as its parameter `options`."""
    return takes(
        "options", [one for one in _OF_RUN if not words or one.name in words], lambda given: RunOptions(**given)
    )


_ASKED = [parameter for parameter in PARAMETERS if parameter.key != "operation"]
_TYPES: dict[str, Any] = {"switch": bool, "whole": int | None, "size": int | None, "word": str | None}


def _given(options: Mapping[str, Any]) -> dict[str, object]:
    """The options by their words; None for an option that was not given."""
    return {word: None if value is False else value for word, value in options.items()}


def _option(parameter: Parameter) -> Any:
    meaning = f"With --test: {parameter.meaning[:1].lower()}{parameter.meaning[1:].rstrip('.')}"
    if parameter.kind == "word":
        return choice(parameter.option, parameter.choices, meaning)
    if parameter.kind == "size":
        return size_option(parameter.option, f"{meaning}, e.g. 4K.")
    return typer.Option(parameter.option, help=f"{meaning}.")


_OF_TEST = [
    annotated(one.word, _TYPES[one.kind], False if one.kind == "switch" else None, _option(one)) for one in _ASKED
]
takes_test_options = takes("single", _OF_TEST, _given)
"""Adds the options of a single test to a command, which gets them by word as its parameter `single`."""


_OF_LINES = [
    option(
        "reads",
        str | None,
        None,
        "With --test mem-rd: share of the lines that are read, 0.58 or 58% [default: all].",
        metavar="SHARE",
    ),
    option(
        "loads",
        str | None,
        None,
        "With --test mem-rd: lines that cores send, as shares of the peak; 0: one at a time; from 1 on: as many "
        "as fill buffers hold [default: 0,25%,50%,75%,90%,1].",
        metavar="LIST",
    ),
    option("cores", int | None, None, "With --test mem-rd: cores [default: 16]."),
    option(
        "fill_buffers", int | None, None, "With --test mem-rd: lines that a core keeps in flight [default: 16]."
    ),
    option(
        "lines",
        int | None,
        None,
        "With --test mem-rd: counted lines of a load [default: 20000, and more where few are read].",
    ),
]
takes_line_options = takes("of_lines", _OF_LINES, dict)
"""Adds the options of lines of a memory expander, which a command gets by word as its parameter `of_lines`."""

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
