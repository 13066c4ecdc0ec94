"""Questions as people ask them in the field, paraphrased: the bound, the verdict, and no wrong cause."""

from typing import Any

import pytest

from pcielab import normal
from pcielab.expectations.answers import answer
from pcielab.expectations.described import machine_of
from pcielab.expectations.questions import read_question
from pcielab.expectations.tables import shipped_ranges


@pytest.mark.parametrize(
    ("what", "value", "given", "bound", "verdict"),
    [
        # A forwarder behind a link that trained at half the speed and width.
        (
            "read",
            "54Gb/s",
            {"link": "gen3x8", "device": "ConnectX-6 Dx 100G", "size_bytes": 1024},
            ("wire", 58.3),
            "normal",
        ),
        # A drive on one lane of a small board.
        ("write", "440MB/s", {"link": "gen2x1", "device": "NVMe", "mps_bytes": 256}, ("wire", 456), "normal"),
        # A fast Ethernet port on one lane: the lane, not the line.
        ("write", "6.0Gb/s", {"link": "gen3x1", "device": "AQC113 10G"}, ("wire", 7.18), "normal"),
        # Half of a port on four lanes.
        ("write", "98Gb/s", {"link": "gen5x4", "device": "ConnectX-7 200G"}, ("wire", 115), "normal"),
        # A radio on one lane at the smallest payload.
        ("write", "418MB/s", {"link": "gen2x1", "device": "FPGA", "mps_bytes": 128}, ("wire", 420), "normal"),
        # A drive in a box behind a cable: a tunnel, not the device's own link.
        ("write", "2.8GB/s", {"link": "tb4", "device": "NVMe"}, ("wire", 3.31), "nothing to compare with"),
        ("write", "3.0GB/s", {"link": "usb4", "device": "NVMe"}, ("wire", 4.20), "nothing to compare with"),
    ],
)
def test_the_link_explains_the_value(
    what: str, value: str, given: dict[str, Any], bound: tuple[str, float], verdict: str
) -> None:
    found = normal(what, value, engine="dma", **given)
    assert found.bounds[0].name == bound[0]
    assert found.in_unit(found.bounds[0].value) == pytest.approx(bound[1], rel=0.03)
    assert found.verdict == verdict
    assert not found.causes


def test_a_design_with_few_reads_in_flight_is_told_so_first() -> None:
    low = normal("read", "59Gb/s", link="gen4x8", engine="dma", device="FPGA", mps_bytes=512)
    assert low.verdict == "low"
    assert (low.causes[0].key, low.causes[0].effect) == (
        "D17",
        "7 to 14 reads of 512 B in flight give this in 500 to 1000 ns",
    )
    assert "--rtt-ns" in low.causes[0].check
    known = normal(
        "read", "59Gb/s", link="gen4x8", engine="dma", device="FPGA", size_bytes=512, depth=8, round_trip_ns=540
    )
    assert known.bounds[0].name == "in flight"
    assert known.ratio == pytest.approx(0.97, abs=0.01)


@pytest.mark.parametrize(
    ("device", "value", "size", "ratio"),
    [
        ("ConnectX-6 100G", "12Mpps", 64, 0.08),
        ("E810 100G", "77Mpps", 64, 0.52),
        ("ConnectX-4 100G", "37Mpps", 200, 0.65),
    ],
)
def test_packets_without_a_comparison_name_what_is_missing(
    device: str, value: str, size: int, ratio: float
) -> None:
    found = normal("iops", value, link="gen3x16", engine="dma", device=device, size_bytes=size)
    assert found.bounds[0].name == "line"
    assert found.ratio == pytest.approx(ratio, abs=0.01)
    assert found.verdict == "nothing to compare with"
    assert not found.causes
    assert "one queue and one core" in found.missing["flows and cores"]
    assert found.sentences[0].startswith("Packets a second: a line of 100 Gb/s")


def test_an_expander_above_its_assumed_link_is_asked_for_its_link() -> None:
    found = normal("read", "31GB/s", device="CXL memory expander")
    assert found.verdict == "above the bound"
    assert "give --link" in found.sentences[1]
    slow = normal("latency", "560ns", link="gen5x8", device="CXL memory expander")
    assert slow.verdict == "low"
    assert not slow.causes


@pytest.mark.parametrize(("link", "least", "most"), [("gen5x16", 55.0, 60.0), ("gen6x16", 99.0, 100.0)])
def test_a_line_of_800_gbps_needs_the_sixth_generation(link: str, least: float, most: float) -> None:
    nic = {"name": "nic0", "kind": "nic", "link": f"{link}-mps256", "line_gbps": 800}
    machine = machine_of({"kind": "machine", "device": [nic]})
    given = answer(machine, read_question("h2d nic0", machine), shipped_ranges())
    assert given.bound is not None
    assert least <= given.bound <= most
