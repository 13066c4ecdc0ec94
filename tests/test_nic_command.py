"""`pcielab run --nic`: rows beside the closed form, what stands in the store, refusals that name the option."""

import csv
import io
from pathlib import Path

import pytest

from pcielab import open_store
from pcielab.library import shipped
from pcielab.work.nic_rows import nic_rows
from test_model_command import pcielab

FRAMES = ["--frames", "256,1500"]


def nic(output: Path, *arguments: str, profile: str = "snb") -> list[dict[str, str]]:
    done = pcielab(
        "run", "--nic", "niantic-dpdk", "--profile", profile, *arguments, "--format", "csv", "-o", str(output)
    )
    assert done.exit_code == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


@pytest.mark.parametrize("profile", ["snb", "hsw2620", "ib-000"])
def test_where_the_link_binds_simulation_and_closed_form_agree(profile: str, tmp_path: Path) -> None:
    more = ("--line", "100", "--direction", "rx", "--set", "link.tags=256")
    rows = nic(tmp_path / "nic.db", "--frames", "512,1500", *more, profile=profile)
    for row in rows:
        assert row["binds"].startswith("wire-"), row
        assert float(row["gbps"]) == pytest.approx(float(row["link_gbps"]), rel=0.01)
        assert float(row["link_gbps"]) < float(row["model_gbps"]), "ports lose more than the bare link"


def test_a_line_that_the_link_carries_is_held_and_all_is_in_the_store(tmp_path: Path) -> None:
    path = tmp_path / "nic.db"
    rows = nic(path, *FRAMES, "--line", "10")
    assert [row["binds"] for row in rows] == ["line", "line"]
    assert {float(row["dropped_percent"]) for row in rows} == {0.0}
    store = open_store(path)
    assert (store.kind, store.origin, store.manifest["nic"]["name"]) == ("frames", "simulated", "niantic-dpdk")
    assert list(nic_rows(store)["frame_bytes"]) == [256, 1500]
    packets = store.distribution(1)["count"].sum()
    assert packets == pytest.approx(20_000, rel=0.02)
    steps = store.scalar_rows.query("test == 1 and metric == 'upstream_bytes'").set_index("subject")["value"]
    assert steps["rx: packet write"] == pytest.approx(1496 + 6 * 24, rel=0.01)


def test_what_is_in_flight_on_a_full_line_is_as_the_papers_formula_says(tmp_path: Path) -> None:
    """Section 7: so many packets come on the line while one is waited for."""
    for row in nic(tmp_path / "nic.db", "--frames", "256,1500", "--line", "10"):
        in_flight, by_formula = (float(row[f"packet_reads_{how}"]) for how in ("in_flight", "by_formula"))
        assert in_flight == pytest.approx(by_formula, rel=0.02)
        assert float(row["packet_read_ns"]) > 450


def test_interrupts_moderated_by_time_come_as_often_as_said_and_packets_wait_for_them(tmp_path: Path) -> None:
    text = (shipped.directory("profiles") / "nics" / "niantic-dpdk.toml").read_text(encoding="utf-8")
    file = tmp_path / "itr.toml"
    interrupt = '[[step]]\nwhat = "RX interrupt"\npath = "rx"\nactor = "device"\nkind = "msi"\nbytes = 4\n'
    file.write_text(f"{text}\n{interrupt}moderation_ns = 20_000\n", encoding="utf-8")
    for name in ("niantic-dpdk", str(file)):
        more = ("--direction", "rx", "--frames", "1500", "--line", "10")
        done = pcielab(
            "run", "--nic", name, "--profile", "snb", *more, "-o", str(tmp_path / f"{Path(name).stem}.db")
        )
        assert done.exit_code == 0, done.stderr
    plain, moderated = (open_store(tmp_path / f"{name}.db").scalar_rows for name in ("niantic-dpdk", "itr"))
    rate = moderated.query("subject == 'rx: RX interrupt' and metric == 'rate'")["value"].item()
    assert rate == pytest.approx(1e9 / 20_000, rel=0.01)
    said = [
        nic_rows(open_store(tmp_path / f"{name}.db"))["interrupts_per_s"].item()
        for name in ("niantic-dpdk", "itr")
    ]
    assert said == [None, rate]
    waits = [rows.query("subject == '' and metric == 'average'")["value"].item() for rows in (plain, moderated)]
    assert waits[1] - waits[0] == pytest.approx(10_000, rel=0.05), "half of the time between two"


def test_the_same_seed_gives_the_same_rows_whatever_the_jobs(tmp_path: Path) -> None:
    found = [nic(tmp_path / f"{jobs}.db", *FRAMES, "--jobs", jobs) for jobs in ("1", "2")]
    assert found[0] == found[1]


def test_remote_buffers_behind_an_iommu_cost_small_packets(tmp_path: Path) -> None:
    [near] = nic(tmp_path / "near.db", "--frames", "128", "--direction", "tx", profile="ib-000")
    [far] = nic(tmp_path / "far.db", "--frames", "128", "--direction", "tx", profile="ib-011-nosp")
    assert float(far["gbps"]) < 0.9 * float(near["gbps"])
    assert far["binds"] == "tags"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--nic", "niantic-dpkd"], "niantic-dpkd"),
        (["--nic", "niantic-dpdk", "--suite", "quick"], "--suite"),
        (["--nic", "niantic-dpdk", "--device", "cpu"], "--device cpu"),
        (["--nic", "niantic-dpdk", "--frames", "9000"], "niantic-dpdk: queues.buffer_bytes"),
        (["--nic", "niantic-dpdk", "--frames", "20"], "64 to 65535"),
        (["--frames", "64"], "give --nic as well"),
    ],
)
def test_what_cannot_be_is_refused(arguments: list[str], expected: str, tmp_path: Path) -> None:
    done = pcielab("run", *arguments, "-o", str(tmp_path / "nic.db"))
    assert done.exit_code == 2
    assert expected in done.stderr


def test_runs_of_a_nic_are_compared_by_their_frames_and_drawn_in_reports(tmp_path: Path) -> None:
    near, far, received = (tmp_path / f"{name}.db" for name in ("near", "far", "received"))
    nic(near, *FRAMES, profile="ib-000")
    nic(far, "--frames", "1500,256", profile="ib-011-nosp")
    nic(received, *FRAMES, "--direction", "rx")
    done = pcielab("compare", str(near), str(far), "--format", "csv")
    assert done.exit_code == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["frame_bytes"] for row in rows] == ["256", "1500"]
    assert float(rows[0]["bandwidth_difference_percent"]) < -5 < float(rows[1]["bandwidth_difference_percent"])
    done = pcielab("compare", str(near), str(received))
    assert (done.exit_code, "no finished test in common" in done.stderr) == (2, True)
    page = tmp_path / "report.html"
    done = pcielab("report", str(near), str(far), "-o", str(page))
    assert done.exit_code == 0, done.stderr
    assert 'data-figure="nic-throughput"' in page.read_text(encoding="utf-8")


def test_other_commands_say_what_kind_of_run_it_is(tmp_path: Path) -> None:
    path = tmp_path / "nic.db"
    nic(path, "--frames", "1500")
    done = pcielab("findings", str(path))
    assert (done.exit_code, "kind frames" in done.stderr) == (2, True)
