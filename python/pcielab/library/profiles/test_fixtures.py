"""The copies of shipped systems that Rust tests and benchmarks read are what the profiles resolve to."""

from pathlib import Path

import pytest

from pcielab.library.profiles import resolve

CRATES = Path(__file__).parents[4] / "crates"
FIXTURES = CRATES / "pcie-sim" / "tests" / "fixtures"
RTL_FIXTURES = CRATES / "pcie-rtl" / "tests" / "fixtures"

pytestmark = pytest.mark.skipif(not FIXTURES.is_dir(), reason="not in a working tree: crates are not there")


@pytest.mark.parametrize(
    "name", ["e3", "gen5-x16", "hsw2620", "ib-000-nosp", "ib-011-nosp", "kpio-2012", "netfpga-hsw", "snb"]
)
def test_a_fixture_is_the_shipped_system(name: str) -> None:
    path = FIXTURES / f"{name}.json"
    assert path.read_text() == resolve(name).to_json() + "\n", (
        f"the profile has changed: pcielab profiles show {name} --resolved > {path}"
    )


@pytest.mark.parametrize("name", ["snb", "snb-iommu"])
def test_a_fixture_of_the_core_is_the_shipped_system_with_the_core_as_its_card(name: str) -> None:
    path = RTL_FIXTURES / f"{name}.json"
    sets = ["device=pcielab-fpga", "link.tags=64"]
    assert path.read_text() == resolve(name, sets).to_json() + "\n", (
        f"the profile has changed: pcielab profiles show {name} --resolved --set {' --set '.join(sets)} > {path}"
    )
