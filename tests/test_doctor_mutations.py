"""Two thousand changed machines: each is examined or refused (`make doctor-mutations` tries more)."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "mutations"))

from machines import KINDS
from workers import failures

CASES = {"doctor-texts": 1_000, "doctor-saved": 600, "doctor-trees": 400}


@pytest.mark.parametrize("kind", CASES)
def test_changed_machines_are_examined_or_refused(kind: str, tmp_path: Path) -> None:
    failed = [one for one in failures(kind, KINDS[kind], range(CASES[kind]), tmp_path) if one is not None]
    assert failed == []


def test_every_kind_of_machine_is_changed() -> None:
    assert set(CASES) == set(KINDS)
