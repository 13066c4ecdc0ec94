"""Every mutant of the list applies to the sources."""

from mutants import mutants
from simulator import SOURCES


def test_every_mutant_applies_once() -> None:
    listed = mutants()
    assert len(listed) >= 30
    for mutant in listed:
        start, end = mutant.span((SOURCES / mutant.file).read_text())
        assert end > start
        assert mutant.was != mutant.becomes
