"""The sentences below a figure are computed from its data."""

from pcielab.charts.frame import claims_of
from pcielab.report import figures

from .conftest import MakeStore, bandwidth_scalars, latency_scalars, parameters, system

Test = dict[str, object]


def bandwidth(family: str, size: int, factor: float, **keys: object) -> Test:
    """A read test whose results are multiplied by a factor."""
    scalars = [scalar | {"value": scalar["value"] * factor} for scalar in bandwidth_scalars(size)]
    return {"family": family, "parameters": parameters("bw-rd", size, **keys), "scalars": scalars}


def latency(family: str, size: int, median: float, **keys: object) -> Test:
    return {"family": family, "parameters": parameters("lat-rd", size, **keys), "scalars": latency_scalars(median)}


def latencies(medians: dict[int, float]) -> list[Test]:
    return [
        latency("lat_cmd_sweep", 8, median, path="command", window_bytes=window)
        for window, median in medians.items()
    ]


def sweep_of(share: float) -> list[Test]:
    return [bandwidth("bw_dma_sz_sweep", size, share) for size in (64, 256, 512, 2048)]


def test_a_latency_that_no_window_changes_is_called_constant(make_store: MakeStore) -> None:
    flat = figures.latency_by_window(make_store("flat", latencies({4096: 500, 1 << 20: 502, 1 << 26: 505})))
    assert claims_of(flat) == ["made-up, reads: host-warm: constant within 3 % over all windows."]
    steep = figures.latency_by_window(make_store("steep", latencies({4096: 500, 1 << 20: 502, 1 << 26: 650})))
    assert claims_of(steep) == ["made-up, reads: host-warm: changes from 64 MiB on, +30 % at 64 MiB."]


def test_a_tail_is_given_only_as_far_as_transactions_reach(make_store: MakeStore) -> None:
    bins = [(40, 990), (45, 990), (60, 20)]
    few = latency("lat_dma_details", 64, 560.0, details=True)
    few["distributions"] = [{"metric": "latency", "tick": "40/3", "bins": bins}]
    [said] = claims_of(figures.latency_tail(make_store("few", [few])))
    assert "(2,000 transactions)" in said
    assert "p99 600 ns" in said
    assert "p99.9" not in said


def test_faster_remote_memory_is_attributed_to_history(make_store: MakeStore) -> None:
    def sweep(factor: float) -> list[Test]:
        factors = {4096: factor, 65536: 1.0}
        return [
            bandwidth("bw_dma_win_sweep", 64, factors[window], window_bytes=window, cache="cold")
            for window in factors
        ]

    local = make_store("local", sweep(1.0))
    remote = make_store("remote", sweep(1.1), system=system(name="remote", memory_socket=1))
    said = claims_of(figures.local_against_remote([local, remote]))
    assert said[0] == "reads of 64 B: never over 3 % slower."
    assert "up to +10 %" in said[1]
    assert "history" in said[1]


def test_the_smallest_size_that_sustains_ethernet_is_computed(make_store: MakeStore) -> None:
    [said] = claims_of(figures.bandwidth_by_size(make_store("slow", sweep_of(0.7))))
    assert said == "made-up, reads: at most 37.8 Gb/s, at 2048 B; below 40G Ethernet at the largest size."
    [said] = claims_of(figures.bandwidth_by_size(make_store("fast", sweep_of(1.0))))
    assert said == "made-up, reads: at most 53.9 Gb/s, at 2048 B; 40G Ethernet at every size."


def test_the_latency_of_a_byte_is_computed(make_store: MakeStore) -> None:
    def tests(per_byte: float) -> list[Test]:
        return [latency("lat_dma_sizes", size, 500 + per_byte * size) for size in (100, 1100)]

    [said] = claims_of(figures.latency_by_size(make_store("steep", tests(0.5))))
    assert said == "made-up, LAT_RD, DMA: 550 ns at 100 B and 1,050 ns at 1,100 B, 0.50 ns per additional byte."
    [said] = claims_of(figures.latency_by_size(make_store("flat", tests(0.0))))
    assert "0.00 ns per additional byte" in said


def test_an_offset_without_cost_is_called_constant(make_store: MakeStore) -> None:
    def tests(factor: float) -> list[Test]:
        factors = {0: 1.0, 1: 1.0, 8: factor}
        return [bandwidth("bw_dma_off", 64, factors[offset], host_offset_bytes=offset) for offset in factors]

    [said] = claims_of(figures.bandwidth_by_offset(make_store("same", tests(0.99))))
    assert said == "made-up, reads, offset on the host: constant within 3 % at every offset."
    [said] = claims_of(figures.bandwidth_by_offset(make_store("apart", tests(0.6))))
    assert said == "made-up, reads, offset on the host: up to -40 % (64 B at 8)."


def test_a_nic_that_never_sustains_the_line_is_reported(make_store: MakeStore) -> None:
    link = system()["link"]
    wide = claims_of(figures.modelled_interactions(make_store("wide", system=system(link=link | {"lanes": 16}))))
    assert any("simple NIC" in said and "with frames of" in said for said in wide)
    slow = system(link=link | {"lanes": 4, "mps_bytes": 128})
    narrow = claims_of(figures.modelled_interactions(make_store("narrow", system=slow)))
    assert wide != narrow
    assert all("sustains" in said for said in narrow)
