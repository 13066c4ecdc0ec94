"""Findings from two readings of one machine."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from made_machine import server, write
from pcielab.doctor import Severity, Tree, changes, read_sysfs

NIC = "0000:01:00.0"


def machine(root: Path, **nic: Any) -> Tree:
    return read_sysfs(write(root, [replace(one, **nic) if one.slot == NIC else one for one in server()]))


def counted(total: int) -> dict[str, str]:
    return {"aer_dev_correctable": f"RxErr 0\nBadTLP {total}\nTOTAL_ERR_COR {total}"}


def test_rising_errors_are_an_error_with_their_rate(tmp_path: Path) -> None:
    before, after = machine(tmp_path / "a", files=counted(100)), machine(tmp_path / "b", files=counted(550))
    [found] = changes(before, after, 2.0)
    assert (found.rule, found.cause, found.severity) == ("errors-rise", "D04", Severity.ERROR)
    assert "225 correctable errors per second" in found.what


def test_constant_error_counts_give_no_finding(tmp_path: Path) -> None:
    before, after = machine(tmp_path / "a", files=counted(100)), machine(tmp_path / "b", files=counted(100))
    assert changes(before, after, 2.0) == []


@pytest.mark.parametrize("speeds, rules", [((32.0, 16.0), ["link-changes"]), ((32.0, 32.0), [])])
def test_a_link_that_retrains_is_found(speeds: tuple[float, float], rules: list[str], tmp_path: Path) -> None:
    before, after = machine(tmp_path / "a"), machine(tmp_path / "b", speeds=speeds)
    assert [one.rule for one in changes(before, after, 1.0)] == rules
