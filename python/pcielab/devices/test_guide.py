"""The guide's back end is under 80 lines, measures latencies and bandwidths, keeps the contract, is registered."""

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pcielab import open_store
from pcielab.devices.mistakes import _OPERATIONS

GUIDE = Path(__file__).parents[3] / "docs/guides/add-a-device.md"
PCIELAB = Path(sys.executable).with_name("pcielab")
OURS = Path(__file__).parents[2]


def blocks(language: str) -> list[str]:
    """The guide's blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)


@pytest.fixture
def elapsed_ns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the guide's code in an empty directory, which takes that time."""
    monkeypatch.chdir(tmp_path)
    started_ns = time.perf_counter_ns()
    names: dict[str, Any] = {}
    programs = blocks("python")
    assert programs[0].count("\n") < 80
    assert "broken_promises" in programs[-1]
    for program in programs:
        exec(program, names)
    return time.perf_counter_ns() - started_ns


def test_guide_device_is_measured(elapsed_ns: int) -> None:
    latency, bandwidth = (open_store(Path(f"{name}.db")) for name in ("latency", "bandwidth"))
    for store in (latency, bandwidth):
        assert store.origin == "measured"
        assert store.manifest["device"]["name"] == "NumPy copies"
        assert store.manifest["backend"]["kind"] == "numpy"
        assert store.manifest["backend"]["host"]["cold"] == "thrash"
        assert store.scalars.iloc[0]["status"] == "ok"
    found = latency.scalars.iloc[0]
    assert 0 < found["minimum"] <= found["median"]
    # Half of the latencies last that long or longer, and all of them were in that time.
    assert found["median"] * found["samples"] / 2 <= elapsed_ns
    assert bandwidth.scalars.iloc[0]["bandwidth"] > 0


def test_guide_names_every_operation() -> None:
    [table] = re.findall(r"^\| DMA engine .*\n^\| loads and stores .*$", GUIDE.read_text(), re.MULTILINE)
    assert sorted(re.findall(r"`((?:dma|command) [a-z-]+)`", table)) == list(_OPERATIONS)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with the guide's package, as pip installs it."""
    [text] = blocks("toml")
    project = tomllib.loads(text)["project"]
    [module] = tomllib.loads(text)["tool"]["setuptools"]["py-modules"]
    programs = blocks("python")
    [kind] = [program for program in programs if "KIND = " in program]
    (tmp_path / f"{module}.py").write_text(f"{programs[0]}\n\n{kind}")
    written = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    written.mkdir()
    (written / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = [
        line
        for group, entries in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    (written / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_commands_find_the_package_of_the_guide(installed: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(OURS), str(installed)])}

    def run(words: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=installed, env=environment, capture_output=True, text=True, check=False)

    [commands] = blocks("sh")
    printed = {}
    for line in commands.splitlines():
        words = line.split()
        assert words[0] == "pcielab"
        done = run([str(PCIELAB), *words[1:]])
        assert done.returncode == 0, f"{line}: {done.stderr}"
        printed[" ".join(words[1:4])] = done.stdout
    refused = run([str(PCIELAB), "run", "--device", "numpy:1", "--test", "bw-rd", "-o", "refused.db"])
    assert refused.returncode == 2
    assert "--device numpy:1: this machine has one" in " ".join(refused.stderr.split())
    assert "NumPy copies of host memory" in printed["devices list"]
    assert "host.page_bytes" in printed["devices show numpy"]
    assert "page_bytes" in printed["devices schema numpy"]
    assert open_store(installed / "numpy.db").scalars.iloc[0]["median"] > 0
    flushed = open_store(installed / "flushed.db")
    assert flushed.scalars.iloc[0]["bandwidth"] > 0
    assert flushed.manifest["host"]["cold"] == "flush"
