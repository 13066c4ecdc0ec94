"""`pcielab fabric`: the paper's numbers from one set of parameters, and refusals."""

import csv
import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from generate.paper_pages import PAGES, fabric_page, published_flows
from pcielab import InputError, fabric, run as run_work
from pcielab.kinds.beside_published import compare_with_published
from pcielab.kinds.published import published_values, score
from pcielab.kinds.published.compare import verdict_of
from pcielab.report import write_report
from pcielab.store import Store
from shell import refuse, succeed

TESTBED = fabric.load("fabrex-u55c")


def flow(source: str, destination: str, primitive: str, size: int, **more: object) -> dict[str, object]:
    return {"source": source, "destination": destination, "primitive": primitive, "size_bytes": size, **more}


def simulated(*flows: dict[str, object], duration_us: float = 300.0) -> pd.DataFrame:
    listed = [*flows]
    frame = pd.DataFrame(listed)
    frame["name"] = [f"F{number + 1}" for number in range(len(frame))]
    return fabric.simulate(TESTBED, frame, duration_us=duration_us).flows


def beside_published(store: Store) -> pd.DataFrame:
    """Every published number with that of a run."""
    table = compare_with_published(store)
    assert table is not None
    return table


@pytest.fixture(scope="module")
def experiments(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A run of the experiments with a published number."""
    return run_work(published_flows(), output=tmp_path_factory.mktemp("published") / "run.db")


@pytest.fixture(scope="module")
def all_compared(experiments: Store) -> pd.DataFrame:
    """Every published number with that run's."""
    return beside_published(experiments)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Every published number with that of a run without the tails of figure 9, a third of all simulation."""
    flows = published_flows()
    points = [point for point in flows.points if point.experiment.family != "fig9-tail"]
    output = tmp_path_factory.mktemp("compared") / "run.db"
    return beside_published(run_work(replace(flows, points=points), output=output))


def test_every_flow_of_the_papers_experiments_is_steady(experiments: Store) -> None:
    flows = fabric.flow_table(experiments)
    assert flows["in_flight"].notna().all()
    assert "note" not in flows, flows["note"].dropna().tolist()


@pytest.mark.long("simulates the experiments with a published number, once for all tests of this file")
def test_every_published_number_is_met_or_has_a_reason(compared: pd.DataFrame) -> None:
    unsaid = compared[compared["verdict"].isin(["off", "not run"]) & (compared["source"] != "figure 9")]
    assert unsaid[["source", "what", "published", "simulated"]].to_dict("records") == []


def test_every_tail_of_figure_9_is_met_or_has_a_reason(all_compared: pd.DataFrame) -> None:
    assert not all_compared["verdict"].isin(["off", "not run"]).any()


def test_the_page_of_the_paper_is_current(all_compared: pd.DataFrame) -> None:
    written = (PAGES / "fabric-paper.md").read_text(encoding="utf-8")
    assert written == fabric_page(all_compared), "run make paper-numbers"


def test_numbers_that_are_met_have_no_reason(compared: pd.DataFrame) -> None:
    known = published_values("rpciebench")
    assert known is not None
    reasoned = np.array([one.why is not None for one in known.value])
    assert compared["what"][reasoned & (compared["verdict"] == "within")].tolist() == []


def test_latencies_and_bandwidths_of_single_flows_are_met(compared: pd.DataFrame) -> None:
    single = compared["source"].str.fullmatch("figure [3-6](-.)?|table 4") & (compared["unit"] != "%")
    assert single.sum() > 30
    assert set(compared[single]["verdict"]) == {"within", "input"}
    assert compared[single]["error"].abs().max() < 5


def test_estimates_equal_the_papers(compared: pd.DataFrame) -> None:
    known = published_values("rpciebench")
    assert known is not None
    estimates = {(one.source, one.what): one.estimate for one in known.value if one.estimate}
    found = compared[compared["source"].str.startswith("table 2")].dropna(subset=["estimated"])
    assert len(found) == len(estimates) == 15
    for row in found.to_dict("records"):
        assert row["estimated"] == pytest.approx(estimates[row["source"], row["what"]], abs=0.005 + 1e-9)


def test_validate_shows_every_number_and_each_reason(tmp_path: Path) -> None:
    points = fabric.load_fabric_suite("rpciebench").points()[:2]
    run_work(fabric.Flows(TESTBED, points, "rpciebench"), output=tmp_path / "run.db")
    rows = json.loads(succeed("fabric", "validate", tmp_path / "run.db", "--format", "json").stdout)
    verdicts = {"within", "input", "explained", "contradicted", "not run", "not simulated"}
    assert {row["verdict"] for row in rows} == verdicts
    assert rows[0]["published"] == 379.0
    run_work(fabric.Flows(TESTBED, points[:1], "mine"), output=tmp_path / "own.db")
    assert "--suite rpciebench" in refuse("fabric", "validate", tmp_path / "own.db")


def test_flows_on_one_path_share_by_outstanding_bytes() -> None:
    small = flow("host1", "A", "h2d", 128, outstanding=64)
    large = flow("host1", "A", "h2d", 4096, outstanding=64)
    shares = simulated(small, large, duration_us=1000.0)["gbytes_per_s"]
    assert shares.iloc[1] / shares.iloc[0] == pytest.approx(32, rel=0.1)


@pytest.mark.parametrize(
    ("watched", "other"),
    [
        (flow("L", "host1", "d2h", 64), flow("host1", "L", "h2d", 4096, outstanding=64)),
        (flow("A", "host1", "d2h", 64), flow("host1", "A", "h2d", 4096, outstanding=64)),
        (flow("host1", "L", "h2d", 64), flow("L", "host1", "d2h", 4096, outstanding=64)),
        (flow("host1", "A", "h2d", 64), flow("A", "host1", "d2h", 4096, outstanding=64)),
        (flow("B", "A", "d2d-write", 64), flow("A", "B", "d2d-write", 4096, outstanding=64)),
        (flow("host1", "A", "h2d", 64), flow("host2", "C", "h2d", 4096, outstanding=64)),
        (flow("C", "host2", "d2h", 64), flow("host1", "A", "h2d", 4096, outstanding=64)),
    ],
    ids=["reverse-" + name for name in ("d2h-local", "d2h-remote", "h2d-local", "h2d-remote", "d2d")]
    + ["orthogonal-h2d", "orthogonal-d2h"],
)
def test_other_directions_and_paths_do_not_interfere(watched: dict[str, object], other: dict[str, object]) -> None:
    alone = simulated(watched)["average_ns"].iloc[0]
    assert simulated(watched, other)["average_ns"].iloc[0] == pytest.approx(alone, rel=0.01)


def rise(source: str, destination: str, primitive: str, limit: float) -> float:
    """Relative rise of the latency of 64 B beside a flow at 85 % of the bandwidth."""
    probe = flow(source, destination, primitive, 64)
    beside = flow(source, destination, primitive, 4096, outstanding=64, arrivals="random")
    alone = simulated(probe)["average_ns"].iloc[0]
    loaded = simulated(beside | {"standalone_gbytes_per_s": 0.85 * limit}, probe, duration_us=4000.0)
    return float(loaded["average_ns"].iloc[1] / alone - 1)


def test_latencies_rise_near_saturation_in_the_papers_order() -> None:
    h2d = {node: rise("host1", node, "h2d", limit) for node, limit in (("L", 12.2), ("A", 8.74))}
    d2h = {node: rise(node, "host1", "d2h", limit) for node, limit in (("L", 12.3), ("A", 11.7))}
    read = {node: rise("A", node, "d2d-read", limit) for node, limit in (("B", 9.8), ("C", 2.3))}
    write = {node: rise("A", node, "d2d-write", limit) for node, limit in (("B", 8.0), ("C", 4.3))}
    assert h2d["A"] > h2d["L"] > 0
    assert d2h["L"] > d2h["A"] > 0
    assert read["C"] > read["B"] > 0
    assert write["C"] > write["B"] > 0


def test_tails_rise_most_at_the_endpoint_adapter() -> None:
    suite = fabric.load_fabric_suite("rpciebench")
    rises = {}
    for experiment in suite.experiment:
        if experiment.family == "fig14-contention":
            first, *_, last = experiment.points()
            alone, contended = (
                fabric.simulate(TESTBED, point.frame(), duration_us=500.0).flows["p99_ns"].iloc[0]
                for point in (first, last)
            )
            rises[experiment.series] = (contended / alone - 1, contended - alone)
    for entity in ("host adapter", "switch"):
        for direction in ("down", "up"):
            assert rises[f"{entity}, {direction}"][0] < 0.1
    for direction in ("down", "up"):
        assert rises[f"endpoint adapter, {direction}"][1] > 10_000
        assert rises[f"host adapter, {direction}"][0] > rises[f"switch, {direction}"][0]


def test_inputs_of_the_profile_do_not_count_as_predictions(compared: pd.DataFrame) -> None:
    verdicts = compared.set_index(["source", "what"])["verdict"]
    assert verdicts["section 4.2", "one way, local"] == "input"
    assert verdicts["figure 6", "1 MB, D2D read, within"] == "input"
    assert set(verdicts["table 3"]) == {"not simulated"}
    said = score(compared)
    met, inputs = (int((compared["verdict"] == verdict).sum()) for verdict in ("within", "input"))
    predictions = int(compared["verdict"].isin(["within", "explained", "off"]).sum())
    assert said.startswith(f"Of {len(compared)} numbers: {met} of {predictions} predictions are met; ")
    assert f"{inputs} are inputs of the profile or the suite" in said
    assert predictions + inputs < len(compared)


def test_an_input_that_the_simulation_misses_is_off() -> None:
    known = published_values("rpciebench")
    assert known is not None
    of_given = [one for one in known.value if one.given]
    assert len(of_given) == 31
    assert {verdict_of(one, ours=2 * one.published, error=100.0, allowed=5.0) for one in of_given} == {"off"}


def test_errors_of_estimates_follow_from_the_rows_of_table_2(compared: pd.DataFrame) -> None:
    rows = compared[compared["source"].str.startswith("table 2")]
    for error in compared[compared["what"].str.endswith("mean error of the estimates")].to_dict("records"):
        of_series = rows[rows["what"].str.startswith(error["what"].partition(":")[0])]
        errors = (of_series["estimated"] / of_series["published"] - 1).abs()
        assert error["estimated"] == pytest.approx(100 * errors.mean())


def test_three_peaks_of_figure_9_are_met(all_compared: pd.DataFrame) -> None:
    rows = all_compared[all_compared["what"].str.startswith("size of the largest tail")]
    found = dict(zip(rows["what"].str.split(", ", n=1).str[1], rows["simulated"], strict=True))
    assert found == {
        "H2D, local": 4096,
        "H2D, remote": 4096,
        "D2H, local": 1024,
        "D2H, remote": 4096,
        "D2D read, within": 4096,
        "D2D write, within": 4096,
        "D2D read, across": 1024,
        "D2D write, across": 4096,
    }
    assert (rows["verdict"] == "within").sum() == 3


def test_section_4_4s_conclusion_does_not_hold_between_host_and_device(compared: pd.DataFrame) -> None:
    """docs/concepts/sharing-a-fabric.md states this result."""
    what = compared["what"].str.removeprefix("64 B at 80 to 90 % of the bandwidth, ")
    rise = dict(zip(what, compared["simulated"], strict=True))
    assert 0 < rise["H2D, remote"] - rise["H2D, local"] < 3
    assert rise["D2H, remote"] < rise["D2H, local"]
    assert rise["D2D read, across"] > rise["D2D read, within"]
    assert rise["D2D write, across"] > rise["D2D write, within"]


def test_both_estimators_agree_on_table_2() -> None:
    for name in ("table2", "table2-sn", "table2-nd"):
        shares = [
            fabric.estimate(TESTBED, TESTBED.flows(name), method).flows["gbytes_per_s"]
            for method in fabric.METHODS
        ]
        assert shares[0].tolist() == pytest.approx(shares[1].tolist())


def test_the_walk_through_takes_two_rounds() -> None:
    shown = succeed("fabric", "estimate", "walk-through", "--method", "ecr", "--rounds", "--format", "json")
    rows = json.loads(shown.stdout)
    assert max(row["round"] for row in rows) == 2
    last = [row["gbytes_per_s"] for row in rows if row["round"] == 2 and row["table"] == "bandwidth"]
    assert last == [6, 5, 6, 4]


def test_flows_come_from_files_too(tmp_path: Path) -> None:
    frame = pd.DataFrame({"source": ["host1", "A"], "destination": ["C", "host1"]})
    frame.to_csv(tmp_path / "flows.csv", index=False)
    frame.to_parquet(tmp_path / "flows.parquet")
    shares = [
        fabric.estimate(TESTBED, TESTBED.flows(str(tmp_path / name))) for name in ("flows.csv", "flows.parquet")
    ]
    assert shares[0].flows["gbytes_per_s"].tolist() == shares[1].flows["gbytes_per_s"].tolist() == [8.74, 11.7]
    assert shares[0].flows["limit"].tolist() == ["N->C", "A->M"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('lower = "L"', 'lower = "Q"', "lower is Q: unknown node"),
        (
            "down_gbytes_per_s = 11.55",
            "down_gbytes_per_s = 0.0",
            "link.3.down_gbytes_per_s is 0.0: give a number above 0, up to 1000000 (Payload from upper",
        ),
        ("0x30_0000_0000", "0x10_0000_0000", "overlaps the BAR of"),
        ('upper = "S"\nlower = "M"', 'upper = "A"\nlower = "M"', "lead back to itself"),
        (
            'destination = "C"\nstandalone',
            'destination = "Z"\nstandalone',
            "destination is Z: unknown node",
        ),
    ],
)
def test_a_wrong_key_of_a_fabric_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = TESTBED.path.read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "wrong.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    assert message in refuse("fabric", "estimate", tmp_path / "wrong.toml")


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (flow("host1", "A", "h2d", 64, outstanding=257), "give at most 256, the tags of A"),
        (flow("host1", "A", "mmio-read", 8 << 20, memory="bram"), "the region bram of A has 4194304 bytes"),
        (flow("A", "M", "d2d-write", 64), "M is not a device"),
        (flow("host1", "A", "h2d", 64, socket=2), "sockets 0 to 1"),
    ],
)
def test_impossible_flows_are_refused(one: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulated(one)


def test_the_experiments_make_a_report(tmp_path: Path) -> None:
    suite = fabric.load_fabric_suite("rpciebench")
    points = [
        point for point in suite.points() if point.experiment.family in ("fig3-latency", "table2-validation")
    ]
    store = run_work(fabric.Flows(TESTBED, points[:12] + points[-3:], "part"), output=tmp_path / "run.db")
    assert store.origin == "simulated"
    subjects = store.scalar_rows["subject"]
    assert all(subjects.str.startswith(kind).any() for kind in ("flow ", "edge ", "phase "))
    write_report([store], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "fabric-fig3-latency" in page
    assert "SIMULATED" in page


def test_estimates_as_csv_and_json_agree() -> None:
    command = ("fabric", "estimate", "separating", "--method", "ecr", "--format")
    rows = list(csv.DictReader(succeed(*command, "csv").stdout.splitlines()))
    expected = json.loads(succeed(*command, "json").stdout)
    assert [row["flow"] for row in rows] == [row["flow"] for row in expected]
    assert [float(row["gbytes_per_s"]) for row in rows] == [row["gbytes_per_s"] for row in expected]
    assert [row["limit"] or None for row in rows] == [row["limit"] for row in expected]


def test_names_of_flows_may_hold_commas(tmp_path: Path) -> None:
    frame = pd.DataFrame({"name": ['a "b", c'], "source": ["host1"], "destination": ["C"]})
    frame.to_csv(tmp_path / "flows.csv", index=False)
    shown = succeed("fabric", "estimate", "fabrex-u55c", "--flows", tmp_path / "flows.csv", "--format", "csv")
    assert next(csv.DictReader(shown.stdout.splitlines()))["flow"] == 'a "b", c'


def test_suites_are_listed_with_the_number_of_their_simulations_and_shown_with_the_names_of_flows() -> None:
    listed = json.loads(succeed("suites", "list", "--kind", "fabric", "--format", "json").stdout)
    assert listed
    for row in listed:
        points = fabric.load_fabric_suite(row["name"]).points()
        assert row["tests"] == len(points) > 1
        for point in points[:: len(points) // 4]:
            assert point.flow_names == list(point.frame()["name"])


@pytest.mark.parametrize("duration_us", [1e-300, 0.0, 9e-4, float("nan"), float("inf"), -1.0])
def test_a_time_without_a_request_is_refused(duration_us: float) -> None:
    with pytest.raises(InputError, match=r"--duration-us .*: give microseconds, 0\.001 to 1000000"):
        simulated({"source": "host1", "destination": "C"}, duration_us=duration_us)


def test_a_counted_time_in_which_no_request_ends_is_refused() -> None:
    asked = fabric.Flow(source="host1", destination="C")
    flows = pd.DataFrame([asdict(asked) | {"name": "F1"}])
    wanted = "no request of flow 'F1' ended in the counted time: give a longer one"
    with pytest.raises(InputError, match=wanted):
        fabric.simulate(TESTBED, flows, duration_us=0.001, warm_up_us=0)
    both = pd.concat([flows, flows.assign(name="F2")])
    with pytest.raises(InputError, match="no request of flow 'F1' and of 1 more ended"):
        fabric.simulate(TESTBED, both, duration_us=0.001, warm_up_us=0)


def test_a_flow_that_is_off_needs_no_request() -> None:
    off = {"source": "host1", "destination": "C", "standalone_gbytes_per_s": 0.0}
    assert simulated(off, off)["gbytes_per_s"].tolist() == [0, 0]
    flows = pd.DataFrame(
        [asdict(fabric.Flow(name="off", source="host1", destination="C", standalone_gbytes_per_s=0.0))]
    )
    assert fabric.simulated_standalones(TESTBED, flows)["standalone_gbytes_per_s"].tolist() == [0]
    sends = flows.assign(name="sends", standalone_gbytes_per_s=np.nan)
    with pytest.raises(InputError, match="no request of flow 'sends' ended in the counted time"):
        fabric.simulate(TESTBED, pd.concat([flows, sends]), duration_us=0.001, warm_up_us=0)
