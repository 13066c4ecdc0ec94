"""Systems of loaded hosts against published rows: each within the bands that the page of loaded hosts claims."""

from statistics import mean

import pytest

from generate.loaded_host_reference import Row, computed, conditions, differing, measured, rows
from pcielab import Frames, model, run

RATE_MOST, RATE_MEAN = 0.08, 0.05
LATENCY_MOST, LINES_MOST = 0.15, 5.0
TRANSLATION_MOST, TRANSLATION_MEAN = 0.13, 0.07
COPY_MOST = 0.04


def apart(row: Row) -> float:
    value = measured(row).value
    return abs(computed(row) / value - 1)


def test_rates_beside_busy_cores() -> None:
    checks = [row for row in rows() if row.what == "traffic" and not row.input]
    found = [apart(row) for row in checks]
    assert len(found) == 3
    assert max(found) < RATE_MOST, found
    assert mean(found) < RATE_MEAN, found


def test_the_pool_for_writes_beside_busy_cores() -> None:
    for row in rows():
        if row.what == "latency":
            assert apart(row) < LATENCY_MOST, row
        if row.what == "lines":
            assert abs(computed(row) - measured(row).value) < LINES_MOST, row


def test_nics_whose_pages_come_anew() -> None:
    found = {row.id: apart(row) for row in rows() if row.what in ("frames", "misses")}
    assert max(found.values()) < TRANSLATION_MOST, found
    assert mean(found.values()) < TRANSLATION_MEAN, found


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.id)
def test_conditions_are_those_of_the_figure_or_the_page_gives_both(row: Row) -> None:
    assert {one.name for one in differing(row)} == set(row.differs), conditions(row)


def test_a_row_computed_at_another_rate_is_found() -> None:
    [row] = [row for row in rows() if row.id == "M335"]
    halved = row.model_copy(update={"line_gbps": 50})
    assert {one.name for one in differing(halved)} == {"line", "rate"}


def test_copies_of_a_gpu() -> None:
    found = {row.id: apart(row) for row in rows() if row.system == "gen5-gpu" and not row.input}
    assert max(found.values()) < COPY_MOST, found


@pytest.mark.parametrize(
    ("sets", "least", "most", "binds"),
    [((), 130, 158, "translation"), (("iommu=super-pages",), 196.7, 197, "line")],
)
def test_recycled_pages_of_4_kib_cost_a_200_gbps_nic_a_quarter(
    sets: tuple[str, ...], least: float, most: float, binds: str
) -> None:
    nic = model.load_nic("connectx-6-kernel")
    work = Frames(nic, [1500], model.Ethernet(line_gbps=200), "rx")
    numbers = run(work, profile="icx-6346", sets=list(sets)).scalar_rows
    assert least < float(numbers.loc[numbers["metric"] == "bandwidth", "value"].iloc[0]) < most
    assert numbers.loc[numbers["metric"] == "binds", "subject"].iloc[0] == binds


@pytest.mark.parametrize(
    ("system", "link", "sets", "cores"),
    [("icx-6346", "2x gen4x16", (), 0), ("clx-6234", "2x gen3x16", ("host.load.cores=4",), 4)],
)
def test_two_nics_share_a_host_as_in_closed_form(
    system: str, link: str, sets: tuple[str, ...], cores: int
) -> None:
    work = Frames(model.load_nic("connectx-6-kernel"), [1500], model.Ethernet(line_gbps=100), "rx", nics=2)
    numbers = run(work, profile=system, sets=list(sets)).scalar_rows.set_index("metric")["value"]
    misses = float(numbers["io_tlb_misses"]) if "io_tlb_misses" in numbers else None
    [host] = model.host(system, [cores], misses_per_mib=misses, devices=[link])
    shared = sum(device.write.gbps for device in host.devices)
    # Memory takes whole lines: 24 of a packet's 1,496 B and one of its completion, and few others.
    payload = 1 if misses else 1496 / (64 * 25)
    assert float(numbers["bandwidth_of_all"]) == pytest.approx(payload * shared, rel=0.03)
