"""import, export and compare from the command line: exit codes, data on stdout, messages on stderr."""

import json
import subprocess
import sys
from pathlib import Path


def pcielab(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from pcielab.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_import_export_compare(published: Path, tmp_path: Path) -> None:
    run, page = tmp_path / "run.db", tmp_path / "compare.html"
    assert pcielab("import", "pcie-bench", published, "-o", run).returncode == 0
    again = pcielab("import", "pcie-bench", published, "-o", run)
    assert again.returncode == 2
    assert "exists already" in again.stderr
    assert pcielab("export", "json", run, "-o", tmp_path / "run.json").returncode == 0
    compared = pcielab("compare", run, run, "--format", "json", "-o", page)
    assert compared.returncode == 0
    assert len(json.loads(compared.stdout)) == 6
    assert page.read_text().startswith("<!doctype html>")
    assert "BW_DMA_RW" in pcielab("compare", run, run).stdout


def test_bad_input_is_exit_code_2_with_nothing_on_stdout(tmp_path: Path) -> None:
    commands: list[list[str | Path]] = [
        ["import", "pcie-bench", tmp_path, "-o", tmp_path / "run.db"],
        ["export", "csv", tmp_path / "missing.db", "-o", tmp_path / "out.csv"],
        ["compare", tmp_path / "missing.db", tmp_path / "missing.db"],
    ]
    for arguments in commands:
        refused = pcielab(*arguments)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert str(tmp_path) in refused.stderr
    assert not list(tmp_path.iterdir())
