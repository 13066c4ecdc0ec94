"""What a report says of a figure is computed from it: another run makes another sentence."""

from pcielab.report import figures
from pcielab.report.figures.frame import findings_of

from .conftest import MakeStore, bandwidth_scalars, latency_scalars, parameters, system


def latencies(medians: dict[int, float]) -> list[dict[str, object]]:
    return [
        {
            "family": "lat_cmd_sweep",
            "parameters": parameters("lat-rd", 8, path="command", window_bytes=window),
            "scalars": latency_scalars(median),
        }
        for window, median in medians.items()
    ]


def sweep_of(share: float) -> list[dict[str, object]]:
    return [
        {
            "family": "bw_dma_sz_sweep",
            "parameters": parameters("bw-rd", size),
            "scalars": [scalar | {"value": scalar["value"] * share} for scalar in bandwidth_scalars(size)],
        }
        for size in (64, 256, 512, 2048)
    ]


def test_a_latency_that_no_window_changes_is_not_said_to_rise(make_store: MakeStore) -> None:
    flat = figures.latency_by_window(make_store("flat", latencies({4096: 500, 1 << 20: 502, 1 << 26: 505})))
    assert findings_of(flat) == ["made-up, reads: host-warm: constant within 3 % over all windows."]
    steep = figures.latency_by_window(make_store("steep", latencies({4096: 500, 1 << 20: 502, 1 << 26: 650})))
    assert findings_of(steep) == ["made-up, reads: host-warm: changes from 64M on, +30 % at 64M."]


def test_a_tail_is_said_as_far_as_transactions_reach(make_store: MakeStore) -> None:
    few = {
        "family": "lat_dma_details",
        "parameters": parameters("lat-rd", 64, details=True),
        "scalars": latency_scalars(560.0),
        "distributions": [{"metric": "latency", "tick": "40/3", "bins": [(40, 990), (45, 990), (60, 20)]}],
    }
    [said] = findings_of(figures.latency_tail(make_store("few", [few])))
    assert "(2,000 transactions)" in said
    assert "p99 600 ns" in said
    assert "p99.9" not in said


def test_remote_memory_that_looks_faster_is_called_history(make_store: MakeStore) -> None:
    def sweep(factor: float) -> list[dict[str, object]]:
        return [
            {
                "family": "bw_dma_win_sweep",
                "parameters": parameters("bw-rd", 64, window_bytes=window, cache="cold"),
                "scalars": [
                    scalar | {"value": scalar["value"] * (factor if window == 4096 else 1)}
                    for scalar in bandwidth_scalars(64)
                ],
            }
            for window in (4096, 65536)
        ]

    local = make_store("local", sweep(1.0))
    remote = make_store("remote", sweep(1.1), system=system(name="remote", memory_socket=1))
    said = findings_of(figures.local_against_remote([local, remote]))
    assert said[0] == "reads of 64 B: never over 3 % slower."
    assert "up to +10 %" in said[1]
    assert "history" in said[1]


def test_the_size_from_which_ethernet_is_kept_up_with_is_computed(make_store: MakeStore) -> None:
    [said] = findings_of(figures.bandwidth_by_size(make_store("slow", sweep_of(0.7))))
    assert said == "made-up, reads: at most 37.8 Gb/s, at 2048 B; below 40G Ethernet at the largest size."
    [said] = findings_of(figures.bandwidth_by_size(make_store("fast", sweep_of(1.0))))
    assert said == "made-up, reads: at most 53.9 Gb/s, at 2048 B; 40G Ethernet at every size."


def test_what_a_byte_takes_is_computed(make_store: MakeStore) -> None:
    def tests(per_byte: float) -> list[dict[str, object]]:
        return [
            {
                "family": "lat_dma_sizes",
                "parameters": parameters("lat-rd", size),
                "scalars": latency_scalars(500 + per_byte * size),
            }
            for size in (100, 1100)
        ]

    [said] = findings_of(figures.latency_by_size(make_store("steep", tests(0.5))))
    assert said == "made-up, LAT_RD, DMA: 550 ns at 100 B and 1,050 ns at 1,100 B, 0.50 ns per additional byte."
    [said] = findings_of(figures.latency_by_size(make_store("flat", tests(0.0))))
    assert "0.00 ns per additional byte" in said


def test_an_offset_that_costs_nothing_is_not_said_to(make_store: MakeStore) -> None:
    def tests(factor: float) -> list[dict[str, object]]:
        return [
            {
                "family": "bw_dma_off",
                "parameters": parameters("bw-rd", 64, host_offset_bytes=offset),
                "scalars": [
                    scalar | {"value": scalar["value"] * (factor if offset == 8 else 1)}
                    for scalar in bandwidth_scalars(64)
                ],
            }
            for offset in (0, 1, 8)
        ]

    [said] = findings_of(figures.bandwidth_by_offset(make_store("same", tests(0.99))))
    assert said == "made-up, reads, offset on the host: constant within 3 % at every offset."
    [said] = findings_of(figures.bandwidth_by_offset(make_store("apart", tests(0.6))))
    assert said == "made-up, reads, offset on the host: up to -40 % (64 B at 8)."


def test_a_nic_that_never_carries_the_line_is_said_not_to(make_store: MakeStore) -> None:
    link = system()["link"]
    wide = findings_of(figures.modelled_interactions(make_store("wide", system=system(link=link | {"lanes": 16}))))
    assert any("simple NIC" in said and "with frames of" in said for said in wide)
    slow = system(link=link | {"lanes": 4, "mps_bytes": 128})
    narrow = findings_of(figures.modelled_interactions(make_store("narrow", system=slow)))
    assert wide != narrow
    assert all("sustains" in said for said in narrow)
