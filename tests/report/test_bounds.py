"""The report's summary and figure 4 name the same binding bound as `explain`."""

import itertools
import json

import pytest

from pcielab.analysis.explain import explain_run
from pcielab.charts.run import runs_of
from pcielab.devices.running import simulate
from pcielab.kinds.transfers.link_bounds import ethernet_rates
from pcielab.kinds.transfers.summary import summary
from pcielab.library import profiles
from pcielab.library.suites import load_suite
from pcielab.model import Link
from pcielab.report import figures
from pcielab.store import Store, open_store

from .test_figures import rows_of


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Store:
    path = tmp_path_factory.mktemp("bounds") / "run.db"
    simulate(profiles.resolve("snb"), load_suite("quick"), path)
    return open_store(path)


def test_report_figure_and_explain_name_the_same_bound(run: Store) -> None:
    [write] = [
        row
        for row in explain_run(run, ["BW_DMA_WR"]).rows
        if row.size_bytes == 64 and row.parameters["window_bytes"] == 8192
    ]
    assert write.answer.bound == "device-rate"
    [said] = [row.cells[0] for row in summary(runs_of(run)) if row.quantity == "DMA write, 64 B"]
    assert said is not None
    expected = f"{100 * write.share:.0f} % of the bound of {write.answer.gbps:.1f} (MODELLED, device-rate)"
    assert said.notes[0] == expected
    drawn = [
        row
        for row in rows_of(figures.bandwidth_by_size(run))
        if row["operation"] == "bw-wr" and row["size_bytes"] == 64
    ]
    [line] = [row for row in drawn if row.get("reference", "").startswith("binding bound")]
    [ribbon] = [row for row in drawn if row["role"] == "ribbon"]
    assert line["bandwidth"] == pytest.approx(write.answer.gbps, rel=1e-6)
    assert (line["binds"], ribbon["binds"]) == ("device-rate", "device-rate")


def test_neighbouring_sizes_have_distinct_positions(run: Store) -> None:
    """63, 64 and 65 B would coincide on a logarithmic axis."""
    rows = rows_of(figures.bandwidth_by_size(run))
    positions = sorted({row["position"] for row in rows if row["role"] == "line"})
    assert min(late - early for early, late in itertools.pairwise(positions)) >= 0.249
    layers = json.loads(figures.bandwidth_by_size(run).to_json())["spec"]["layer"]
    drawn = [layer["encoding"]["x"]["axis"] for layer in layers if "x" in layer["encoding"]]
    assert drawn
    assert all("'64', '128'" in axis["labelExpr"] for axis in drawn)


def test_bounds_drop_vertically_after_a_peak(run: Store) -> None:
    """A further TLP begins with one byte more than a peak: the bound has no slope down to the next size."""
    rows = [row for row in rows_of(figures.bandwidth_by_size(run)) if row["operation"] == "bw-wr"]
    for name in ("binding bound", "bound of the link"):
        line = [row for row in rows if row["role"] == "reference" and row["reference"].startswith(name)]
        at = {size: [row for row in line if row["size_bytes"] == size] for size in (256, 257)}
        [peak], feet = at[256], at[257]
        assert len(feet) == 2, name
        assert {foot["bandwidth"] < peak["bandwidth"] for foot in feet} == {True}
        assert min(foot["position"] for foot in feet) == pytest.approx(peak["position"], abs=0.001)
        between = {row["size_bytes"] for row in line if 64 < row["size_bytes"] < 128}
        assert {65, 72, 80, 120} <= between, name


@pytest.mark.parametrize(
    ("generation", "lanes", "rates"), [(1, 4, []), (3, 8, [40]), (5, 16, [200, 400]), (6, 16, [400, 800])]
)
def test_ethernet_lines_fit_the_rate_of_the_link(generation: int, lanes: int, rates: list[int]) -> None:
    assert ethernet_rates([Link(generation=generation, lanes=lanes, mps_bytes=256, mrrs_bytes=512)]) == rates
