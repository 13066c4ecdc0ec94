"""A text of any reader, grown to a MiB, takes five seconds and a GiB at most, or its reader announces more.

`make swollen` tries more of them, and prints the times. A failure is repeated by
`tests/mutations/swell.py --reader READER --first NUMBER --again`.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import workers
from swollen_readers import ANNOUNCED, BESIDE_SECONDS, MEMORY_MOST, READERS, SECONDS_MOST, case, prepare

_TEXTS = int(os.environ.get("PCIELAB_SWOLLEN", "1"))
"""Texts of each reader."""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder with what texts are taken from."""
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        yield Path(name)


@pytest.mark.parametrize("reader", READERS)
def test_a_swollen_text_is_read_or_refused_in_time(
    reader: str, folder: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    monkeypatch.setattr(workers, "MEMORY_MOST", MEMORY_MOST)
    monkeypatch.setattr(workers, "SECONDS_MOST", SECONDS_MOST + BESIDE_SECONDS)
    found = [*workers.failures(reader, case(READERS[reader]), range(_TEXTS), folder)]
    record_property("tried", _TEXTS)
    record_property("faults", len(found))
    assert not found, "\n".join(f"{reader} {one.number}: {one.problem}" for one in found)


def test_what_a_command_says_about_a_text_is_read_as_text(tmp_path: Path) -> None:
    flows = "".join(f"F{number},host1,A\n" for number in range(2_001))
    (tmp_path / "mine.csv").write_text(f"name,source,destination\n{flows}")
    said: list[str] = []
    READERS["flows, simulated"].read(tmp_path / "mine.csv", said)
    assert any(words in text for text in said for words in ANNOUNCED), said
