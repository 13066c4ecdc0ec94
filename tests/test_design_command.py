"""`pcielab design`: answers in every form, folders that are continued, and refusals."""

import json
import shlex
from pathlib import Path

import pytest

from pages import unpacked
from shell import pcielab, refuse, succeed
from suite_texts import DESIGN


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "tags.toml"
    path.write_text(DESIGN)
    return path


def test_a_folder_keeps_tests_answer_and_report(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = succeed("design", spec, "-o", out, "--no-corners")
    assert "cost 6 (simulated)" in said.stdout
    answer = json.loads((out / "answer.json").read_text())
    assert answer["design"] == {"device.dma.tags": 6}
    assert "SIMULATED" in unpacked((out / "report.html").read_text(encoding="utf-8"))
    assert "--resume" in refuse("design", spec, "-o", out)
    again = succeed("design", spec, "-o", out, "--no-corners", "--resume", "--format", "json")
    printed = json.loads(again.stdout)
    assert printed["counts"]["reused"] >= printed["counts"]["simulated"]
    assert printed["reached"] == answer["reached"]


def test_the_worst_corner_says_which_target_it_misses(spec: Path) -> None:
    said = succeed("design", spec, "--no-front").stdout
    assert "Worst corner: 512 B bw-rd, 8 KiB window, cache cold, host_offset 32 on hsw2620: 22.9 Gb/s" in said
    assert "it misses bw-rd 512." in said


def test_a_reproducer_is_a_command(spec: Path) -> None:
    [worst, *_] = json.loads(succeed("design", spec, "--no-front", "--format", "json").stdout)["corners"]
    words = shlex.split(worst["command"])
    assert words[:6] == ["pcielab", "run", "--profile", "hsw2620", "--set", "device=fpga-xdma"]
    [row] = json.loads(succeed(*words[1:], "--format", "json").stdout)
    assert row["bandwidth_gbps"] == worst["value"]


def test_a_design_that_cannot_be_met_says_what_is_short(spec: Path) -> None:
    spec.write_text(DESIGN.replace("= 40", "= 60"))
    done = pcielab("design", spec, "--no-front")
    assert done.exit_code == 1
    assert "no combination meets all targets" in done.stderr
    assert "short, limited by" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('hosts = ["hsw2620"]', "hosts = [3]", "hosts"),
        ("cost = 1", "costs = 1", "did you mean cost"),
        ('"2:12:2"', '"2:x"', "free.0.values"),
        ("at_least_gbps = 40", "at_least_gbps = 0", "at_least_gbps"),
        ("device.dma.tags", "device.dma.tagz", "tagz"),
    ],
)
def test_wrong_files_are_refused_by_key(spec: Path, old: str, new: str, expected: str) -> None:
    assert old in DESIGN
    spec.write_text(DESIGN.replace(old, new))
    refused = refuse("design", spec)
    assert str(spec) in refused
    assert expected in refused


def test_a_design_or_an_attack_is_given() -> None:
    assert "give SPEC" in refuse("design")
    assert "give SPEC" in refuse("design", "a.toml", "--attack", "snb")
