"""Verilator accepts the whole core without a warning; every file states its licence and implies no net."""

import subprocess

import pytest

from simulator import SOURCES, sources, use_verilator

RTL = SOURCES.parent
LICENCE = "SPDX-License-Identifier: Apache-2.0"
OPENS, CLOSES = "`default_nettype none\n", "`default_nettype wire\n"


@pytest.mark.parametrize("data_width", [256, 512])
def test_lint(data_width: int) -> None:
    use_verilator()
    command = ["verilator", "--lint-only", "--top-module", "pcielab_usp", f"-GDATA_WIDTH={data_width}"]
    done = subprocess.run([*command, *map(str, sources())], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_file_states_its_licence() -> None:
    kinds = (
        "src/*.sv",
        "tb/**/*.sv",
        "vivado/**/*.sv",
        "vivado/**/*.tcl",
        "vivado/**/*.xdc",
        "native/*pp",
        "*.rdl",
    )
    files = [path for kind in kinds for path in RTL.glob(kind)]
    assert len(files) > 60
    without = [path.name for path in files if LICENCE not in path.read_text().split("\n", 1)[0]]
    assert not without


def test_no_file_implies_a_net() -> None:
    """Each file forbids implicit nets and allows them again at its end, for the files of others behind it."""
    files = [path for kind in ("src/*.sv", "tb/**/*.sv", "vivado/*.sv") for path in RTL.glob(kind)]
    for path in files:
        text = path.read_text()
        assert text.split("\n", 1)[1].startswith(OPENS), f"{path.name}: the second line has to be {OPENS}"
        assert text.endswith(CLOSES), f"{path.name} has to end with {CLOSES}"
        assert text.count("`default_nettype") == 2, path.name
