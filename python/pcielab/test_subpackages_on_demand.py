"""Names of `pcielab` load on first use, not before."""

import subprocess
import sys

import pytest

import pcielab


def test_every_exported_name_exists() -> None:
    assert len(dir(pcielab)) > 20
    assert [name for name in dir(pcielab) if not hasattr(pcielab, name)] == []
    everything: dict[str, object] = {}
    exec("from pcielab import *", everything)
    assert set(dir(pcielab)) <= set(everything)


@pytest.mark.parametrize("package", ["devices", "fabric", "formats", "model", "report"])
def test_subpackages_load_on_first_use(package: str) -> None:
    loaded = f"'pcielab.{package}' in sys.modules"
    script = f"import sys, pcielab; print({loaded}, pcielab.{package}.__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", f"pcielab.{package}"]


def test_formats_has_exporters_and_importers() -> None:
    assert "csv" in pcielab.formats.exporters.EXPORTERS
    assert callable(pcielab.formats.importers.import_pcie_bench)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'modell'"):
        getattr(pcielab, "modell")  # noqa: B009
