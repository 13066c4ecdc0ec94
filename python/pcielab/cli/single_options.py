"""The options of a single test, generated from the table of parameters."""

from collections.abc import Mapping
from typing import Any

import typer

from pcielab.cli.completion import choice
from pcielab.cli.option_groups import annotated, takes
from pcielab.cli.quantities import size_option
from pcielab.library.suites.parameter import Parameter
from pcielab.library.suites.parameters import PARAMETERS

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


_OPTIONS = [
    annotated(one.word, _TYPES[one.kind], False if one.kind == "switch" else None, _option(one)) for one in _ASKED
]
takes_test_options = takes("single", _OPTIONS, _given)
"""Adds the options of a single test to a command, which gets them by word as its parameter `single`."""
