"""Say on stderr which keys behind the bounds of a result are borrowed from another machine."""

from collections.abc import Iterable, Mapping

from pcielab.cli.output import say
from pcielab.model.bound_keys import borrowed_sentences


def say_borrowed(bounds: Iterable[str | None], borrowed: Mapping[str, str]) -> None:
    """Say which borrowed keys each bound is made of; nothing of a system that borrows none."""
    for sentence in borrowed_sentences(bounds, borrowed):
        say(sentence)
