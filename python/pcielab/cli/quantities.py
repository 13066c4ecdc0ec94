"""The numbers of options in the forms in which people write them: `0.9us`, `100G`, `gen4`, `x16`, `1.5k`, `4MiB`.

An option is declared as a number; its name says the unit. `read_quantities` replaces the reading of all of them,
because Typer's own refuses every unit, and says only "is not a valid float".
"""

import copy
from collections.abc import Callable
from typing import Any, Literal

import typer

from pcielab import _core
from pcielab._core import LINE_RATES_GBPS
from pcielab.errors import InputError

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
    "--percentile": ("number", ""),
    "--trace": ("time", "us"),
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
_U32, _U63, _U64 = (1 << 32) - 1, (1 << 63) - 1, (1 << 64) - 1
_QUANTITY = (1e-9, 1e18)
"""Range of a time, rate or clock of the model."""
_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("--clock-ghz", "--credit-rtt-ns", "--device-rate", "--rtt-ns", "--offered"), _QUANTITY),
    **dict.fromkeys(
        (
            "--ack-interval",
            "--completion-buffer",
            "--completion-headers",
            "--fc-interval",
            "--non-posted-headers",
            "--posted-data",
            "--posted-headers",
            "--tags",
        ),
        (1, _U32),
    ),
    "--depth": (1, 65_536),
    "--duration-us": (1e-3, 1e6),
    "--flushes": (0, 1_000_000),
    "--frame": (64, 65_535),
    "--in-flight": (1, _U32),
    "--jobs": (0, 1024),
    "--line": (LINE_RATES_GBPS[0], LINE_RATES_GBPS[-1]),
    "--misses": (1e-9, 1 << 20),
    "--numa": (0, 65_535),
    "--offset": (0, _U32),
    "--seed": (0, _U63),
    "--trace": (1e-3, 1e4),
    "--warm-up-us": (0, 1e6),
}
"""Least and most of options that do not declare them themselves, for the refusal of what is no number."""
_PAYLOADS = [128, 256, 512, 1024, 2048, 4096]
_ONLY = {
    "--addr": [32, 64],
    "--completions": [64, *_PAYLOADS],
    "--mps": _PAYLOADS,
    "--mrrs": _PAYLOADS,
    "--rcb": [64, 128, 256, 512],
}
"""The only values of some options; a number that is none of them is refused by who uses it, who knows why."""


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
            read = _decimal if has_decimals else _size if parameter.metavar == _SIZE else _whole
            parameter.type.convert = _converter(parameter.opts[0], parameter.type, read)


def range_of(name: str, kind: Any) -> tuple[float, float]:
    """The least and the most of an option: what its type declares, or what is usual for its name."""
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    usual = _RANGES.get(name) or _of_test(name) or (1, _U64)
    return usual[0] if least is None else least, usual[1] if most is None else most


def _of_test(name: str) -> tuple[int, int] | None:
    """The range of a parameter of a test."""
    from pcielab.library.suites.parameter import PARAMETERS

    ranges = ((one.least, one.most) for one in PARAMETERS if one.option == name)
    return next(((least, most) for least, most in ranges if least is not None and most is not None), None)


def _converter(name: str, kind: Any, read: Callable[[str, str, Any], float]) -> Callable[..., Any]:
    allowed = range_of(name, kind)
    is_declared = any(getattr(kind, end, None) is not None for end in ("min", "max"))

    def convert(given: Any, _parameter: Any, _context: Any) -> Any:
        if not isinstance(given, str):
            return given
        if is_declared:
            return read(given, name, allowed)
        return named_range(lambda within: read(given, name, within), allowed)

    return convert


def named_range(read: Callable[[Any], float], allowed: object) -> float:
    """A number of any size: who uses it knows its range best. The refusal of what is no number names the range."""
    try:
        return read(None)
    except InputError:
        return read(allowed)


def _decimal(text: str, name: str, allowed: tuple[float, float] | None) -> float:
    return _core.read_number(text, name, *unit_of(name), allowed)


def _whole(text: str, name: str, allowed: tuple[int, int] | None) -> int:
    return _core.read_whole(text, name, _WHOLE.get(name, "count"), allowed and _ONLY.get(name, allowed))


def _size(text: str, name: str, allowed: tuple[int, int] | None) -> int:
    if allowed is None:
        return _core.read_size(text, name)
    return _core.read_whole(text, name, "bytes", _ONLY.get(name, (allowed[0], min(allowed[1], _U63))))


def unit_of(name: str) -> tuple[Any, str]:
    """What an option with decimals holds, and the unit of a bare number: `("time", "ns")` of `--rtt-ns`."""
    suffix = name.rpartition("-")[2]
    return ("time", suffix) if suffix in _SUFFIXES else _UNITS[name]
