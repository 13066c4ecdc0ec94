import json

import pytest
from typer.testing import CliRunner

from pcielab.cli.devices import app
from pcielab.devices import real
from pcielab.errors import InputError

ADDRESS = "0000:3b:00.0"
SWAP = "nvme0n1 is swap; `sudo swapoff /dev/nvme0n1`"


def dry_run(monkeypatch: pytest.MonkeyPatch, survey: real.Survey) -> tuple[list[dict[str, str]], Exception | None]:
    """The rows and the error of a dry run, with binding forbidden."""

    def surveyed(address: str, *, unbound: bool) -> real.Survey:
        assert (address, unbound) == (ADDRESS, False)
        return survey

    def bind(*_: object, **__: object) -> None:
        raise AssertionError("a dry run has bound a device")

    monkeypatch.setattr(real, "survey", surveyed)
    monkeypatch.setattr(real, "bind", bind)
    result = CliRunner().invoke(app, ["bind", ADDRESS, "--dry-run", "--format", "json"])
    error = result.exception
    assert error is None or isinstance(error, Exception)
    return json.loads(result.stdout), error


def test_dry_run_prints_every_look_and_fails_as_binding_would(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = (real.Look("mounts", "/proc/self/mountinfo", ()), real.Look("swap", "/proc/swaps", (SWAP, "and more")))
    rows, error = dry_run(monkeypatch, real.Survey(looks, f"{ADDRESS}: is in use: {SWAP}"))
    assert rows == [
        {"looked for": "mounts", "in": "/proc/self/mountinfo", "holder": "none"},
        {"looked for": "swap", "in": "/proc/swaps", "holder": SWAP},
        {"looked for": "swap", "in": "/proc/swaps", "holder": "and more"},
    ]
    assert isinstance(error, InputError)
    assert SWAP in str(error)


def test_dry_run_of_a_free_device_binds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, error = dry_run(monkeypatch, real.Survey((real.Look("swap", "/proc/swaps", ()),), None))
    assert rows == [{"looked for": "swap", "in": "/proc/swaps", "holder": "none"}]
    assert error is None
