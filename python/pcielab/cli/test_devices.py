import csv
import io
import json

import pytest
from typer.testing import CliRunner

from pcielab.cli.devices import app
from pcielab.devices import real
from pcielab.errors import InputError

ADDRESS = "0000:3b:00.0"
SWAP = "nvme0n1 is swap; `sudo swapoff /dev/nvme0n1`"


def dry_run(
    monkeypatch: pytest.MonkeyPatch, survey: real.Survey, output_format: str
) -> tuple[str, Exception | None]:
    """The stdout and the error of a dry run, with binding forbidden."""

    def surveyed(address: str, *, unbound: bool) -> real.Survey:
        assert (address, unbound) == (ADDRESS, False)
        return survey

    def bind(*_: object, **__: object) -> None:
        raise AssertionError("a dry run has bound a device")

    monkeypatch.setattr(real, "survey", surveyed)
    monkeypatch.setattr(real, "bind", bind)
    result = CliRunner().invoke(app, ["bind", ADDRESS, "--dry-run", "--format", output_format])
    error = result.exception
    assert error is None or isinstance(error, Exception)
    return result.stdout, error


LOOKS = (real.Look("mounts", "/proc/self/mountinfo", ()), real.Look("swap", "/proc/swaps", (SWAP, "and more")))
ROWS = [
    {"looked for": "mounts", "in": "/proc/self/mountinfo", "holder": "none"},
    {"looked for": "swap", "in": "/proc/swaps", "holder": SWAP},
    {"looked for": "swap", "in": "/proc/swaps", "holder": "and more"},
]


def test_dry_run_prints_every_look_and_fails_as_binding_would(monkeypatch: pytest.MonkeyPatch) -> None:
    printed, error = dry_run(monkeypatch, real.Survey(LOOKS, f"{ADDRESS}: is in use: {SWAP}"), "json")
    assert json.loads(printed) == ROWS
    assert isinstance(error, InputError)
    assert SWAP in str(error)


def test_dry_run_prints_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    printed, error = dry_run(monkeypatch, real.Survey(LOOKS, None), "csv")
    assert list(csv.DictReader(io.StringIO(printed))) == ROWS
    assert error is None


def test_dry_run_prints_a_table_with_every_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    printed, error = dry_run(monkeypatch, real.Survey(LOOKS, None), "table")
    title, *lines = printed.splitlines()
    assert title == f"{ADDRESS}: uses that were looked for"
    assert [row for row in ROWS if not any(all(cell in line for cell in row.values()) for line in lines)] == []
    assert error is None


def test_dry_run_of_a_free_device_binds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    printed, error = dry_run(monkeypatch, real.Survey((real.Look("swap", "/proc/swaps", ()),), None), "json")
    assert json.loads(printed) == [{"looked for": "swap", "in": "/proc/swaps", "holder": "none"}]
    assert error is None
