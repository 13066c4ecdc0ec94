"""The list of changes that the benches have to notice: each can still be made."""

from mutants import mutants
from simulator import SOURCES


def test_every_change_has_its_place() -> None:
    listed = mutants()
    assert len(listed) >= 30
    for mutant in listed:
        start, end = mutant.place((SOURCES / mutant.file).read_text())
        assert end > start
        assert mutant.was != mutant.becomes
