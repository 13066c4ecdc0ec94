"""Random machines: no edge is simulated to send more than it carries, no flow to get 1 % over the closed form.

`make random-machines` tries 1,000.
"""

import json

import pytest

from random_machines import compared, random_flows
from shell import refuse, succeed


def test_the_closed_form_of_random_machines_is_at_most_one_percent_low() -> None:
    for number in range(20):
        found = compared(number)
        assert found.over_estimate <= 1.01, found
        assert found.over_edges <= 1 + 1e-9, found


def test_the_tree_gives_flows_what_expect_gives_them() -> None:
    from pcielab.fabric import shares

    for number in range(20):
        _, found = random_flows(number)
        tree = shares(found.fabric, found.flows).flows["gbytes_per_s"].to_list()
        assert tree == pytest.approx([share.gbytes_per_s for share in found.shares]), number


def test_a_machine_is_estimated_and_simulated_by_name() -> None:
    asked = ("rome2s-8x4090", "--flow", "gpu0->gpu4", "--format", "json")
    [estimated] = json.loads(succeed("fabric", "estimate", *asked).stdout)
    assert estimated["limit"] == "root complex, gpu0 to gpu4 (two sockets)"
    times = ("--warm-up-us", "20", "--duration-us", "20")
    [simulated] = json.loads(succeed("fabric", "simulate", *asked, *times).stdout)
    assert simulated["gbytes_per_s"] == pytest.approx(estimated["gbytes_per_s"], rel=0.01)
    assert "unknown node" in refuse("fabric", "estimate", "rome2s-8x4090", "--flow", "gpu0->sw0")
