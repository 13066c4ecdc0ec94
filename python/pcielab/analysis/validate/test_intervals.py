"""Intervals of predictions: classes of rows, what is learnt from errors, and which runs have intervals."""

import math
from pathlib import Path

import pytest

from pcielab import load_suite, open_store, resolve, simulate, single_test
from pcielab.analysis.compare import Comparison, compare
from pcielab.analysis.validate.intervals import differences, judge, twin_of
from pcielab.analysis.validate.known_errors import (
    FILE,
    LEAST,
    ROWS_LEAST,
    Difference,
    KnownErrors,
    known_errors,
    learn,
)
from pcielab.analysis.validate.row_classes import RowClass, RowClasses
from pcielab.analysis.validate.test_scores import SUITE
from pcielab.formats.exporters import export
from pcielab.formats.importers import import_pcie_bench

PLAIN = "aligned, within caches and IO-TLB or far beyond them"
READ = RowClass("bandwidth", "BW_DMA_RD", PLAIN, 64)
ROW = {
    "name": "BW_DMA_RD",
    "size_bytes": 64,
    "window_bytes": 8192,
    "host_offset_bytes": 0,
    "device_offset_bytes": 0,
    "cache": "cold",
}


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Rows of a machine with slower memory, as measured, and the run of a twin that does not know it."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "small.toml").write_text(SUITE)
    suite = load_suite(str(folder / "small.toml"))
    simulate(resolve("ib-011-nosp", {"host.memory.miss_ns": 110.0}), suite, folder / "machine.db")
    export(open_store(folder / "machine.db"), "pcie-bench", folder / "machine")
    (folder / "machine" / "ORIGIN.txt").unlink()  # without it, a folder is of measurements
    import_pcie_bench(folder / "machine", folder / "measured.db")
    simulate(resolve("ib-011-nosp"), suite, folder / "twin.db")
    return compare(open_store(folder / "measured.db"), open_store(folder / "twin.db"))


def classified(name: str, **changes: object) -> RowClass | None:
    return RowClasses.of(resolve(name).system).classify({**ROW, **changes}, "bandwidth")


def test_rows_have_the_class_of_their_size_and_of_what_is_special() -> None:
    assert classified("snb") == READ
    assert classified("snb", size_bytes=65) == READ._replace(size_up_to_bytes=128)
    assert classified("snb", device_offset_bytes=3) == READ._replace(setting="unaligned")
    beyond = READ._replace(setting="IOMMU beyond the TLB")
    assert classified("ib-011-nosp", window_bytes=64 << 20) == beyond
    # The strongest of two.
    assert classified("ib-011-nosp", window_bytes=64 << 20, host_offset_bytes=1) == beyond
    assert classified("snb", cache="host-warm", window_bytes=16 << 20) == READ._replace(setting="cache edge")


@pytest.mark.parametrize(
    "changes", [{"size_bytes": 4096}, {"window_bytes": 1 << 30}, {"outstanding": 4}, {"stride_units": 2}]
)
def test_rows_outside_the_published_suite_have_no_class(changes: dict[str, object]) -> None:
    assert classified("snb", **changes) is None


def made(values: dict[str, list[float]], row_class: RowClass = READ) -> list[Difference]:
    return [
        Difference(system.split("-")[0], system, row_class, value)
        for system, own in values.items()
        for value in own
    ]


def test_a_range_reaches_from_the_lowest_to_the_highest_system() -> None:
    spread = [number / 1000 for number in range(-10, 11)]
    errors = learn(made({"a": spread, "b": [one + 0.1 for one in spread], "b-nosp": spread}), "card")
    found = errors.of(READ)
    assert found is not None
    # 5 % and 95 % of -1 to 1 % are at -0.9 and 0.9 %.
    least = LEAST["bandwidth"]
    assert [found.low, found.high] == pytest.approx([-0.009 - least, 0.109 + least])
    assert (found.rows, found.systems) == (63, 3)


def test_a_class_of_few_rows_or_of_one_machine_asks_a_wider_one() -> None:
    plenty, few = [0.0] * 20, [0.5]
    other = READ._replace(size_up_to_bytes=2048)
    errors = learn([*made({"a": plenty, "b": plenty}), *made({"a": few, "b": few}, other)], "card")
    wider = errors.of(other)
    assert wider is not None
    assert (wider.size_up_to_bytes, wider.rows) == (0, 42)
    assert learn(made({"a": plenty, "a-nosp": plenty}), "card").of(READ) is None
    assert learn(made({"a": plenty[:ROWS_LEAST], "b": []}), "card").of(READ) is None
    halves = {"a": plenty[: ROWS_LEAST // 2], "b": plenty[: ROWS_LEAST - ROWS_LEAST // 2]}
    assert learn(made(halves), "card").of(READ) is not None, "as many rows as suffice"
    assert learn(made({**halves, "b": halves["b"][1:]}), "card").of(READ) is None, "one row less"
    assert errors.of(READ._replace(name="BW_DMA_WR")) is None


def test_latencies_move_by_ns_and_bandwidths_by_a_share(comparison: Comparison) -> None:
    classes = [READ, RowClass("median", "LAT_DMA_RD", PLAIN, 64)]
    errors = learn([one for each in classes for one in made({"a": [0.0] * 10, "b": [0.0] * 10}, each)], "nfp6000")
    twin = twin_of(comparison.b, errors)
    assert twin is not None
    bandwidth = twin.interval(ROW, "bandwidth", 50.0)
    latency = twin.interval({**ROW, "name": "LAT_DMA_RD"}, "median", 500.0)
    assert bandwidth is not None
    assert latency is not None
    assert [bandwidth.low, bandwidth.high] == pytest.approx([49.8, 50.2])
    assert [latency.low, latency.high] == pytest.approx([493.3, 506.7])
    assert twin.interval({**ROW, "name": "LAT_DMA_RD"}, "average", 500.0) is None
    assert twin.interval(ROW, "bandwidth", math.nan) is None


def test_a_machine_with_slower_memory_is_outside_where_it_counts(comparison: Comparison) -> None:
    """Where twins that made no errors are known, 35 ns more of memory are seen, and nothing else."""
    classes = [
        RowClass("median", "LAT_DMA_RD", PLAIN, 64),
        RowClass("average", "LAT_DMA_RD", "IOMMU beyond the TLB", 64),
        RowClass("bandwidth", "BW_DMA_WR", "unaligned", 64),
    ]
    errors = learn([one for each in classes for one in made({"a": [0.0] * 10, "b": [0.0] * 10}, each)], "nfp6000")
    judged = {
        (one.row["family"], one.row["window_bytes"], one.metric): one.inside for one in judge(comparison, errors)
    }
    assert judged["lat_dma_details", 8 << 10, "median"]
    assert not judged["lat_dma_details", 64 << 20, "average"]
    assert judged["bw_dma_off_wr", 8 << 10, "bandwidth"]


def test_the_order_of_the_runs_does_not_matter(comparison: Comparison) -> None:
    swapped = compare(comparison.b, comparison.a)
    both = [
        {
            (one.row["family"], one.row["window_bytes"], one.metric, one.measured): one.interval
            for one in judge(each)
        }
        for each in (comparison, swapped)
    ]
    assert both[0] == both[1]
    assert both[0]


def test_two_runs_of_twins_are_not_judged(comparison: Comparison) -> None:
    assert judge(compare(comparison.b, comparison.b)) == []


def test_errors_are_learnt_with_their_sign(comparison: Comparison) -> None:
    slower = [
        one.difference
        for one in differences(comparison, "ib", "ib-011-nosp")
        if one.row_class.metric == "average" and one.row_class.setting == "IOMMU beyond the TLB"
    ]
    assert len(slower) == 1
    assert slower[0] == pytest.approx(35, abs=3)


@pytest.mark.parametrize(
    ("system", "changes"),
    [("snb", {"host.memory.miss_ns": 80}), ("e3", {}), ("gen5-x16", {}), ("netfpga-hsw", {})],
    ids=["changed", "idle states", "not calibrated", "another device"],
)
def test_runs_without_known_errors_are_no_twins(tmp_path: Path, system: str, changes: dict[str, object]) -> None:
    test = single_test("lat-rd", size=64, transactions=600)
    simulate(resolve(system, changes), test, tmp_path / "run.db")
    assert twin_of(open_store(tmp_path / "run.db")) is None


def test_the_shipped_errors_read_back_as_they_are() -> None:
    errors: KnownErrors = known_errors()
    assert errors.to_json() == FILE.read_text()
    assert errors.of(READ) is not None
    assert all(one.low < one.high for one in errors.ranges)
