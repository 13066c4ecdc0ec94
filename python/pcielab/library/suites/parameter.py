"""What there is to say about a parameter of a test; `parameters` has all of them."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Parameter:
    """What there is to say about a parameter.

    Attributes:
        key: In stores and in JSON.
        word: As people say it: `--word` on the command line, a keyword in Python, an axis of sweeps.
        heading: Over its column in tables.
        axis: In suites, what varies with it; empty where nothing does.
        kind: How its value is written: a `word`, a `size` (`4K`), a `whole` number, or a `switch`.
        default: Where nothing is said; None for the device's or the paper's own.
        choices: Words that it can be.
        least: The smallest number.
        most: The largest.
        meaning: In one line.
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
        """On the command line."""
        return "--" + self.word.replace("_", "-")
