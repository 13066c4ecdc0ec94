"""Answers of the model to one question: a list that notebooks show as a picture."""

from collections.abc import Iterable
from typing import TypeVar

from pcielab.notebook import Pictured

One = TypeVar("One")


class Answers(Pictured, list[One]):
    """A list of answers, in the order of the question.

    Attributes:
        notes: What limits the answers, in sentences; mostly empty.
    """

    def __init__(self, answers: Iterable[One] = (), notes: Iterable[str] = ()) -> None:
        super().__init__(answers)
        self.notes = tuple(notes)
