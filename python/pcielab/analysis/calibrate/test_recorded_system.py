"""Reading a machine's files: link, board, caches, sockets, addresses, and warnings for missing ones."""

import pytest

from pcielab import InputError
from pcielab.analysis.calibrate.recorded_system import DUAL_BASE_HOST, llc_shape, read_recorded_system

LSPCI = """\
05:00.0 Ethernet controller: {card}
\tCapabilities: [80] Express (v2) Endpoint, MSI 00
\t\tDevCtl:\tReport errors: Correctable- Non-Fatal+
\t\t\tRlxdOrd+ ExtTag- PhantFunc- AuxPwr- NoSnoop+
\t\t\tMaxPayload 128 bytes, MaxReadReq 4096 bytes
\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes Disabled- CommClk+
\t\tLnkSta:\tSpeed 8GT/s, Width x8, TrErr- Train-
\t\tAERCap:\tFirst Error Pointer: 00, GenCap+ CGenEn+ ChkCap+ ChkEn+
"""
TEXTS = {
    "sys-lspci.txt": LSPCI.format(card="Netronome Systems, Inc. Device 6000"),
    "sys-nfp-hwinfo.txt": "assembly.partno=AMDA0058-0001\n",
    "sys-cpuinfo.txt": "model name\t: Intel(R) Xeon(R) CPU E5-2630 v4\nphysical id\t: 0\nphysical id\t: 1\n"
    "cache size\t: 25600 KB\n",
    "sys-kernel-cmdline.txt": "ro intel_iommu=on,sp_off\n",
    "sys-buf-sz.txt": "8388608\n",
    "sys-dma-addrs.txt": "0xffc00000\n0x852800000\n",
}


def test_reads_the_system_from_its_files() -> None:
    recorded = read_recorded_system(TEXTS, "nfp_bdw-s0-s1-s1-iommu-nosp", "bdw", DUAL_BASE_HOST)
    system = recorded.system
    assert (system["link"]["mps_bytes"], system["link"]["mrrs_bytes"], system["link"]["ecrc"]) == (128, 4096, True)
    assert recorded.device == "nfp6000-0001"
    assert system["device"]["command"]["bar_window"] is not None
    assert system["host"]["llc"]["llc_bytes"] == 25 << 20
    assert (system["host"]["llc"]["ways"], system["host"]["llc"]["slices"]) == (20, 10)
    assert (system["device_socket"], system["memory_socket"], system["program_socket"]) == (0, 1, 1)
    assert system["iommu"] == "four-kib-pages"
    assert (system["chunk_bytes"], system["chunk_addresses"]) == (4 << 20, [0xFFC0_0000, 0x8_5280_0000])
    assert recorded.warnings == []


@pytest.mark.parametrize(("model", "merges"), [(45, False), (62, False), (63, True), (79, True)])
def test_partial_lines_depend_on_the_processor(model: int, merges: bool) -> None:
    system = read_recorded_system(
        {"sys-cpuinfo.txt": f"cpu family\t: 6\nmodel\t\t: {model}\n"}, "somewhere", "old"
    ).system
    complex_ = system["host"]["root_complex"]
    assert (complex_["merge_partial_lines"], complex_["partial_line_busy_ns"] == 0) == (merges, merges)


def test_warns_of_each_missing_file() -> None:
    recorded = read_recorded_system({}, "somewhere", "bare")
    for missing in ("sys-lspci.txt", "sys-nfp-hwinfo.txt", "sys-cpuinfo.txt", "sys-kernel-cmdline.txt"):
        assert any(missing in warning for warning in recorded.warnings), missing
    assert recorded.system["iommu"] == "off"


def test_unnamed_sockets_leave_the_placement_open() -> None:
    assert read_recorded_system(TEXTS, "renamed", "bdw", DUAL_BASE_HOST).unplaced


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("sys-lspci.txt", LSPCI.format(card="Mellanox Device 1013"), "19ee:6000"),
        ("sys-nfp-hwinfo.txt", "assembly.partno=AMDA0099-0001\n", "AMDA0099-0001.*AMDA0058-0001"),
    ],
)
def test_refuses_another_card_by_name(name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_recorded_system(TEXTS | {name: text}, "folder", "other")


@pytest.mark.parametrize(
    ("mebibytes", "ways", "slices"), [(15, 20, 6), (20, 20, 8), (25, 20, 10), (8, 16, 4), (12, 16, 6)]
)
def test_llc_size_gives_ways_and_slices(mebibytes: int, ways: int, slices: int) -> None:
    assert llc_shape(mebibytes << 20) == {"llc_bytes": mebibytes << 20, "ways": ways, "slices": slices}
