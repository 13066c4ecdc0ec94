"""The doctor on the twelve published machines: healthy ones, that look ill to who compares numbers by eye.

Read off both ends of each link by hand: no link runs below what both ends can, no MPS is below what its path can.
"""

import os
from pathlib import Path

import pytest

from pcielab.doctor import Severity, examine, read_lspci

DATA = os.environ.get("PCIELAB_DATA", "")
pytestmark = [
    pytest.mark.published,
    pytest.mark.skipif(not DATA, reason="PCIELAB_DATA does not name the published measurements"),
]

Seen = set[tuple[str, str]]
HSW2620_TOLD: Seen = {
    ("port-limits-card", "01:00.0"),  # I350 at x1 of x4
    ("mps-limited", "05:00.0"),  # the measured card: 256 of 512
    ("tags-limited", "05:00.0"),
}
IB_TOLD: Seen = {
    ("port-limits-card", "06:00.0"),  # I350 at x2 of x4
    ("card-limits-port", "41:00.0"),  # 5 GT/s in a port of 8 GT/s
    ("tags-limited", "41:00.0"),
    ("completion-timeout-off", "41:00.0"),
    ("mps-limited", "02:00.0"),  # XL710: 256 of 2048
    ("mps-limited", "03:00.0"),  # the measured card: 256 of 512
    ("tags-limited", "03:00.0"),
}
SNB_TOLD: Seen = {
    ("port-limits-card", "06:00.0"),  # I350 at x2 of x4
    ("mps-limited", "02:00.0"),  # the measured card: 256 of 512
    ("tags-limited", "02:00.0"),
    ("mps-limited", "03:00.0"),  # a card like it
    ("tags-limited", "03:00.0"),
}
E3_TOLD: Seen = {
    ("card-limits-port", "03:00.0"),  # I210 at 2.5 GT/s in a port of 5 GT/s
    ("mps-limited", "01:00.0"),  # the measured card: 128 of 512
    ("tags-limited", "01:00.0"),
}
ECRC: Seen = {("ecrc-on", "01:00.0"), ("ecrc-on", "02:00.0"), ("ecrc-on", "05:00.0")}
MACHINES = {
    "nfp6000-1.2GHz_hsw-Xeon-E3-1226v3_fujitsu-tx1310": (E3_TOLD, set()),
    "nfp6000-1.2GHz_hsw-Xeon-E5-2620v3_dell-t630": (HSW2620_TOLD, ECRC),
    "nfp6000-1.2GHz_ib-Xeon-E5-2620v2_dell-t620": (IB_TOLD, set()),
    "nfp6000-1.2GHz_snb-Xeon-E5-2630_dell-t620": (SNB_TOLD, set()),
}
TEXTS = sorted(Path(DATA).glob("*/sys-lspci.txt")) if DATA else []


def test_there_are_twelve() -> None:
    assert len(TEXTS) == 12


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.parent.name)
def test_a_healthy_machine_is_told_its_limits_and_no_more(path: Path) -> None:
    told, found = next(seen for name, seen in MACHINES.items() if path.parent.name.startswith(name))
    examination = examine(read_lspci(path.read_text(), path.name))
    seen: dict[Severity, Seen] = {severity: set() for severity in Severity}
    for one in examination.findings:
        seen[one.severity].add((one.rule, str(one.device).removeprefix("0000:")))
    assert seen == {Severity.ERROR: set(), Severity.WARNING: found, Severity.NOTE: told}
    assert examination.unseen == ()
