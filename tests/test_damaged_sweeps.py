"""`sweep --resume` with a journal that was truncated, or had bits flipped or sectors zeroed.

Damaged points are simulated again; the table never changes. `make hostile` tries all damage.
"""

import os
import re
from pathlib import Path

import pytest

from damage import changes
from pcielab import sweeps
from pcielab.sweeps import TABLE
from pcielab.sweeps.journal import NAME
from shell import succeed

ONE_IN = int(os.environ.get("PCIELAB_DAMAGE_ONE_IN", "40"))
POINTS = 24
SPEC = """\
name = "windows"
title = "Reads over windows"
system = "ib-000"

[test]
test = "lat-rd"
cache = "device-warm"

[grid]
size = [8, 16, 24, 32, 40, 48, 56, 64, 128, 256, 512, 1024]
window = ["64K", "1M"]
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep's file and its output."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "windows.toml").write_text(SPEC)
    succeed("sweep", folder / "windows.toml", "--jobs", "1", "-o", folder / "out")
    return folder


def test_damage_loses_points_and_changes_no_number(whole: Path, tmp_path: Path) -> None:
    plan = sweeps.load_sweep(whole / "windows.toml")
    content = (whole / "out" / NAME).read_bytes()
    expected = (whole / "out" / TABLE).read_bytes()
    assert content.count(b"\n") == POINTS
    lost = 0
    for number, (about, change) in enumerate(changes(len(content))[::ONE_IN]):
        damaged = bytearray(content)
        change(damaged)
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / NAME).write_bytes(damaged)
        done = sweeps.carry_out(plan, folder, resume=True, work=sweeps.Work(jobs=1))
        assert (folder / TABLE).read_bytes() == expected, about
        simulated = POINTS - sum(line in content.splitlines() for line in bytes(damaged).splitlines())
        assert (done.computed, done.known) == (simulated, POINTS - simulated), about
        lost += simulated
    assert lost > 0


def test_a_changed_digit_is_detected(whole: Path, tmp_path: Path) -> None:
    content = (whole / "out" / NAME).read_text()
    lines = content.splitlines(keepends=True)
    lines[3], count = re.subn(r"(median\|ns[\\\":]+)\d", r"\g<1>9", lines[3])
    assert count == 1
    (tmp_path / NAME).write_text("".join(lines))
    said = succeed("sweep", whole / "windows.toml", "--jobs", "1", "-o", tmp_path, "--resume").stderr
    assert said.splitlines() == [
        f"1 point simulated, {POINTS - 1} known: {tmp_path / TABLE}",
        f"warning: {tmp_path / NAME}: skipped damaged lines: 1",
    ]
    assert (tmp_path / TABLE).read_bytes() == (whole / "out" / TABLE).read_bytes()
