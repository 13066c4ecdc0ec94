"""Random machines: what is simulated is at most what edges carry, and at most 1 % above the closed form.

`make random-machines` tries 1,000.
"""

import pytest

from random_machines import compared, random_flows


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
