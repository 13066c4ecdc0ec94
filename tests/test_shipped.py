"""The shipped folders are found through the installed package, whichever way it was installed."""

import pytest

from pcielab import shipped


@pytest.mark.parametrize("kind", ["profiles", "suites"])
def test_shipped_folders_exist(kind: str) -> None:
    assert (shipped.directory(kind) / "README.md").is_file()
