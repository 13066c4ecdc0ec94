"""PCI facts and link of a GPU, as the kernel shows them; remarks and bounds that follow from them."""

from dataclasses import replace
from pathlib import Path

import pytest

from made_machine import server, write
from pcielab.devices.cuda import link
from pcielab.devices.cuda.device import ceiling_gbps, check_ceiling
from pcielab.devices.cuda.link import LinkState, PciFacts, link_state, read_pci_facts
from pcielab.devices.facts import LinkFacts
from pcielab.doctor.test_rules import NIC

FULL = LinkFacts(rate_gtps=32.0, lanes=16, mps_bytes=256, mrrs_bytes=512)


def test_pci_facts_are_those_of_the_kernel(tmp_path: Path) -> None:
    machine = write(tmp_path / "m", server())
    pci = read_pci_facts(NIC, machine)
    assert (pci.rate_most_gtps, pci.lanes_most) == (32.0, 16)
    assert (pci.mps_bytes, pci.mrrs_bytes) == (512, 4096)
    assert pci.vendor_id == 0x15B3
    # A driver may write a domain with eight digits.
    assert read_pci_facts(f"0000{NIC}", machine) == pci
    assert read_pci_facts("0000:ff:1f.7", machine) == PciFacts()
    assert read_pci_facts(NIC, tmp_path) == PciFacts()


def test_slower_end_limits_the_rate(tmp_path: Path) -> None:
    slower = [replace(one, speeds=(16.0, 16.0)) if one.slot == NIC else one for one in server()]
    assert read_pci_facts(NIC, write(tmp_path / "m", slower)).rate_most_gtps == 16.0


def test_link_state_is_the_current_one(tmp_path: Path) -> None:
    folder = tmp_path / "0000:18:00.0"
    folder.mkdir()
    assert link_state(folder.name, tmp_path) == LinkState(None, None)
    (folder / "current_link_speed").write_text("2.5 GT/s PCIe\n")
    (folder / "current_link_width").write_text("16\n")
    state = link_state(folder.name, tmp_path)
    assert state == LinkState(2.5, 16)
    assert state.remark(PciFacts(rate_most_gtps=32.0, lanes_most=16)) == (
        "link is running at 2.5 GT/s x16; both ends support 32 GT/s x16"
    )
    assert state.remark(PciFacts()) is None
    (folder / "current_link_speed").write_text("Unknown\n")
    assert link_state(folder.name, tmp_path).facts(PciFacts()) is None


def test_link_keeps_the_fastest_state_of_a_test_and_of_all_under_load(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, fast, slower = LinkState(2.5, 16), LinkState(32.0, 16), LinkState(16.0, 16)
    states = iter([slow, fast, LinkState(None, None), slower, slower])
    monkeypatch.setattr(link, "link_state", lambda _address: next(states))
    found = link.Link("0000:18:00.0", PciFacts())
    assert (found.idle, found.loaded, found.fastest) == (slow, slow, slow)
    found.read_under_load()
    # A reading that follows at once is left out.
    found.read_under_load()
    assert (found.idle, found.loaded, found.fastest) == (slow, fast, fast)
    monkeypatch.setattr(link, "_READ_SECONDS", 0.0)
    found.read_under_load()
    assert found.loaded == fast
    found.read_under_load()
    assert (found.loaded, found.fastest) == (fast, fast)
    found.begin_test()
    assert found.loaded == fast
    found.read_under_load()
    assert (found.loaded, found.fastest) == (slower, fast)


@pytest.mark.parametrize("shown", [LinkState(2.5, 16), LinkState(None, None)])
def test_the_driver_shows_the_link_where_the_kernel_does_not(
    shown: LinkState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "link_state", lambda _address: shown)
    of_driver = LinkState(32.0, 16)
    found = link.Link("0000:18:00.0", PciFacts(), lambda: of_driver)
    assert found.fastest == of_driver
    remark = "the link is 2.5 GT/s x16 to the kernel, 32 GT/s x16 to the driver: the faster counts"
    assert found.remark() == (remark if shown.lanes_gtps else None)
    assert link.Link("0000:18:00.0", PciFacts(), lambda: of_driver, LinkState(64.0, 8)).fastest == LinkState(
        64.0, 8
    )


def test_bandwidth_above_the_bound_is_refused() -> None:
    most = ceiling_gbps(FULL, "bw-rd", 4096)
    assert most is not None
    assert 400 < most < 512
    taken_ns = 1000 * 8 * 4096 / most
    check_ceiling(FULL, "bw-rd", 4096, 1000, taken_ns)
    with pytest.raises(RuntimeError, match="is above the bound of the link"):
        check_ceiling(FULL, "bw-rd", 4096, 1000, taken_ns * 0.99)
    check_ceiling(None, "bw-rd", 4096, 1000, 1.0)
    check_ceiling(LinkFacts(rate_gtps=13.0, lanes=16), "bw-rd", 4096, 1000, 1.0)


def test_unknown_mps_and_mrrs_raise_the_bound() -> None:
    known, unknown = (ceiling_gbps(link, "bw-rd", 4096) for link in (FULL, LinkFacts(rate_gtps=32.0, lanes=16)))
    assert known is not None
    assert unknown is not None
    assert unknown >= known
