"""The doctor on the twelve published machines, which are healthy although some numbers look low.

Checked by hand on both ends of each link: every link runs as fast as both ends support, and every MPS is the
largest that its path supports.
"""

import tomllib
from pathlib import Path

import pytest

from measured_data import SYSTEMS, needs_measurements
from pcielab.doctor import Severity, examine, read_lspci

pytestmark = needs_measurements

Seen = set[tuple[str, str]]
HSW2620_NOTES: Seen = {
    ("port-limits-card", "01:00.0"),  # I350 at x1 of x4
    ("ecrc-on", "01:00.0"),  # two ports of 1 Gb/s on a link that carries 3.3
    ("mps-limited", "05:00.0"),  # the measured device: 256 of 512
    ("tags-limited", "05:00.0"),
}
IB_NOTES: Seen = {
    ("port-limits-card", "06:00.0"),  # I350 at x2 of x4
    ("card-limits-port", "41:00.0"),  # 5 GT/s in a port of 8 GT/s
    ("tags-limited", "41:00.0"),
    ("completion-timeout-off", "41:00.0"),
    ("mps-limited", "02:00.0"),  # XL710: 256 of 2048
    ("mps-limited", "03:00.0"),  # the measured device: 256 of 512
    ("tags-limited", "03:00.0"),
}
SNB_NOTES: Seen = {
    ("port-limits-card", "06:00.0"),  # I350 at x2 of x4
    ("mps-limited", "02:00.0"),  # the measured device: 256 of 512
    ("tags-limited", "02:00.0"),
    ("mps-limited", "03:00.0"),  # a second one
    ("tags-limited", "03:00.0"),
}
E3_NOTES: Seen = {
    ("card-limits-port", "03:00.0"),  # I210 at 2.5 GT/s in a port of 5 GT/s
    ("mps-limited", "01:00.0"),  # the measured device: 128 of 512
    ("tags-limited", "01:00.0"),
}
_LISTED = tomllib.loads((Path(__file__).parent / "healthy_machines.toml").read_text())
_ECRC_ON = _LISTED["nfp6000-1_2GHz_hsw-Xeon-E5-2620v3_dell-t630"]["warnings"]
ECRC: Seen = {(rule, slot) for rule, slot in _ECRC_ON}
MACHINES = {
    "nfp6000-1.2GHz_hsw-Xeon-E3-1226v3_fujitsu-tx1310": (E3_NOTES, set()),
    "nfp6000-1.2GHz_hsw-Xeon-E5-2620v3_dell-t630": (HSW2620_NOTES, ECRC),
    "nfp6000-1.2GHz_ib-Xeon-E5-2620v2_dell-t620": (IB_NOTES, set()),
    "nfp6000-1.2GHz_snb-Xeon-E5-2630_dell-t620": (SNB_NOTES, set()),
}


def test_there_are_twelve() -> None:
    assert len(SYSTEMS) == 12


@pytest.mark.parametrize("folder", SYSTEMS, ids=lambda folder: folder.name)
def test_a_healthy_machine_has_no_error(folder: Path) -> None:
    notes, warnings = next(seen for name, seen in MACHINES.items() if folder.name.startswith(name))
    examination = examine(read_lspci((folder / "sys-lspci.txt").read_text(), "sys-lspci.txt"))
    seen: dict[Severity, Seen] = {severity: set() for severity in Severity}
    for one in examination.findings:
        seen[one.severity].add((one.rule, str(one.device).removeprefix("0000:")))
    assert seen == {Severity.ERROR: set(), Severity.WARNING: warnings, Severity.NOTE: notes}
    assert examination.unseen == ()
