"""Every mutant of the list applies to the sources."""

from itertools import pairwise

from mutants import mutants
from simulator import SOURCES


def test_every_mutant_applies_once() -> None:
    listed = mutants()
    assert len(listed) >= 30
    for mutant in listed:
        start, end = mutant.span((SOURCES / mutant.file).read_text())
        assert end > start
        assert mutant.was != mutant.becomes


def test_one_core_can_contain_all_mutants() -> None:
    spans: dict[str, list[tuple[int, int]]] = {}
    for mutant in mutants():
        spans.setdefault(mutant.file, []).append(mutant.span((SOURCES / mutant.file).read_text()))
    for file, found in spans.items():
        assert all(end <= start for (_, end), (start, _) in pairwise(sorted(found))), f"{file}: mutants overlap"
