"""Published sizes come out of searches: the NetFPGA's reads in flight, and the tags of a guide's table."""

from pathlib import Path
from typing import Any

import pytest

from pcielab import model
from pcielab.design import design
from pcielab.design.problem import problem_of
from pcielab.design.spec import DesignFile

SHARE = 0.9
"""Of the bound: a design that reaches it has enough tags."""


def tags(host: str, device: str, values: str, size: int, gbps: float) -> Any:
    """The fewest tags with which a device's reads on a host reach a rate."""
    described = {
        "name": "tags",
        "title": "Tags",
        "hosts": [host],
        "set": {"device": device},
        "free": [{"key": "device.dma.tags", "values": values, "cost": 1.0}],
        "target": [{"test": "bw-rd", "size": size, "with": {"cache": "host-warm"}, "at_least_gbps": gbps}],
    }
    problem = problem_of(DesignFile.model_validate(described), Path())
    return design(problem, front=False, corners=False).design["device.dma.tags"]


@pytest.mark.parametrize(("host", "few"), [("hsw2620", 8), ("snb-iommu", 8), ("clx-6234", 32)])
def test_the_tags_of_the_table_in_the_guide_of_other_simulators(host: str, few: int) -> None:
    """docs/guides/other-simulators.md: an engine in RTL reaches 90 % of the bound with these tags, 512 B reads."""
    bounds = {"hsw2620": 55.05, "snb-iommu": 55.02, "clx-6234": 109.83}
    assert tags(host, "direct-dma", "1:64:x2", 512, SHARE * bounds[host]) == few


def test_the_reads_in_flight_of_the_netfpga() -> None:
    """Its 128 B reads reach the same share of the paper's model with the 24 reads in flight of its design."""
    link = model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)
    [bound] = model.bandwidth(link, [128], accounting=model.Accounting.SIGCOMM18)
    assert tags("netfpga-hsw", "netfpga-sume", "8:64", 128, SHARE * bound.read.gbps) == 24
