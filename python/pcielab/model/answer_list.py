"""Answers of the model to one question: a list that notebooks show as a picture."""

from typing import TypeVar

from pcielab.notebook import Pictured

One = TypeVar("One")


class Answers(Pictured, list[One]):
    """A list of answers, in the order of the question."""
