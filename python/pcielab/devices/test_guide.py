"""The guide's device is under 80 lines, runs, and keeps the contract."""

import re
from pathlib import Path
from typing import Any

import pytest

from pcielab import open_store

GUIDE = Path(__file__).parents[3] / "docs/guides/add-a-device.md"


@pytest.fixture
def guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the guide's code in an empty directory; its names."""
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text()
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks[0].count("\n") < 80
    assert "broken_promises" in blocks[-1]
    for block in blocks:
        exec(block, names)
    return names


def test_guide_device_is_measured(guide: dict[str, Any]) -> None:
    store = open_store(Path("numpy.db"))
    assert store.origin == "measured"
    assert store.manifest["device"]["name"] == "numpy"
    assert store.manifest["backend"] == {"kind": "numpy"}
    row = store.scalars.iloc[0]
    assert row["status"] == "ok"
    assert row["bandwidth"] > 0
