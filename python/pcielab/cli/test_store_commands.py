"""import, export and compare from the command line: exit codes, data on stdout, messages on stderr."""

import json
from pathlib import Path

from shell import pcielab


def test_import_export_compare(published: Path, tmp_path: Path) -> None:
    run, page = tmp_path / "run.db", tmp_path / "compare.html"
    assert pcielab("import", "pcie-bench", published, "-o", run).exit_code == 0
    again = pcielab("import", "pcie-bench", published, "-o", run)
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert pcielab("export", "json", run, "-o", tmp_path / "run.json").exit_code == 0
    compared = pcielab("compare", run, run, "--format", "json", "-o", page)
    assert compared.exit_code == 0
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
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert str(tmp_path) in refused.stderr
    assert not list(tmp_path.iterdir())
