"""The numbers of options in the forms in which people write them: `0.9us`, `100G`, `gen4`, `x16`, `1.5k`, `4MiB`.

An option is declared as a number; its name says the unit. `read_quantities` replaces the reading of all of them,
because Typer's own refuses every unit, and says only "is not a valid float".
"""

import copy
from collections.abc import Callable
from typing import Any, Literal

import typer

from pcielab import _core
from pcielab.errors import InputError
from pcielab.wording import shown

_NUMBERS = {"IntParamType": False, "IntRange": False, "FloatParamType": True, "FloatRange": True}
"""Typer's types of numbers, and whether they have decimals."""
_SIZE = "BYTES"
_SUFFIXES = ("ns", "us", "s")
_UNITS: dict[str, tuple[Any, str]] = {
    "--clock-ghz": ("frequency", "GHz"),
    "--device-rate": ("events", "M/s"),
    "--line": ("line", "Gb/s"),
    "--misses": ("number", ""),
    "--offered": ("rate", "Gb/s"),
    "--watch": ("time", "s"),
}
"""Options with decimals whose names do not end in a unit of time: what they hold, and their unit."""
_WHOLE: dict[str, Literal["bytes", "generation", "lanes"]] = {
    "--gen": "generation",
    "--lanes": "lanes",
    **dict.fromkeys(
        ("--completion-buffer", "--device-offset", "--frame", "--host-offset", "--offset", "--skip"), "bytes"
    ),
}
"""Whole numbers that are no counts."""


def size_option(option: str, help: str, **more: Any) -> Any:  # noqa: A002
    """An option for a size above 0, in bytes; the parameter is an `int`."""
    return typer.Option(option, help=help, metavar=_SIZE, **more)


def read_quantities(command: Any) -> None:
    """Make the options of a command, or of all commands of a group, read numbers with their units."""
    for inner in getattr(command, "commands", {}).values():
        read_quantities(inner)
    for parameter in command.params:
        has_decimals = _NUMBERS.get(type(parameter.type).__name__)
        if has_decimals is not None:
            # Typer shares one object among all parameters of a type.
            parameter.type = copy.copy(parameter.type)
            read = _core.read_size if parameter.metavar == _SIZE else _decimal if has_decimals else _whole
            parameter.type.convert = _converter(parameter.type, parameter.opts[0], read)


def _converter(kind: Any, name: str, read: Callable[[str, str], float]) -> Callable[..., Any]:
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)

    def convert(given: Any, _parameter: Any, _context: Any) -> Any:
        number = read(given, name) if isinstance(given, str) else given
        if (least is not None and number < least) or (most is not None and number > most):
            right = f"at least {least}" if most is None else f"{least:,g} to {most:,g}".replace(",", "")
            raise InputError(f"{name}: {shown(given)} is out of range: give {right}")
        return number

    return convert


def _decimal(text: str, name: str) -> float:
    return _core.read_number(text, name, *unit_of(name))


def _whole(text: str, name: str) -> int:
    return _core.read_whole(text, name, _WHOLE.get(name, "count"))


def unit_of(name: str) -> tuple[Any, str]:
    """What an option with decimals holds, and the unit of a bare number: `("time", "ns")` of `--rtt-ns`."""
    suffix = name.rpartition("-")[2]
    return ("time", suffix) if suffix in _SUFFIXES else _UNITS[name]
