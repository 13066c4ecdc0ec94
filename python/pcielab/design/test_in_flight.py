"""DMAs in flight for latencies that vary: the paper's numbers where they do not, sizes that hold where they do."""

import numpy as np
import pytest

import pcielab
from pcielab import InputError, model
from pcielab.design.in_flight import Latencies, in_flight, percentile_in_flight, sized, waiting_share


def constant(ns: float) -> Latencies:
    return Latencies(np.array([ns]), np.array([1.0]), "measured")


@pytest.mark.parametrize("latency_ns", [560.0, 666.0, 900.0])
def test_a_constant_latency_gives_the_closed_form(latency_ns: float) -> None:
    """The paper's section 2: 30 in flight at 900 ns, and some 20 at 560 to 666 ns, for 128 B at 40 Gb/s."""
    [closed] = model.sizing([128], [latency_ns])
    row = sized(constant(latency_ns), 128, "packets", closed.packet_interval_ns, 99.9)
    assert row.dmas_in_flight == closed.packets_in_flight == row.constant_in_flight
    assert row.waiting_percent == 0


def test_a_queue_holds_with_the_size_and_not_with_one_less() -> None:
    shares = np.array([0.9, 0.09, 0.01])
    latencies = Latencies(np.array([500.0, 900.0, 4000.0]), shares, "measured")
    row = sized(latencies, 128, "packets", 29.6, 99)
    assert row.mean_in_flight < row.dmas_in_flight < row.constant_in_flight + 1
    draws = np.random.default_rng(7).choice(latencies.ns, 100_000, p=shares)
    assert waiting_share(draws, 29.6, row.dmas_in_flight) <= 0.01
    assert waiting_share(draws, 29.6, percentile_in_flight(latencies, 29.6, 99) - 2) > 0.01


def test_a_system_is_simulated_and_a_nic_counts_its_descriptors() -> None:
    rows = in_flight("netfpga-hsw", [128], device=model.load_nic("niantic-kernel"), percentile=99)
    assert [row.path for row in rows] == ["tx", "rx"]
    assert {row.origin for row in rows} == {"simulated"}
    assert rows[1].interval_ns == pytest.approx(29.6 / 3)
    assert all(row.ring_descriptors >= row.dmas_in_flight for row in rows)


def test_wrong_percentiles_are_refused() -> None:
    with pytest.raises(InputError, match="--percentile 100: give a number above 0 and below 100"):
        in_flight(pcielab.load_system("snb"), [128], percentile=100.0)
