"""The description of a parameter of a test; `parameters` has all of them."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Parameter:
    """A parameter.

    Attributes:
        key: Its key in stores and JSON.
        word: Its name for people: `--word` on the command line, a keyword in Python, an axis of sweeps.
        heading: Head of its column in tables.
        axis: Its axis in suites; empty if it cannot vary.
        kind: Notation of its values: a `word`, a `size` (`4K`), a `whole` number, or a `switch`.
        default: Its default; None for the device's or the paper's own.
        choices: Words that it can be.
        least: The smallest number.
        most: The largest number.
        meaning: Its description in one line.
    """

    key: str
    word: str
    heading: str
    axis: str
    kind: Literal["word", "size", "whole", "switch"]
    default: Any
    choices: tuple[str, ...]
    least: int | None
    most: int | None
    meaning: str

    @property
    def option(self) -> str:
        """Its option on the command line."""
        return "--" + self.word.replace("_", "-")
