"""Commands that need an optional package name the extra to install; all others work without it."""

import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[1].split(",")))
from pcielab.cli import main
sys.argv = ["pcielab", *sys.argv[2:]]
main()
"""
OPTIONAL = "SALib,altair,distributed,jinja2,polars,scipy,starlette,tomli_w,uvicorn,vl_convert,xarray"


def without_extras(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command where no optional package can be imported."""
    words = [sys.executable, "-c", WITHOUT, OPTIONAL, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("extras") / "run.db"
    done = without_extras("run", "--test", "lat-rd", "--size", "64", "--window", "8K", "-o", path)
    assert done.returncode == 0, done.stderr
    return path


def test_runs_exports_and_explanations_need_no_extra(run: Path, tmp_path: Path) -> None:
    for command in (["explain", run], ["export", "csv", run, "-o", tmp_path / "rows.csv"]):
        done = without_extras(*command)
        assert done.returncode == 0, done.stderr


def test_a_sweep_computes_without_the_packages_for_pictures(tmp_path: Path) -> None:
    (tmp_path / "sizes.toml").write_text(
        'name = "sizes"\ntitle = "Sizes"\nsystem = "snb"\n[test]\ntest = "bw-rd"\n'
        "transactions = 500\n[grid]\nsize = [64, 128]\n",
        encoding="utf-8",
    )
    done = without_extras("sweep", tmp_path / "sizes.toml", "-o", tmp_path / "out", "--samples", "full")
    assert done.returncode == 0, done.stderr
    assert "note: points.svg is not drawn: " in done.stderr
    assert "pip install 'pcielab[report]'" in done.stderr
    assert (tmp_path / "out" / "results.parquet").exists()


@pytest.mark.parametrize("extra, command", [("report", ["report", "RUN"]), ("calibrate", ["calibrate", "RUN"])])
def test_a_missing_package_is_named_with_its_extra(
    extra: str, command: list[str], run: Path, tmp_path: Path
) -> None:
    output = tmp_path / ("report.html" if extra == "report" else "twin.toml")
    done = without_extras(*(run if word == "RUN" else word for word in command), "-o", output)
    assert done.returncode == 2
    assert f"pip install 'pcielab[{extra}]'" in done.stderr
    assert not output.exists()
