"""The engine of `examples/read_dma` on calibrated hosts: its bandwidth over tags, and the times of a trace."""

import sys
from pathlib import Path

import pytest

from simulator import RUNTIME, share_runtime

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "read_dma"))
simulate = pytest.importorskip("simulate", reason="needs cocotb: make rtl-check installs it")


@pytest.fixture(scope="module", autouse=True)
def _shared_runtime() -> None:
    for top in simulate.TOPS.values():
        share_runtime(RUNTIME, simulate.BUILDS / top)


@pytest.mark.parametrize(
    ("profile", "block"),
    [("hsw2620", "xilinx"), ("snb-iommu", "xilinx"), ("clx-6234", "xilinx"), ("hsw2620", "intel")],
)
def test_bandwidth_grows_with_tags_up_to_the_bound(profile: str, block: str) -> None:
    tags = [1, 4, 64]
    rows = simulate.simulate("bandwidth_over_tags", profile, block, size=512, reads=150, tags=tags)
    found = [row["gbps"] for row in rows]
    bounds = [simulate.bound_gbps(profile, 512, one) for one in tags]
    assert [row["tags"] for row in rows] == tags
    assert found == sorted(found)
    assert all(0.7 * bound < gbps <= bound for gbps, bound in zip(found, bounds, strict=True)), (found, bounds)


@pytest.mark.parametrize("profile", ["hsw2620", "snb-iommu", "clx-6234"])
def test_a_trace_takes_the_same_time(profile: str) -> None:
    from pcielab import load_system
    from pcielab.port import trace

    text = trace.record(load_system("hsw2620"), "bw-rdwr", size=256, window="64K", transactions=300)
    late = simulate.simulate("trace_takes_the_same_time", profile, trace=text)
    assert len(late) == 150
    # Each of cocotbext-pcie's four steps from port to port takes at least a picosecond.
    assert set(late) == {4}
