"""A card's place and link are read as the kernel shows them, and a link below its ends is spoken of."""

from dataclasses import replace
from pathlib import Path

import pytest

from pcielab.devices.cuda.ceiling import ceiling_gbps, check_ceiling
from pcielab.devices.cuda.link import LinkState, Place, link_state, place_of
from pcielab.devices.facts import LinkFacts
from pcielab.doctor.made_machine import server, write
from pcielab.doctor.test_rules import NIC

FULL = LinkFacts(rate_gtps=32.0, lanes=16, mps_bytes=256, mrrs_bytes=512)


def test_a_place_is_what_the_kernel_says_of_it(tmp_path: Path) -> None:
    machine = write(tmp_path / "m", server())
    place = place_of(NIC, machine)
    assert (place.rate_most_gtps, place.lanes_most) == (32.0, 16)
    assert (place.mps_bytes, place.mrrs_bytes) == (512, 4096)
    assert place.vendor_id == 0x15B3
    # A driver may write a domain with eight digits.
    assert place_of(f"0000{NIC}", machine) == place
    assert place_of("0000:ff:1f.7", machine) == Place()
    assert place_of(NIC, tmp_path) == Place()


def test_what_both_ends_can_is_what_the_slower_can(tmp_path: Path) -> None:
    slower = [replace(one, speeds=(16.0, 16.0)) if one.slot == NIC else one for one in server()]
    assert place_of(NIC, write(tmp_path / "m", slower)).rate_most_gtps == 16.0


def test_a_link_is_read_as_it_runs(tmp_path: Path) -> None:
    folder = tmp_path / "0000:18:00.0"
    folder.mkdir()
    assert link_state(folder.name, tmp_path) == LinkState(None, None)
    (folder / "current_link_speed").write_text("2.5 GT/s PCIe\n")
    (folder / "current_link_width").write_text("16\n")
    state = link_state(folder.name, tmp_path)
    assert state == LinkState(2.5, 16)
    assert state.remark(Place(rate_most_gtps=32.0, lanes_most=16)) == (
        "link is running at 2.5 GT/s x16; both ends support 32 GT/s x16"
    )
    assert state.remark(Place()) is None
    (folder / "current_link_speed").write_text("Unknown\n")
    assert link_state(folder.name, tmp_path).facts(Place()) is None


def test_no_more_than_a_link_carries_passes() -> None:
    most = ceiling_gbps(FULL, "bw-rd", 4096)
    assert most is not None
    assert 400 < most < 512
    taken_ns = 1000 * 8 * 4096 / most
    check_ceiling(FULL, "bw-rd", 4096, 1000, taken_ns)
    with pytest.raises(RuntimeError, match="is above what the link carries"):
        check_ceiling(FULL, "bw-rd", 4096, 1000, taken_ns * 0.99)
    check_ceiling(None, "bw-rd", 4096, 1000, 1.0)
    check_ceiling(LinkFacts(rate_gtps=13.0, lanes=16), "bw-rd", 4096, 1000, 1.0)


def test_what_is_not_known_of_a_link_bounds_nothing() -> None:
    known, unknown = (ceiling_gbps(link, "bw-rd", 4096) for link in (FULL, LinkFacts(rate_gtps=32.0, lanes=16)))
    assert known is not None
    assert unknown is not None
    assert unknown >= known
