"""`pcielab run --nic`: rows, their closed form, the store, and refusals that name the option."""

import csv
import json
from pathlib import Path

import pytest

from pcielab import compare, open_store
from pcielab.kinds.frames.rows import nic_rows
from pcielab.library import shipped
from shell import refuse, succeed

FRAMES = ["--frames", "256,1500"]


def rows_of(*command: str | Path) -> list[dict[str, str]]:
    return list(csv.DictReader(succeed(*command, "--format", "csv").stdout.splitlines()))


def nic(output: Path, *arguments: str, profile: str = "snb", name: str = "niantic-dpdk") -> list[dict[str, str]]:
    return rows_of("run", "--nic", name, "--profile", profile, *arguments, "-o", output)


@pytest.mark.parametrize("profile", ["snb", "hsw2620", "ib-000"])
def test_simulation_and_closed_form_agree_where_the_link_binds(profile: str, tmp_path: Path) -> None:
    more = ("--line", "100", "--direction", "rx", "--set", "link.tags=256")
    rows = nic(tmp_path / "nic.db", "--frames", "512,1500", *more, profile=profile)
    for row in rows:
        assert row["binds"].startswith("wire-"), row
        assert float(row["gbps"]) == pytest.approx(float(row["link_gbps"]), rel=0.01)
        assert float(row["link_gbps"]) < float(row["model_gbps"]), "ports lose more than the bare link"


def test_run_and_why_assume_one_line_rate_and_say_so_first(tmp_path: Path) -> None:
    ran = succeed("run", "--nic", "simple-nic", "--frames", "1500", "-o", tmp_path / "nic.db")
    assert ran.stderr.splitlines()[0] == "assumed: --profile hsw2620, --line 40"
    assert "40 Gb/s line" in ran.stdout
    asked = succeed("why", "--nic", "simple-nic", "--frame", "1500")
    assert asked.stderr.splitlines()[0] == "assumed: --line 40"
    assert "40 Gb/s line" in asked.stdout
    for command in ("run", "why"):
        words = " ".join(succeed(command, "--help").stdout.replace("│", " ").split())
        assert "line rate in Gb/s [default: 40]" in words
    given = succeed("run", "--nic", "simple-nic", "--frames", "1500", "--profile", "snb", "--line", "10")
    assert "assumed" not in given.stderr


@pytest.mark.parametrize(
    ("work", "profile"),
    [(("--test", "bw-rd"), "hsw2620"), (("--suite", "quick", "--family", "lat_dma_sizes"), "hsw2620")],
)
def test_a_run_names_its_default_system_in_its_first_line(
    work: tuple[str, ...], profile: str, tmp_path: Path
) -> None:
    done = succeed("run", *work, "-o", tmp_path / "run.db")
    assert done.stderr.splitlines()[0] == f"assumed: --profile {profile}"
    assert open_store(tmp_path / "run.db").manifest["system"]["name"] == profile


def test_more_busy_cores_than_were_measured_are_marked(tmp_path: Path) -> None:
    asked = ("--test", "bw-wr", "--size", "4K", "--transactions", "2000", "--profile", "clx-6234")
    for cores, marks in ((6, 0), (7, 1)):
        load, path = ("--set", f"host.load.cores={cores}"), tmp_path / f"{cores}.db"
        ran = succeed("run", *asked, *load, "-o", path)
        stored = [succeed(command, path) for command in ("explain", "why")]
        for done in (ran, succeed("why", *asked, *load), *stored):
            assert done.stderr.count("extrapolated: the law of host.load.cores was fitted") == marks
        page = tmp_path / f"{cores}.html"
        succeed("report", path, "-o", page)
        assert ("the law of host.load.cores was fitted" in page.read_text()) == bool(marks)


def test_a_line_slower_than_the_link_is_sustained(tmp_path: Path) -> None:
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


def test_reads_in_flight_on_a_full_line_follow_the_papers_formula(tmp_path: Path) -> None:
    """Section 7: the packets that arrive on the line during one read."""
    for row in nic(tmp_path / "nic.db", "--frames", "256,1500", "--line", "10"):
        in_flight, by_formula = (float(row[f"packet_reads_{how}"]) for how in ("in_flight", "by_formula"))
        assert in_flight == pytest.approx(by_formula, rel=0.02)
        assert float(row["packet_read_ns"]) > 450


def test_interrupts_are_moderated_by_time_and_packets_wait_for_them(tmp_path: Path) -> None:
    text = (shipped.directory("profiles") / "nics" / "niantic-dpdk.toml").read_text(encoding="utf-8")
    file = tmp_path / "itr.toml"
    interrupt = '[[step]]\nwhat = "RX interrupt"\npath = "rx"\nactor = "device"\nkind = "msi"\nbytes = 4\n'
    file.write_text(f"{text}\n{interrupt}moderation_ns = 20_000\n", encoding="utf-8")
    for name in ("niantic-dpdk", str(file)):
        more = ("--direction", "rx", "--frames", "1500", "--line", "10")
        nic(tmp_path / f"{Path(name).stem}.db", *more, name=name)
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


def test_a_nic_with_one_direction_needs_no_option(tmp_path: Path) -> None:
    frames = ("--frames", "1500", "--line", "100")
    plain, given = (
        nic(tmp_path / f"{len(more)}.db", *frames, *more, name="connectx-6-kernel", profile="icx-6346")
        for more in ((), ("--direction", "rx"))
    )
    assert plain == given
    assert "receiving" in succeed("why", "--nic", "connectx-6-kernel", "--line", "100").stdout


def test_a_comparison_of_two_nics_names_them_and_their_differences(tmp_path: Path) -> None:
    for name, profile in (("niantic-dpdk", "snb"), ("simple-nic", "snb-iommu")):
        nic(tmp_path / f"{name}.db", "--frames", "1500", name=name, profile=profile)
    stores = (tmp_path / "niantic-dpdk.db", tmp_path / "simple-nic.db")
    shown = succeed("compare", *stores, "-o", tmp_path / "both.html").stdout
    page = (tmp_path / "both.html").read_text(encoding="utf-8")
    for text in (shown, page.replace("&gt;", ">")):
        assert "NICs and systems differ in nic niantic-dpdk -> simple-nic, nic.step (" in text
    apart = [str(one) for one in compare(*stores).all_differences]
    assert "iommu off -> four-kib-pages" in " ".join(apart)


def test_the_number_of_jobs_does_not_change_the_rows(tmp_path: Path) -> None:
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
        (
            ["--nic", "niantic-dpdk", "--set", "nic.queues.pair=4"],
            "--set nic.queues.pair: unknown key: did you mean",
        ),
        (["--nic", "niantic-dpdk", "--set", "nic.queues.pairs=0"], "--set: queues.pairs is 0: give 1 to 1024"),
        (["--nic", "niantic-dpdk", "--set", "nic.base=x"], "--set nic.base: unknown key"),
        (["--frames", "64"], "give --nic as well"),
    ],
)
def test_impossible_options_are_refused(arguments: list[str], expected: str, tmp_path: Path) -> None:
    assert expected in refuse("run", *arguments, "-o", tmp_path / "nic.db")


def test_set_changes_the_nic_and_its_device(tmp_path: Path) -> None:
    changes = ("--set", "nic.queues.ring_descriptors=64", "--set", "nic.step.1.batch=1", "--set", "device=nfp6000")
    nic(tmp_path / "nic.db", "--frames", "64", *changes)
    manifest = open_store(tmp_path / "nic.db").manifest
    assert manifest["nic"]["queues"]["ring_descriptors"] == 64
    assert manifest["nic"]["step"][1]["batch"] == 1
    assert manifest["system"]["device"]["name"] == "nfp6000"
    assert manifest["overrides"] == {"device": "nfp6000"}
    assert "niantic-dpdk changed (queues.ring_descriptors=64, step.1.batch=1) on snb" in manifest["title"]


def test_why_takes_changes_of_the_nic() -> None:
    plain = succeed("why", "--nic", "niantic-dpdk", "--line", "100", "--format", "json").stdout
    changed = succeed(
        *("why", "--nic", "niantic-dpdk", "--line", "100", "--set", "nic.step.1.batch=1", "--format", "json")
    ).stdout
    assert json.loads(changed)["sentences"][0] != json.loads(plain)["sentences"][0]
    assert "--set nic.step.1.bach: unknown key" in refuse(
        "why", "--nic", "simple-nic", "--set", "nic.step.1.bach=1"
    )


def test_runs_of_a_nic_are_compared_by_frame_size_and_drawn_in_reports(tmp_path: Path) -> None:
    near, far, received = (tmp_path / f"{name}.db" for name in ("near", "far", "received"))
    nic(near, *FRAMES, profile="ib-000")
    nic(far, "--frames", "1500,256", profile="ib-011-nosp")
    nic(received, *FRAMES, "--direction", "rx")
    rows = rows_of("compare", near, far)
    assert [row["frame_bytes"] for row in rows] == ["256", "1500"]
    assert float(rows[0]["bandwidth_difference_percent"]) < -5 < float(rows[1]["bandwidth_difference_percent"])
    assert "no finished test in common" in refuse("compare", near, received)
    page = tmp_path / "report.html"
    succeed("report", near, far, "-o", page)
    assert 'data-figure="nic-throughput"' in page.read_text(encoding="utf-8")


def test_other_commands_name_the_kind_of_run(tmp_path: Path) -> None:
    path = tmp_path / "nic.db"
    nic(path, "--frames", "1500")
    assert "kind frames" in refuse("findings", path)
