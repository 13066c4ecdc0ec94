"""Max-min fair rates: cases by hand, and properties of random flows."""

import random

import pytest

from pcielab.expectations.sharing import equal_rate, fair_rates


def test_two_flows_share_an_edge_and_a_third_takes_the_rest() -> None:
    flows = [{"uplink": 1}, {"uplink": 1, "slow": 1}, {"own": 1}]
    rates, limits = fair_rates(flows, {"uplink": 10.0, "slow": 2.0, "own": 7.0})
    assert rates == [8.0, 2.0, 7.0]
    assert limits == ["uplink", "slow", "own"]


def test_a_flow_that_passes_an_edge_twice_takes_double() -> None:
    assert fair_rates([{"uplink": 2}], {"uplink": 10.0})[0] == [5.0]
    assert equal_rate([{"uplink": 2}, {"uplink": 1}], {"uplink": 12.0}) == (4.0, "uplink")


@pytest.mark.parametrize("seed", range(50))
def test_no_edge_is_above_its_capacity_and_every_flow_meets_a_full_one(seed: int) -> None:
    draw = random.Random(seed)
    capacities = {edge: draw.uniform(1, 60) for edge in range(draw.randint(1, 12))}
    flows = [
        {
            edge: draw.choice((1, 1, 2))
            for edge in draw.sample(sorted(capacities), draw.randint(1, len(capacities)))
        }
        for _ in range(draw.randint(1, 20))
    ]
    rates, limits = fair_rates(flows, capacities)
    loads = {
        edge: sum(rate * flow.get(edge, 0) for rate, flow in zip(rates, flows, strict=True)) for edge in capacities
    }
    assert all(load <= capacities[edge] * (1 + 1e-9) for edge, load in loads.items())
    for flow, limit in zip(flows, limits, strict=True):
        assert limit in flow
        assert loads[limit] == pytest.approx(capacities[limit])
    rate, edge = equal_rate(flows, capacities)
    assert rate <= min(rates) * (1 + 1e-9)
    assert edge in capacities
