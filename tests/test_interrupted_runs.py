"""A run's results are the same, byte for byte, if it is killed, stopped, resumed or shared among jobs."""

import json
import signal
from pathlib import Path

import pytest

from pcielab import open_store
from shell import exported, refuse, stop_after, stored, succeed

SUITE = Path(__file__).parent / "documents" / "small" / "quick.toml"
SYSTEMS = ("hsw2620", "ib-011-nosp")
"""One without an IOMMU, and one whose tests change later ones the most."""


def run(system: str, output: Path, *options: str) -> tuple[str | Path, ...]:
    return ("run", "--profile", system, "--suite", SUITE, "-o", output, *options)


@pytest.fixture(scope="module", params=SYSTEMS)
def uninterrupted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A system and the store of a run of it."""
    output = tmp_path_factory.mktemp("uninterrupted") / "run.db"
    succeed(*run(request.param, output, "--jobs", "2"))
    return request.param, output


@pytest.fixture(scope="module")
def hsw2620(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a finished run of `hsw2620`."""
    output = tmp_path_factory.mktemp("finished") / "run.db"
    succeed(*run("hsw2620", output))
    return output


def test_a_run_killed_twice_and_resumed_has_the_same_results(
    uninterrupted: tuple[str, Path], tmp_path: Path
) -> None:
    system, whole = uninterrupted
    output = tmp_path / "run.db"
    for tests, options in ((5, ("--jobs", "2")), (10, ("--jobs", "1", "--resume"))):
        killed = stop_after(tests, signal.SIGKILL, *run(system, output, *options))
        assert killed.exit_code == -signal.SIGKILL
        assert stored(output) >= tests
    succeed(*run(system, output, "--resume"))
    assert exported(output) == exported(whole)
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".json"] == ["run.db"]


def test_the_number_of_jobs_changes_nothing(uninterrupted: tuple[str, Path], tmp_path: Path) -> None:
    system, whole = uninterrupted
    output = tmp_path / "run.db"
    succeed(*run(system, output, "--jobs", "1"))
    assert exported(output) == exported(whole)


def test_another_seed_gives_other_numbers(uninterrupted: tuple[str, Path], tmp_path: Path) -> None:
    system, whole = uninterrupted
    output = tmp_path / "other.db"
    succeed(*run(system, output, "--seed", "2"))
    first, other = (json.loads(exported(path)) for path in (whole, output))
    assert (first["manifest"]["seed"], other["manifest"]["seed"]) == (1, 2)
    assert first["tests"] != other["tests"]


def test_ctrl_c_leaves_a_store_that_can_be_resumed(uninterrupted: tuple[str, Path], tmp_path: Path) -> None:
    system, whole = uninterrupted
    output = tmp_path / "run.db"
    stopped = stop_after(5, signal.SIGINT, *run(system, output, "--jobs", "2"))
    assert (stopped.exit_code, stopped.stdout) == (130, "")
    assert str(output) in stopped.stderr
    assert "--resume" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    states = open_store(output).tests["status"].value_counts()
    assert states["ok"] >= 5
    assert set(states.index) <= {"ok", "interrupted"}
    succeed(*run(system, output, "--resume"))
    assert exported(output) == exported(whole)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--seed", "2"], "seed is 2: the store has 1: give the same to --resume"),
        (["--profile", "snb"], 'system.name is "snb": the store has "hsw2620"'),
        (["--suite", "demo"], 'suite is "demo": the store has "quick"'),
        (["--samples", "full"], "options.samples"),
        (["--set", "host.root_complex.read_ns=1"], "system.host.root_complex.read_ns"),
        (["--overwrite"], "--resume and --overwrite"),
    ],
)
def test_resuming_another_run_is_refused(hsw2620: Path, options: list[str], expected: str) -> None:
    before = exported(hsw2620)
    message = refuse(*run("hsw2620", hsw2620, "--resume", *options))
    assert f"{hsw2620}: " in message or options == ["--overwrite"]
    assert expected in message
    assert exported(hsw2620) == before


def test_resuming_a_finished_run_changes_nothing(hsw2620: Path) -> None:
    before = exported(hsw2620)
    succeed(*run("hsw2620", hsw2620, "--resume"))
    assert exported(hsw2620) == before
