"""Machines after public bug reports: the healthy ones are silent, and the sick ones have exactly the named fault.

The texts in `lspci_texts` were written for these tests in the format of `lspci -vvv -nn`; serial numbers and
addresses are made up. Each entry says what kind of report it follows.
"""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pcielab.doctor import Examination, Severity, examine, read_lspci_file
from shell import pcielab

TEXTS = Path(__file__).parent / "lspci_texts"
Seen = set[tuple[str, str]]


@dataclass(frozen=True)
class Machine:
    """A text of lspci with every finding that it should give."""

    name: str
    follows: str
    notes: Seen = field(default_factory=set)
    warnings: Seen = field(default_factory=set)
    errors: Seen = field(default_factory=set)

    @property
    def path(self) -> Path:
        return TEXTS / f"{self.name}.txt"


HEALTHY = [
    Machine(
        "epyc-7302-rome",
        "Dell servers on a testbed: dummy functions and SATA at the default MPS, and two 1 Gb/s ports on one lane",
        notes={
            ("below-both-ends", "02:00.0"),  # BCM5720: x1 of x2
            ("card-limits-port", "01:00.0"),
            ("card-limits-port", "02:00.0"),
        },
    ),
    Machine(
        "epyc-7543-milan",
        "an A100 and a ConnectX-6 in a GPU server; the bridge of the BMC at 2.5 of 5 GT/s",
        notes={("below-both-ends", "44:00.0")},
    ),
    Machine(
        "epyc-9354-genoa",
        "a list of names older than the processor: internal bridges show as bare device numbers; an empty "
        "drive bay",
    ),
    Machine(
        "xeon-8480-sapphire-rapids",
        "an idle H100 at 2.5 GT/s, accelerators integrated in the processor, an empty slot",
        notes={("below-both-ends", "98:00.0"), ("card-limits-port", "99:00.0")},
    ),
    Machine(
        "grace-hopper",
        "a superchip whose GPU shows one lane, since its data cross NVLink-C2C",
        notes={("made-up-link", "0009:01:00.0"), ("card-limits-port", "0004:01:00.0")},
    ),
    Machine(
        "raspberry-pi-5",
        "an NVMe drive on the one lane of a Raspberry Pi 5, with a hex dump (-xxx)",
        notes={("port-limits-card", "0001:01:00.0"), ("extended-tags-off", "0001:01:00.0")},
    ),
    Machine(
        "laptop-alder-lake-thunderbolt",
        "a laptop with a Thunderbolt dock, an empty Thunderbolt port, and ASPM",
        notes={
            ("mps-limited", "01:00.0"),
            ("card-limits-port", "80:00.0"),
            ("made-up-link", "23:00.0"),
            ("aspm-on", "01:00.0"),
            ("mps-above-device", "80:00.0"),  # a card reader of 128 B below a port of 256 B
        },
    ),
    Machine(
        "laptop-rembrandt",
        "an AMD laptop: a resting graphics card, and graphics, audio and PSP inside the processor",
        notes={
            ("below-both-ends", "01:00.0"),
            ("card-limits-port", "02:00.0"),
            ("aspm-on", "01:00.0"),
            ("aspm-on", "03:00.0"),
        },
    ),
    Machine(
        "desktop-x570",
        "a desktop with a drive behind the chipset, and an idle card with a switch of its own",
        notes={
            ("below-both-ends", "08:00.0"),
            ("path-limits-card", "0a:00.0"),
            ("card-limits-port", "05:00.0"),
            ("uplink-shared", "02:00.0"),
            ("acs-redirects", "02:00.0"),
            ("chipset-slot", "04:00.0"),
        },
    ),
]
SICK = [
    Machine(
        "xeon-8380-ice-lake-slow-bay",
        "one of two equal drives trains at 8 of 16 GT/s; an X722 behind the chipset's virtual switch",
        errors={("below-both-ends", "4c:00.0")},
    ),
    Machine(
        "xeon-6230-bad-riser",
        "a network card in a bad riser: half the lanes, and errors on three of them",
        warnings={("lanes-with-errors", "3b:00.0")},
        errors={("below-both-ends", "3b:00.0")},
    ),
    Machine(
        "xeon-6430-dead-bay",
        "a drive that is missing from its bay: present, but the link is down",
        notes={("card-limits-port", "e1:00.0")},
        errors={("link-down", "e0:02.0")},
    ),
]


def examined(machine: Machine) -> Examination:
    return examine(read_lspci_file(machine.path))


@pytest.mark.parametrize("machine", [*HEALTHY, *SICK], ids=lambda machine: machine.name)
def test_a_machine_has_exactly_the_named_findings(machine: Machine) -> None:
    examination = examined(machine)
    seen: dict[Severity, Seen] = {severity: set() for severity in Severity}
    for one in examination.findings:
        seen[one.severity].add((one.rule, str(one.device).removeprefix("0000:")))
    assert seen == {
        Severity.ERROR: machine.errors,
        Severity.WARNING: machine.warnings,
        Severity.NOTE: machine.notes,
    }
    assert examination.unseen == ()


@pytest.mark.parametrize("machine", HEALTHY, ids=lambda machine: machine.name)
def test_strict_passes_a_healthy_machine(machine: Machine) -> None:
    assert not machine.errors | machine.warnings
    assert pcielab("doctor", "--lspci", machine.path, "--strict").exit_code == 0


@pytest.mark.parametrize("machine", SICK, ids=lambda machine: machine.name)
def test_strict_does_not_pass_a_sick_machine(machine: Machine) -> None:
    assert pcielab("doctor", "--lspci", machine.path, "--strict").exit_code == 1


def test_the_finding_of_a_bad_riser_names_the_lanes_of_both_ends() -> None:
    found = next(one for one in examined(SICK[1]).findings if one.rule == "lanes-with-errors")
    assert "the port received them on lanes 3 and 7, the device received them on lane 0" in found.what


def test_every_text_of_a_machine_is_examined() -> None:
    of_a_version = {"pciutils-3.9", "pciutils-3.13"}
    assert {path.stem for path in TEXTS.glob("*.txt")} == {one.name for one in (*HEALTHY, *SICK)} | of_a_version
