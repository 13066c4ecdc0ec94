"""Names of `pcielab` load on first use, not before."""

import inspect
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


@pytest.mark.parametrize(
    "name",
    [
        "run",
        "simulate",
        "model",
        "bounds",
        "sweep",
        "explain",
        "compare",
        "why",
        "calibrate",
        "validate",
        "doctor",
        "report",
    ],
)
def test_what_there_is_has_an_example(name: str) -> None:
    assert name in dir(pcielab)
    found = getattr(pcielab, name)
    assert callable(found) or inspect.ismodule(found)
    lines = (inspect.getdoc(found) or "").splitlines()
    assert any(line.startswith("    ") and name in line for line in lines), lines


COMPLETE = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[1:]))
import pcielab, rlcompleter
offered, completer = [], rlcompleter.Completer({"pcielab": pcielab})
while (word := completer.complete("pcielab.", len(offered))) is not None:
    offered.append(word)
print(*offered)
"""
"""Press Tab after `pcielab.`, where the modules named by the arguments are not installed."""


@pytest.mark.parametrize("missing", [[], ["altair", "scipy"]])
def test_tab_offers_every_name_even_without_extras(missing: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", COMPLETE, *missing], capture_output=True, text=True, check=True)
    offered = [word.removeprefix("pcielab.").partition("(")[0] for word in done.stdout.split()]
    assert sorted(set(dir(pcielab)) - {"__version__"} - set(offered)) == []


def test_an_extra_that_is_missing_is_named_at_use() -> None:
    script = 'import sys; sys.modules["altair"] = None; import pcielab; pcielab.report'
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "pip install 'pcielab[report]'" in done.stderr


def test_import_loads_no_other_module() -> None:
    script = "import sys; there = {*sys.modules}; import pcielab; print(*sorted({*sys.modules} - there))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["pcielab", "pcielab.on_demand"]


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


def test_the_package_runs_as_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pcielab", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"pcielab {pcielab.__version__}\n"
