"""The figures of a report: their rows, references and residuals."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from pcielab.charts.frame import claims_of
from pcielab.charts.run import everyone
from pcielab.report import figures
from pcielab.report.catalogue import draw_all

from .conftest import MakeStore, bandwidth_scalars, latency_scalars, parameters, small_paper_suite, system


def rows_of(figure: figures.Figure) -> list[dict[str, Any]]:
    """All rows of a figure."""
    datasets = json.loads(figure.to_json(validate=True))["datasets"]
    return [row for rows in datasets.values() for row in rows]


def sweep(sizes: list[int], **changes: Any) -> list[dict[str, Any]]:
    return [
        {"family": "mine", "parameters": parameters("bw-rd", size, **changes), "scalars": bandwidth_scalars(size)}
        for size in sizes
    ]


def test_every_figure_is_a_valid_specification(make_store: MakeStore) -> None:
    store = make_store("a")
    for draw in (
        figures.bandwidth_by_offset, figures.bandwidth_by_size, figures.bandwidth_by_window,
        figures.latency_by_size, figures.latencies_in_order, figures.latency_by_window, figures.latency_cdf,
        figures.latency_histogram, figures.latency_tail, figures.modelled_interactions,
    ):  # fmt: skip
        assert rows_of(draw(store)), draw.__name__


def test_every_figure_of_a_report_is_a_valid_specification(make_store: MakeStore) -> None:
    runs = [make_store("a"), make_store("b", system=system(name="other", memory_socket=1))]
    *lines, points = everyone(runs, make_store("c", origin="measured"))
    drawn, _ = draw_all(lines, points)
    assert len(drawn) > 10
    for one in drawn:
        assert rows_of(one.figure), one.entry.name


def test_reads_of_a_core_are_dependent_and_independent(make_store: MakeStore) -> None:
    windows = [4096 << power for power in range(9)]
    chase = {window: 1.2 if window <= 32768 else 4.0 if window < 1 << 20 else 12.0 for window in windows}
    of_core = [
        {"family": "lat", "parameters": parameters("lat-chase", 8, path="command", window_bytes=window),
         "scalars": latency_scalars(latency)}
        for window, latency in chase.items()
    ] + [
        {"family": "bw", "parameters": parameters("bw-rd", 8, path="command", window_bytes=window),
         "scalars": bandwidth_scalars(8)}
        for window in windows
    ]  # fmt: skip
    caches = [
        {"level": 1, "holds": "data", "bytes": 32768, "shared_by": "0"},
        {"level": 1, "holds": "instruction", "bytes": 65536, "shared_by": "0"},
        {"level": 2, "holds": "unified", "bytes": 1 << 20, "shared_by": "0"},
    ]
    figure = figures.reads_of_a_core(make_store("core", of_core, origin="measured", host={"caches": caches}))
    rows = rows_of(figure)
    dependent = {row["window_bytes"]: row["read_ns"] for row in rows if row["kind"].startswith("dependent")}
    assert dependent == chase
    assert {row["read_ns"] for row in rows if row["kind"].startswith("independent")} == {1e9 / 1e6}
    claims = "made-up, dependent reads: 1.20 ns at 16K in L1, 4.00 ns at 512K in L2, 12.00 ns at 1M."
    assert claims_of(figure) == [claims]
    drawn = json.dumps(figure.to_dict()["layer"])
    assert '"datum": 32768' in drawn
    assert '"datum": 65536' not in drawn


def test_reads_of_a_core_need_a_pointer_chase(make_store: MakeStore) -> None:
    with pytest.raises(figures.MissingDataError, match="a pointer chase over windows"):
        figures.reads_of_a_core(make_store("a"))


def test_the_bound_of_the_link_lies_above_the_run(make_store: MakeStore) -> None:
    rows = rows_of(figures.bandwidth_by_size(make_store("a")))
    reads = [row for row in rows if row["operation"] == "bw-rd"]
    bound = {row["size_bytes"]: row["bandwidth"] for row in reads if row.get("reference", "").startswith("bound")}
    drawn = {row["size_bytes"]: row["bandwidth"] for row in reads if row["role"] == "line"}
    assert set(drawn) == {64, 256, 257, 512, 2048}
    assert all(drawn[size] <= bound[size] for size in drawn if size != 257)
    # 40 Gb/s in frames of 512 + 4 B with gaps of 20 B.
    need = {row["size_bytes"]: row["bandwidth"] for row in reads if row.get("reference", "").startswith("needed")}
    assert need[512] == pytest.approx(40 * 512 / 536)


def test_a_users_own_suite_is_drawn(make_store: MakeStore) -> None:
    rows = rows_of(figures.bandwidth_by_size(make_store("a", sweep([100, 200, 300], cache="cold"))))
    assert sorted(row["size_bytes"] for row in rows if row["role"] == "line") == [100, 200, 300]


def test_the_widest_sweep_is_drawn_with_repeated_rows_once(make_store: MakeStore) -> None:
    tests = sweep([64, 128, 64]) + sweep([512, 640, 700, 768], window_bytes=1 << 20)
    rows = rows_of(figures.bandwidth_by_size(make_store("a", tests)))
    assert [row["size_bytes"] for row in rows if row["role"] == "line"] == [64, 128]


def test_a_single_size_is_not_drawn(make_store: MakeStore) -> None:
    with pytest.raises(figures.MissingDataError, match="bw_dma_sz_sweep"):
        figures.bandwidth_by_size(make_store("a", sweep([64])))


def test_failed_rows_are_not_drawn(make_store: MakeStore) -> None:
    tests = [*sweep([64, 128]), sweep([256])[0] | {"status": "failed", "message": "no", "scalars": []}]
    rows = rows_of(figures.bandwidth_by_size(make_store("a", tests)))
    assert [row["size_bytes"] for row in rows if row["role"] == "line"] == [64, 128]


def test_the_measured_overlay_is_points(make_store: MakeStore) -> None:
    figure = figures.latency_by_size(make_store("a"), measured=make_store("b", origin="measured"))
    roles = {(row["run"], row["role"]) for row in rows_of(figure)}
    assert roles == {("made-up · SIMULATED", "line"), ("made-up · MEASURED", "points")}


def test_the_tail_ends_at_the_slowest_transaction(make_store: MakeStore) -> None:
    rows = [row for row in rows_of(figures.latency_tail(make_store("a"))) if row["test"].startswith("LAT_RD")]
    assert min(row["tail"] for row in rows) == pytest.approx(2 / 1111113, rel=0.01)
    assert all(row["latency_ns"] >= 39 * 40 / 3 - 0.001 for row in rows)


def test_a_histogram_has_every_tick_and_its_share(make_store: MakeStore) -> None:
    rows = rows_of(figures.latency_histogram(make_store("a")))
    drawn = [row for row in rows if row["test"].startswith("LAT_RD") and row["cache"] == "cold"]
    assert len(drawn) == 7
    assert sum(row["share"] for row in drawn) == pytest.approx(1)
    assert min(row["share"] for row in drawn) == pytest.approx(2 / 1111113, rel=0.01)


def test_latencies_in_order_are_thinned_without_losing_the_slowest(make_store: MakeStore) -> None:
    rows = rows_of(figures.latencies_in_order(make_store("a")))
    drawn = [row for row in rows if row["test"].startswith("LAT_RD") and row["cache"] == "cold"]
    assert 1000 <= len(drawn) <= 1024
    slowest = max(drawn, key=lambda row: float(row["latency_ns"]))
    assert (slowest["index"], slowest["latency_ns"]) == (3000, pytest.approx(90000 * 40 / 3))


def test_points_in_order_have_a_shape_by_cache_and_windows_in_words(make_store: MakeStore) -> None:
    first = make_store("a")
    for runs in ([first], [first, make_store("b", system=system(name="other"))]):
        figure = figures.latencies_in_order(runs)
        [layer] = json.loads(figure.to_json())["spec"]["layer"]
        shape, upwards = layer["encoding"]["shape"], layer["encoding"]["y"]
        assert (shape["field"], shape["scale"]["domain"]) == ("cache", ["cold", "host-warm"])
        assert len(set(shape["scale"]["range"])) == 2
        assert upwards["axis"]["values"][:3] == [1000, 2000, 5000]
        assert {row["window"] for row in rows_of(figure)} == {"window 8 KiB"}


def test_offsets_are_joined_by_lines(make_store: MakeStore) -> None:
    layers = json.loads(figures.bandwidth_by_offset(make_store("a")).to_json())["spec"]["layer"]
    assert "line" in {layer["mark"]["type"] for layer in layers}


def test_a_run_without_points_is_not_in_the_legend(make_store: MakeStore) -> None:
    without = [test for test in small_paper_suite() if not test["family"].startswith("lat_cmd")]
    runs = [make_store("a"), make_store("b", without, system=system(name="no-commands"))]
    assert "no-commands" not in figures.latency_by_window(runs).to_json()
    assert "no-commands" in figures.bandwidth_by_window(runs).to_json()


def test_the_change_is_relative_to_the_run_without_an_iommu(make_store: MakeStore) -> None:
    whole = [test for window in (4096, 65536) for test in sweep([64], window_bytes=window)]
    halved = scaled(0.5, whole)
    on = make_store("on", halved, system=system(name="on", iommu="four-kib-pages"))
    off = make_store("off", whole)
    rows = [row for row in rows_of(figures.iommu_against_none([on, off])) if "change" in row]
    assert {row["change"] for row in rows} == {-50.0}
    another_host = make_store("another", halved, system=system(iommu="super-pages", host={"name": "host-b"}))
    with pytest.raises(figures.MissingDataError, match="IOMMU"):
        figures.iommu_against_none([another_host, off])


def scaled(factor: float, tests: Iterable[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    """Tests, or the small suite, with every bandwidth and median times a factor."""

    def changed(scalar: dict[str, Any]) -> dict[str, Any]:
        return scalar | {"value": scalar["value"] * (factor if scalar["metric"] in ("bandwidth", "median") else 1)}

    return [
        test | {"scalars": [changed(scalar) for scalar in test["scalars"]]}
        for test in tests or small_paper_suite()
    ]


MEASURABLE = [
    (figures.bandwidth_by_size, 25.0, "%"),
    (figures.bandwidth_by_window, 25.0, "%"),
    (figures.bandwidth_by_offset, 25.0, "%"),
    (figures.latency_by_size, None, "ns"),
    (figures.latency_by_window, None, "ns"),
]


@pytest.mark.parametrize(("draw", "percent", "unit"), MEASURABLE)
def test_residuals_to_a_measurement_are_drawn_below_the_figure(
    make_store: MakeStore, draw: Any, percent: float | None, unit: str
) -> None:
    simulated, measured = make_store("a", scaled(1.25)), make_store("b", scaled(1.0), origin="measured")
    figure = draw(simulated, measured=measured)
    assert len(figure.to_dict(validate=False)["vconcat"]) == 2
    apart = [row for row in rows_of(figure) if "residual" in row]
    assert {row["run"] for row in apart} == {"made-up · SIMULATED"}
    if percent is not None:
        assert [row["residual"] for row in apart] == pytest.approx([percent] * len(apart), rel=1e-5)
    else:
        assert all(row["residual"] == pytest.approx(0.2 * row["median"], rel=1e-4) for row in apart)
    # Two runs of which one was measured are drawn in the same way.
    beside = [row for row in rows_of(draw([simulated, measured])) if "residual" in row]
    assert {round(row["residual"], 3) for row in beside} == {round(row["residual"], 3) for row in apart}
    assert {row["run"] for row in beside} == {"made-up · SIMULATED"}
    assert "vconcat" not in draw([simulated, make_store("c", scaled(1.0))]).to_dict(validate=False), unit


@pytest.mark.parametrize("draw", [figures.latency_cdf, figures.latency_tail])
def test_residuals_of_distributions_are_taken_at_equal_shares(make_store: MakeStore, draw: Any) -> None:
    def shifted(distribution: dict[str, Any]) -> dict[str, Any]:
        return distribution | {"bins": [(tick + 3, count) for tick, count in distribution["bins"]]}

    later = [
        test | {"distributions": [shifted(one) for one in test["distributions"]]}
        for test in small_paper_suite()
        if "distributions" in test
    ]
    figure = draw(make_store("a", later), measured=make_store("b", origin="measured"))
    apart = [row["residual"] for row in rows_of(figure) if "residual" in row]
    assert len(apart) > 20
    assert apart == pytest.approx([40.0] * len(apart), rel=1e-4)
