"""`pcielab why`: sentences first, then the picture and the table; formats, pictures and refusals."""

import csv
import json
from pathlib import Path

import pytest

from measured_data import DATA, SYSTEMS
from shell import refuse, succeed

IOMMU_SYSTEM = "nfp6000-1.2GHz_ib-Xeon-E5-2620v2_dell-t620-s0-s0-s0-iommu-nosp"
SLOT = ("--gen", "3", "--lanes", "16")
NIC = ("why", "--nic", "niantic-dpdk", "--line", "100", "--frame", "64", "--direction", "rx", *SLOT)


def test_sentences_come_before_the_picture_and_the_table() -> None:
    done = succeed(*NIC, "--measured", "50")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("wire-upstream binds niantic-dpdk at 50.9 Gb/s")
    assert lines[1].startswith("Sure: the measured value is 98 % of what wire-upstream allows")
    assert lines[2].startswith("Most is gained by link.generation 3 -> 4 (slot and device), 71.4 Gb/s (+40 %)")
    assert done.stdout.index("█") < done.stdout.index("accesses")


def test_a_link_that_nobody_gave_is_assumed_and_makes_unsure() -> None:
    done = succeed(*(word for word in NIC if word not in SLOT), "--measured", "50")
    assert "link assumed: Gen3 x16" in done.stderr
    assert "give --gen and --lanes" in done.stderr
    assert done.stdout.splitlines()[1].startswith("Not sure: Gen3 x16 is assumed; with it,")


def test_json_is_one_object_and_csv_the_table() -> None:
    answer = json.loads(succeed(*NIC, "--measured", "50", "--format", "json").stdout)
    assert len(answer["sentences"]) == 3
    assert answer["binds"] == "wire-upstream"
    assert answer["sure"]["level"] == "sure"
    assert answer["change"]["what"] == "link.generation 3 -> 4"
    rows = list(csv.DictReader(succeed(*NIC, "--format", "csv").stdout.splitlines()))
    assert [row["step"] for row in rows] == [row["step"] for row in answer["rows"]]


def test_a_missing_store_names_the_stores_alike(tmp_path: Path) -> None:
    succeed("run", "--test", "bw-rd", "-o", tmp_path / "run.db")
    assert f"no such store or fabric: did you mean {tmp_path / 'run.db'}?" in refuse("why", tmp_path / "rn.db")
    assert "did you mean fabrex-u55c?" in refuse("why", "fabrex-u55")
    asked = (("explain",), ("report",), ("compare", tmp_path / "run.db"), ("why", tmp_path / "run.db"))
    for words in asked:
        assert f"no such file: did you mean {tmp_path / 'run.db'}?" in refuse(*words, tmp_path / "rn.db")


def test_the_default_system_of_a_test_is_named_first() -> None:
    asked = ("why", "--test", "bw-rd")
    done = succeed(*asked)
    assert done.stderr.splitlines()[0] == "assumed: --profile hsw2620"
    given = succeed(*asked, "--profile", "hsw2620")
    assert "assumed" not in given.stderr
    assert given.stdout == done.stdout


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_the_picture_is_written_and_not_replaced(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"why.{suffix}"
    succeed(*NIC, "-o", path)
    content = path.read_bytes()
    if suffix == "svg":
        assert b"wire-upstream" in content
        assert b"link.generation 3" in content
    assert "why" in refuse(*NIC, "-o", path)
    succeed(*NIC, "-o", path, "--overwrite", "--theme", "dark")


def test_one_test_takes_the_options_of_run() -> None:
    options = ("--test", "bw-rd", "--size", "64", "--window", "64M", "--profile", "ib-000-nosp")
    answer = json.loads(succeed("why", *options, "--measured", "9", "--format", "json").stdout)
    assert answer["binds"] == "page-walks"
    assert answer["change"]["gain_percent"] > 100


def test_a_store_two_stores_and_a_fabric_are_asked_about_by_name(tmp_path: Path) -> None:
    for name, lanes in (("a", "8"), ("b", "4")):
        test = ("--test", "bw-rd", "--size", "256", "--cache", "host-warm", "--set", f"link.lanes={lanes}")
        succeed("run", *test, "-o", tmp_path / f"{name}.db")
    one = succeed("why", "a.db", cwd=tmp_path).stdout
    two = succeed("why", "a.db", "b.db", cwd=tmp_path).stdout
    assert " binds at " in one
    assert two.startswith("link.lanes 8 -> 4: reads lose ")
    assert succeed("why", "fabrex-u55c", "--flows", "table2").stdout.startswith("The edge ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "give RUN, a fabric, --test TEST or --nic NAME"),
        (["--nic", "niantic-dpkd"], "did you mean niantic-dpdk?"),
        (["--nic", "niantic-dpdk", "--line", "99"], "--line is 99: give 1, 2.5"),
        (["--nic", "niantic-dpdk", "--frame", "20"], "--frame is 20"),
        (["--nic", "niantic-dpdk", "--gen", "9"], "--gen is 9"),
        (["--nic", "niantic-dpdk", "--gen", "3", "--profile", "snb"], "--set link.lanes=8"),
        (["--nic", "niantic-dpdk", "--size", "64"], "--size: has no effect with --nic"),
        (
            ["--nic", "niantic-dpdk", "--measured", "-3"],
            "--measured: '-3' is not a rate: give 1e-6 to 1000000000 Gb/s",
        ),
        (["--test", "bw-rd", "--frame", "64"], "--frame: has no effect without --nic"),
        (["--test", "bw-rd", "--test", "bw-wr"], "give --test once"),
        (["--test", "bw-read"], "--test bw-read: unknown"),
        (["--size", "64"], "--size: has no effect without --test"),
        (["fabrex-u55"], "fabrex-u55c"),
        (["fabrex-u55c", "--flows", "tabel2"], "did you mean table2?"),
        (["fabrex-u55c", "--measured", "3"], "--measured: a fabric has flows"),
        (["fabrex-u55c", "-o", "why.gif"], "no figure format"),
    ],
)
def test_impossible_questions_are_refused(arguments: list[str], expected: str, tmp_path: Path) -> None:
    assert expected in " ".join(refuse("why", *arguments, cwd=tmp_path).split())


@pytest.mark.published
@pytest.mark.skipif(not SYSTEMS, reason="PCIELAB_DATA does not name the published measurements")
def test_an_import_is_answered_by_the_bound_of_its_link_and_by_its_own_caches(tmp_path: Path) -> None:
    succeed("import", "pcie-bench", DATA / IOMMU_SYSTEM, "-o", "import.db", cwd=tmp_path)
    answer = json.loads(succeed("why", "import.db", "--format", "json", cwd=tmp_path).stdout)
    assert answer["binds"] == "wire-upstream"
    assert any("pcielab calibrate" in note for note in answer["notes"])
    answer = json.loads(succeed("why", "import.db", "--test", "LAT", "--format", "json", cwd=tmp_path).stdout)
    assert answer["binds"] is None
    assert "warm caches instead of cold ones" in answer["change"]["what"]


@pytest.mark.parametrize("measured", ["nan", "inf", "-1"])
def test_what_is_no_measured_value_is_refused(measured: str) -> None:
    for what, *asked in (("rate", *NIC), ("rate", "why", "--test", "bw-rd"), ("time", "why", "--test", "lat-rd")):
        assert f"--measured: '{measured}' is not a {what}: give 1e-6 to 1000000000" in refuse(
            *asked, f"--measured={measured}"
        )


@pytest.mark.parametrize("measured", ["1e308", "1e-308", "0", "1.1e9", "9e-7"])
def test_a_measured_value_out_of_range_is_refused(measured: str) -> None:
    for asked in (NIC, ("why", "--test", "bw-rd"), ("why", "--test", "lat-rd")):
        assert "give a value above 0, from 1e-06 to 1e+09, in Gb/s, or in ns" in refuse(
            *asked, f"--measured={measured}"
        )


@pytest.mark.parametrize("measured", ["1e-6", "1e9"])
def test_a_measured_value_at_the_ends_of_the_range_is_answered(measured: str) -> None:
    for asked in (NIC, ("why", "--test", "bw-rd", "--size", "64"), ("why", "--test", "lat-rd")):
        assert "inf" not in succeed(*asked, "--measured", measured).stdout.split()
