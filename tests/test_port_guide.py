"""Lines of the guide on other simulators that no fenced block runs: the calls in C, the command of SimBricks."""

import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from shell import refuse

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "guides" / "other-simulators.md"


def lines(title: str) -> list[str]:
    """The indented lines of a section."""
    section = GUIDE.read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    return [line.strip() for line in section.splitlines() if line.startswith("    ")]


@pytest.mark.skipif(which("cc") is None, reason="needs cc")
def test_the_calls_in_c_fit_the_header(tmp_path: Path) -> None:
    calls = "\n".join(lines("The C library"))
    assert calls.count("pcielab_port_") == 7
    source = tmp_path / "calls.c"
    source.write_text(
        f"""#include "pcielab.h"
void calls(const char *json, uintptr_t bytes, pcielab_tlp tlp, uint64_t offset, uint64_t ready_ps) {{
    pcielab_port *port;
    pcielab_event event;
    char text[512];
    {calls.replace(") ...", ");")}
}}
"""
    )
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Wno-empty-body", "-Werror", "-fsyntax-only"]
    command += [f"-I{ROOT / 'crates' / 'pcie-port' / 'include'}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(which("cc") is None, reason="needs cc")
def test_the_calls_of_a_machine_fit_the_header(tmp_path: Path) -> None:
    calls = "\n".join(line for line in lines("A machine of several devices") if "pcielab_machine_" in line)
    assert calls.count("pcielab_machine_") == 8
    source = tmp_path / "calls.c"
    source.write_text(
        f"""#include "pcielab.h"
void calls(const char *text, uintptr_t bytes, uint32_t gpu, uint32_t drive, pcielab_tlp tlp, uint64_t ready_ps) {{
    pcielab_machine *machine;
    pcielab_machine_event event;
    pcielab_node_limits limits;
    uint64_t number;
    char wrong[512];
    {calls.replace(") ...", ");")}
}}
"""
    )
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Wno-empty-body", "-Werror", "-fsyntax-only"]
    command += [f"-I{ROOT / 'crates' / 'pcie-port' / 'include'}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="SimBricks needs Linux")
def test_the_command_of_simbricks_waits_for_the_device_of_the_guide(tmp_path: Path) -> None:
    [command] = [line for line in lines("SimBricks") if line.startswith("pcielab simbricks")]
    words = [str(tmp_path / word) if word.endswith(".sock") else word for word in command.split()[1:]]
    assert "nic.sock: " in refuse(*words, "--patience-s", "0.1")
