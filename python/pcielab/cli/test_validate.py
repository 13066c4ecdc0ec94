"""`pcielab validate` checks its input before it simulates, and judges the width of its intervals."""

from pathlib import Path

import pytest

import pcielab
from pcielab import InputError
from pcielab.cli import validate as command
from pcielab.cli.output import Cell
from pcielab.devices import running
from pcielab.library.suites import single_test


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store without a test of the suite paper; nothing is simulated after it is written."""
    path = tmp_path / "other.db"
    running.simulate("hsw2620", single_test("bw-rd", size=96, window="2M", transactions=500), path)

    def simulate(*_: object, **__: object) -> None:
        raise AssertionError("simulated a suite for a run without a common test")

    monkeypatch.setattr(running, "simulate", simulate)
    return path


def test_a_run_without_a_common_test_is_refused_before_the_suite_runs(other: Path) -> None:
    message = f"{other}: has no finished test of the suite paper: give a run of that suite"
    with pytest.raises(InputError, match=message):
        command.validate("hsw2620", other)
    with pytest.raises(InputError, match=message):
        pcielab.validate("hsw2620", other)


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (
            0.999,
            "note: median latency inside its interval: 90 % intervals hold 99.9 % of 50 values: they are too wide",
        ),
        (0.7, "hold 70.0 % of 50 values: they are too narrow for this machine"),
        (0.93, ""),
    ],
)
def test_intervals_that_hold_too_much_or_too_little_are_named(
    held: float, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    row: dict[str, Cell] = {"metric": "median latency inside its interval", "rows": 50, "mean": held}
    command._say_of_width(row)
    assert said in (shown := capsys.readouterr().err)
    assert bool(said) == bool(shown)
