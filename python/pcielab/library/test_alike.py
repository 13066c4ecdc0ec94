"""Hints offer the known words with the parts of what was written first."""

import pytest

from pcielab import InputError, load_system, single_test
from pcielab.library.alike import alike, either, suggestion, with_most_parts

TESTS = ["lat-rd", "lat-wrrd", "lat-chase", "bw-rd", "bw-wr", "bw-rdwr"]
KEYS = ["host.llc.ddio_ways", "host.llc.bytes", "host.iommu.walk_ns", "link.tags", "device.name"]


@pytest.mark.parametrize(
    "word, known, found",
    [
        ("latency-read", TESTS, ["lat-rd"]),
        ("read-bw", TESTS, ["bw-rd"]),
        ("chase", TESTS, ["lat-chase"]),
        ("lat", TESTS, ["lat-rd", "lat-wrrd", "lat-chase"]),
        ("bw-rdd", TESTS, ["bw-rd"]),
        ("ddio", KEYS, ["host.llc.ddio_ways"]),
        ("iommu_walk", KEYS, ["host.iommu.walk_ns"]),
        ("host.iommu.wlak_ns", KEYS, ["host.iommu.walk_ns"]),
        ("fpga", ["netfpga", "nfp6000", "fpga-board"], ["fpga-board"]),
        ("qqq", KEYS, []),
        ("x" * 81, ["x" * 80], []),
    ],
)
def test_words_with_the_written_parts_are_alike(word: str, known: list[str], found: list[str]) -> None:
    assert alike(word, known) == found


def test_units_are_no_parts() -> None:
    assert with_most_parts("qqq_ns", KEYS) == []
    assert with_most_parts("llc_size", KEYS) == ["host.llc.ddio_ways", "host.llc.bytes"]


def test_lists_begin_with_the_words_that_match() -> None:
    assert "(known: lat-chase, lat-rd, lat-wrrd, bw-rd, bw-wr, bw-rdwr)" in suggestion("chase-lat", TESTS)
    assert either(["a"]) == "a"
    assert either(["a", "b", "c"]) == "a, b or c"


@pytest.mark.parametrize(
    "change, hint",
    [("ddio=3", "host.llc.ddio_ways"), ("iommu_walk=3", "host.iommu.walk_ns"), ("llc_size=3", "host.llc.")],
)
def test_a_misspelt_key_gets_those_with_its_parts(change: str, hint: str) -> None:
    from pcielab.library.profiles import resolve

    with pytest.raises(InputError, match=f"did you mean {hint}"):
        resolve("hsw2620", [change])


def test_a_misspelt_test_or_profile_gets_those_with_its_parts() -> None:
    with pytest.raises(InputError, match="did you mean bw-rd"):
        single_test("read-bandwidth-bw")
    with pytest.raises(InputError, match=r"did you mean snb-iommu, ib-000-iommu or ib-011-iommu\?"):
        load_system("iommu")
    with pytest.raises(InputError, match=r"did you mean .*snb"):
        load_system("sandy-bridge")
