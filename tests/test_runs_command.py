"""`pcielab runs`: every store of a folder, whatever state it is in; and reports of several."""

import json
from pathlib import Path

from shell import pcielab, succeed


def test_every_store_is_listed_and_one_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    succeed("run", "--test", "bw-rd", "-o", tmp_path / "one.db")
    succeed("run", "--test", "bw-wr", "--profile", "snb", "-o", tmp_path / "more" / "two.db")
    (tmp_path / "broken.db").write_text("no store")
    rows = {row["run"]: row for row in json.loads(succeed("runs", tmp_path, "--format", "json").stdout)}
    assert sorted(rows) == ["broken.db", "more/two.db", "one.db"]
    assert rows["broken.db"]["state"] == "cannot be read"
    assert (rows["one.db"]["origin"], rows["one.db"]["tests"], rows["one.db"]["state"]) == (
        "simulated",
        "1",
        "complete",
    )
    assert "Sandy Bridge" in rows["more/two.db"]["title"]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert pcielab("runs", tmp_path / "absent").exit_code == 2
