"""`pcielab runs`: every store of a folder, in any state."""

import json
from pathlib import Path

from shell import refuse, succeed


def test_every_store_is_listed_and_unreadable_ones_are_marked(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    succeed("run", "--test", "bw-rd", "-o", tmp_path / "one.db")
    succeed("run", "--test", "bw-wr", "--profile", "snb", "-o", tmp_path / "more" / "two.db")
    (tmp_path / "broken.db").write_text("no store")
    rows = {row["run"]: row for row in json.loads(succeed("runs", tmp_path, "--format", "json").stdout)}
    assert sorted(rows) == ["broken.db", "more/two.db", "one.db"]
    assert rows["broken.db"]["state"] == "cannot be read"
    assert rows["one.db"].items() >= {"origin": "simulated", "tests": "1", "state": "complete"}.items()
    assert "Sandy Bridge" in rows["more/two.db"]["title"]


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    refuse("runs", tmp_path / "absent")
