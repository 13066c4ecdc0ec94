"""Axes of sweeps: words of a test, as on the command line, and keys of a system."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, get_args

from pcielab._core import read_sizes
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import refusal
from pcielab.library.profiles.parts import System
from pcielab.library.profiles.values import is_ending, key_of
from pcielab.library.suites.parameter import PARAMETERS
from pcielab.wording import named, shown

Scale: TypeAlias = Literal["linear", "log"]
TEST_COLUMNS = {parameter.word: parameter.key for parameter in PARAMETERS if parameter.kind != "switch"}
"""The words of a test, and their columns in results: the keys in stores."""
_SIZES = frozenset(parameter.word for parameter in PARAMETERS if parameter.kind == "size")
SYSTEM = "system"
"""The word for a system's name."""
_MOST_AXES = 100


@dataclass(frozen=True)
class Between:
    """A range that values are drawn from.

    Attributes:
        low: The smallest value.
        high: The largest value.
        scale: `linear`: all values are equally likely; `log`: all ratios are.
    """

    low: float
    high: float
    scale: Scale = "linear"

    def __post_init__(self) -> None:
        if self.scale not in get_args(Scale):
            raise refusal("wrong-value", f"scale is {shown(self.scale)}: give linear or log")
        if not self.low < self.high or (self.scale == "log" and self.low <= 0):
            raise refusal(
                "wrong-value",
                f"between {shown(self.low)} and {shown(self.high)}: give a low value below the high one"
                + (", both above 0 for scale log" if self.scale == "log" else ""),
            )

    def at(self, share: float) -> float:
        """The value at a share of the range."""
        if self.scale == "log":
            return float(self.low * (self.high / self.low) ** share)
        return float(self.low + (self.high - self.low) * share)


@refuses_wrong_types
def between(low: float, high: float, scale: Scale = "linear") -> Between:
    """A range that values of an axis are drawn from; with the scale `log`, all ratios are equally likely."""
    return Between(low, high, scale)


@dataclass(frozen=True)
class Axis:
    """A parameter of all points, with one value or several.

    Attributes:
        name: The name as given.
        key: A word of a test, `system`, or the dotted key of a system.
        values: Its values, in order; empty if they are drawn from a range.
        range: The range.
    """

    name: str
    key: str
    values: Sequence[Any]
    range: Between | None = None

    @property
    def column(self) -> str:
        """Its column in results."""
        return TEST_COLUMNS.get(self.key, self.name)

    @property
    def varies(self) -> bool:
        """Whether it has more than one value."""
        return self.range is not None or len(self.values) > 1


def axes_of(given: Mapping[str, object]) -> list[Axis]:
    """Axes from names with a value, a list of values, or a range.

    Raises:
        InputError: A name is unknown or repeats another one, a list is empty, or there are too many axes.
    """
    if len(given) > _MOST_AXES:
        raise refusal("too-large", f"{len(given)} axes: give {_MOST_AXES} at most")
    axes: list[Axis] = []
    for name, value in given.items():
        key = name if name in TEST_COLUMNS or name == SYSTEM else _system_key(name)
        if key in (other.key for other in axes):
            raise refusal("conflict", f"{named(name)}: given twice: give one list of values for {named(key)}")
        axes.append(
            Axis(name, key, [], value) if isinstance(value, Between) else Axis(name, key, _values(name, value))
        )
    return axes


def _system_key(name: str) -> str:
    """The key of a system that a name ends.

    Raises:
        InputError: There is none; a word of the test that resembles the name is hinted at before a key.
    """
    words = get_close_matches(name, TEST_COLUMNS, n=1)
    if words and "." not in name and not is_ending(name, System):
        raise refusal(
            "unknown-key", f"{named(name)}: no word of a test and no key ends with it: did you mean {words[0]}?"
        )
    return key_of(name, System)


def _values(name: str, value: object) -> Sequence[Any]:
    if name in _SIZES and isinstance(value, str) and ":" in value:
        return read_sizes(value, name)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return [value]
    # Convert NumPy's numbers to Python's.
    values = [one.item() if hasattr(one, "item") else one for one in value]
    if not values:
        raise refusal("missing", f"{named(name)}: an empty list: give a value, or several")
    return values
