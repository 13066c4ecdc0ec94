"""Packet rates of NICs: the table, what it bounds, and what only keeps a warning away."""

import csv
from pathlib import Path

import pytest

import pcielab
from pcielab.expectations.answers import answer
from pcielab.expectations.described import machine_of
from pcielab.expectations.questions import read_question
from pcielab.expectations.tables import shipped_ranges
from pcielab.library import shipped
from pcielab.library.packet_rates import above_stated, rate_of_name
from shell import succeed

ROOT = Path(__file__).parents[1]


def test_rates_are_those_of_the_table_of_hardware() -> None:
    with (ROOT / "crates/pcie-doctor/data/hardware.csv").open(newline="") as file:
        rates = {
            (row["vendor"], row["device"], row["value"], row["note"], row["source"])
            for row in csv.DictReader(file)
            if row["fact"] == "max_packet_rate_mpps"
        }
    with (shipped.directory("profiles") / "published" / "nic-packets.csv").open(newline="") as file:
        keys = ("vendor", "device", "rate_mpps", "note", "source")
        assert {tuple(row[key] for key in keys) for row in csv.DictReader(file)} == rates


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("connectx-5", "ConnectX-5"),
        ("ConnectX-6 Dx 2x100G", "ConnectX-6 Dx"),
        ("connectx-6-kernel", "ConnectX-6"),
        ("MT2910 Family [ConnectX-7]", "ConnectX-7"),
        ("CX6 100G", "ConnectX-6"),
        ("Ethernet Controller XL710 for 40GbE QSFP+", "XL710"),
        ("Ethernet Controller X710 for 10GbE SFP+", "X710"),
        ("intel-82599", None),
        ("ConnectX-45", None),
        ("E810-C", None),
    ],
)
def test_devices_by_name(name: str, model: str | None) -> None:
    found = rate_of_name(name)
    assert (found.model if found else None) == model


def test_messages_of_a_vendor_keep_a_warning_away_and_make_none() -> None:
    assert "most published of any NIC" in (above_stated("connectx-5", 64, 362) or "")
    assert above_stated("connectx-7", 64, 300) is None
    assert above_stated("connectx-6-lx", 64, 90) is None, "above 75, which no source that was read says of frames"
    assert "X710" in (above_stated("X710", 64, 50) or "")
    assert above_stated("X710", 512, 50) is None
    assert above_stated("my-nic", 64, 1000) is None


def test_the_model_warns_of_packets_that_no_nic_is_known_to_process() -> None:
    slot = ("--gen", "5", "--lanes", "16", "--line", "400", "--sizes", "64,1024")
    done = succeed("model", "nic", "connectx-5", *slot)
    assert "warning: connectx-5: PCIe and line allow 362 million packets of 64 B a second" in done.stderr
    assert (
        "warning"
        not in succeed("model", "nic", "connectx-5", "--gen", "3", "--lanes", "16", "--line", "100").stderr
    )
    asked = ("why", "--nic", "connectx-5", "--line", "400", "--frame", "64", "--direction", "rx")
    assert "362 million packets" in succeed(*asked, "--gen", "5", "--lanes", "16").stderr


def test_normal_has_the_rate_of_a_device_as_a_bound_only_if_it_is_one_of_frames() -> None:
    given = {"link": "gen3x8", "engine": "dma", "size_bytes": 64}
    intel = pcielab.normal("iops", "36Mpps", device="XL710 40G", **given)
    assert intel.bounds[0].name == "packets"
    assert intel.bounds[0].value == pytest.approx(37e6)
    nvidia = pcielab.normal("iops", "36Mpps", device="ConnectX-6 Dx 100G", **given)
    assert {bound.name for bound in nvidia.bounds} == {"wire", "line"}
    assert "215 million RDMA messages" in nvidia.sentences[-1]


MACHINE = {
    "kind": "machine",
    "device": [
        {"name": "nic0", "kind": "nic", "link": "gen4x16", "line_gbps": 100, "title": "ConnectX-6 Dx"},
        {"name": "nic1", "kind": "nic", "link": "gen3x8", "line_gbps": 40, "title": "XL710"},
        {"name": "nic2", "kind": "nic", "link": "gen5x16", "line_gbps": 400, "title": "ConnectX-7"},
        {"name": "gpu0", "kind": "gpu", "link": "gen5x16"},
    ],
}


@pytest.mark.parametrize(
    ("question", "limit", "bound"),
    [
        ("packets-in nic0", "packets", 148.81),
        ("packets-out nic1", "packets", 37.0),
        ("packets-in nic1 size=512", "line", 9.398),
        ("packets-in nic0 size=1518", "line", 8.127),
    ],
)
def test_the_least_of_link_line_and_device_limits_packets(question: str, limit: str, bound: float) -> None:
    machine = machine_of(MACHINE)
    given = answer(machine, read_question(question, machine), shipped_ranges())
    assert given.unit == "Mpps"
    assert given.limit_kind == limit
    assert given.bound == pytest.approx(bound, rel=1e-3)
    assert given.lower is not None
    assert given.upper is not None
    assert given.lower <= given.upper <= given.bound


def test_a_device_that_nobody_measured_is_unknown_unless_the_line_is_slower() -> None:
    machine = machine_of(MACHINE)
    small = answer(machine, read_question("packets-in nic2", machine), shipped_ranges())
    assert small.unknown == ("packet rate of nic2 (ConnectX-7)",)
    assert any("330 million RDMA messages" in note for note in small.notes)
    large = answer(machine, read_question("packets-in nic2 size=1024", machine), shipped_ranges())
    assert not large.unknown


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("packets-in gpu0", "give a NIC"),
        ("packets-in nic0 size=20", "64 to 9216"),
        ("packets-in nic0 size=x", "not a number of bytes"),
        ("h2d nic0 size=64", "leave it out"),
        ("h2d nic0 mtu=1024", "give one as protocol=roce"),
        ("h2d nic0 protocol=rocce", "roce"),
    ],
)
def test_wrong_questions_of_lines_are_refused(question: str, words: str) -> None:
    machine = machine_of(MACHINE)
    with pytest.raises(pcielab.InputError, match=words):
        answer(machine, read_question(question, machine), shipped_ranges())


def test_the_line_of_a_question_has_the_headers_of_its_protocol() -> None:
    machine = machine_of(MACHINE)
    given = answer(machine, read_question("h2d nic0 protocol=roce mtu=1024", machine), shipped_ranges())
    assert given.bound == pytest.approx(12.5 * 1024 / 1106)
    assert "RoCE v2, MTU 1024 B" in given.limit
