"""What `import pcielab` offers is there when it is asked for, and nothing of it before."""

import subprocess
import sys

import pytest

import pcielab


def test_everything_that_is_offered_is_there() -> None:
    assert [name for name in pcielab.__all__ if not hasattr(pcielab, name)] == []


@pytest.mark.parametrize("room", ["devices", "fabric", "formats", "model", "report"])
def test_a_room_needs_no_import_of_its_own(room: str) -> None:
    there = f"'pcielab.{room}' in sys.modules"
    script = f"import sys, pcielab; print({there}, pcielab.{room}.__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", f"pcielab.{room}"]


def test_formats_are_there_in_both_directions() -> None:
    assert "csv" in pcielab.formats.exporters.EXPORTERS
    assert callable(pcielab.formats.importers.import_pcie_bench)


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(AttributeError, match="no attribute 'modell'"):
        pcielab.modell  # noqa: B018
