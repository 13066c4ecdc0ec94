"""Verilator accepts the whole core without a warning, in both widths."""

import subprocess

import pytest

from simulator import sources, use_verilator


@pytest.mark.parametrize("data_width", [256, 512])
def test_lint(data_width: int) -> None:
    use_verilator()
    command = ["verilator", "--lint-only", "--top-module", "pcielab_usp", f"-GDATA_WIDTH={data_width}"]
    done = subprocess.run([*command, *map(str, sources())], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
