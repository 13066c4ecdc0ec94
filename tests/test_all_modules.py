"""Tests can be collected without the packages that `make dev` leaves out; a broken package is still an error."""

import subprocess
import sys
from pathlib import Path

import pytest

from all_modules import NEEDS_PACKAGE, module_names

TESTS = Path(__file__).parent
LOAD = """
import sys
sys.path[:0] = sys.argv[1:3]
sys.modules.update(dict.fromkeys(sys.argv[3].split(","), None) if sys.argv[3] else {})
from all_modules import load
print(load(sys.argv[4:]))
"""


def loaded(*names: str, hidden: str = "", first_on_path: Path = TESTS) -> subprocess.CompletedProcess[str]:
    """Load modules in a new process in which some packages cannot be found."""
    words = [sys.executable, "-c", LOAD, str(first_on_path), str(TESTS), hidden, *names]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("module", "package"), NEEDS_PACKAGE.items())
def test_a_module_is_skipped_without_its_package(module: str, package: str) -> None:
    done = loaded("pcielab.extras", module, hidden=package)
    assert done.stdout == f"{[module]}\n", done.stderr


@pytest.mark.parametrize(("module", "package"), NEEDS_PACKAGE.items())
def test_a_module_whose_package_is_broken_is_an_error(module: str, package: str, tmp_path: Path) -> None:
    (tmp_path / f"{package}.py").write_text("import no_such_package_of_theirs\n")
    done = loaded(module, first_on_path=tmp_path)
    assert done.returncode == 1
    assert "no_such_package_of_theirs" in done.stderr


def test_no_module_is_skipped_without_a_package_of_another_extra() -> None:
    done = loaded("pcielab.explore.serve", hidden="uvicorn")
    assert done.returncode == 1
    assert "uvicorn" in done.stderr


def test_modules_with_a_package_exist() -> None:
    assert set(NEEDS_PACKAGE) <= set(module_names())


def test_the_benchmark_of_the_core_names_what_builds_it() -> None:
    words = [
        sys.executable,
        "-c",
        "import sys; sys.modules['cocotb'] = None; import rtl_reads; print(rtl_reads.missing())",
    ]
    done = subprocess.run(words, cwd=TESTS.parent / "bench", capture_output=True, text=True, check=True)
    assert done.stdout == "cocotb is not installed: run make rtl\n"
