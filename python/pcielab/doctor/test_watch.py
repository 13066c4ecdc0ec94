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


def test_the_cost_of_replays_follows_from_counters_and_link(tmp_path: Path) -> None:
    """A device receives the data of its reads; without an Ack by its latency limit, all is sent again."""
    files = [{"aer_dev_correctable": f"BadTLP {bad}\nTimeout {late}\n"} for bad, late in ((0, 0), (20_000, 3000))]
    before, after = (machine(tmp_path / str(number), files=one) for number, one in enumerate(files))
    [found] = changes(before, after, 2.0)
    [reads, writes] = found.losses
    # Gen5 x16, MPS 512, 128b/130b. An Ack may take 182 symbol times, the timer 24,000 of them; a symbol time is
    # that of sixteen bytes.
    byte_ns = 8 / (32 * 16 * 128 / 130)
    tlp_ns, symbol_ns = (512 + 28) * byte_ns, 16 * byte_ns
    shares = (10_000 * (tlp_ns + 182 * symbol_ns) / 1e9, 1500 * (tlp_ns + 24_000 * symbol_ns) / 1e9)
    assert (reads.operation, writes.operation) == ("read", "write")
    for loss, share in zip((reads, writes), shares, strict=True):
        assert loss.now_gbps == pytest.approx(loss.could_gbps * (1 - share))


def test_constant_error_counts_give_no_finding(tmp_path: Path) -> None:
    before, after = machine(tmp_path / "a", files=counted(100)), machine(tmp_path / "b", files=counted(100))
    assert changes(before, after, 2.0) == []


@pytest.mark.parametrize("speeds, rules", [((32.0, 16.0), ["link-changes"]), ((32.0, 32.0), [])])
def test_a_link_that_retrains_is_found(speeds: tuple[float, float], rules: list[str], tmp_path: Path) -> None:
    before, after = machine(tmp_path / "a"), machine(tmp_path / "b", speeds=speeds)
    assert [one.rule for one in changes(before, after, 1.0)] == rules
