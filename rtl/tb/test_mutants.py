"""The list of changes that the benches have to notice: each can be made, and stands in the README's table."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mutants import mutants
from readme import section
from simulator import SOURCES


def test_every_change_has_its_place() -> None:
    listed = mutants()
    assert len(listed) >= 30
    for mutant in listed:
        start, end = mutant.place((SOURCES / mutant.file).read_text())
        assert end > start
        assert mutant.was != mutant.becomes


def test_the_table_has_every_change_and_somebody_noticed_it() -> None:
    rows = section("mutants").splitlines()[2:]
    assert [row.split(" | ")[1] for row in rows] == [mutant.defect for mutant in mutants()]
    assert not [row for row in rows if "nobody" in row]
