"""`pcielab profiles`, `suites` and `devices`, as people and scripts run them."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from shell import refuse, succeed
from suite_texts import LSPCI


def printed(*arguments: str | Path) -> str:
    return succeed(*arguments).stdout


def objects(*arguments: str) -> Any:
    return json.loads(printed(*arguments, "--format", "json"))


def rows(*arguments: str) -> list[dict[str, str]]:
    return list(csv.DictReader(printed(*arguments, "--format", "csv").splitlines()))


def test_experimental_systems_are_listed_last_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    table = printed("profiles", "list", "--kind", "system")
    first, _, apart = table.partition("Experimental: not calibrated")
    assert " e3 " not in first
    assert " snb " in first
    assert " e3 " in apart
    assert " e3-nosp " in apart
    assert "Reads that its card limits" in apart
    assert "snb" not in apart
    listed = objects("profiles", "list")
    reasons = {row["name"]: row["experimental"] for row in listed if row["experimental"]}
    systems = list(reasons)
    assert "come out 10 to 35 ns too fast" in reasons["e3"]
    assert systems == ["e3", "e3-nosp"]
    assert [row["name"] for row in listed[-2:]] == systems, "after all others"
    assert "EXPERIMENTAL: Reads that" in printed("profiles", "show", "e3")


def test_lists_are_rows() -> None:
    systems = objects("profiles", "list", "--kind", "system")
    assert {"hsw2620", "netfpga-hsw", "gen5-x16"} <= {row["name"] for row in systems}
    suites = rows("suites", "list")
    assert {row["name"]: row["tests"] for row in suites} == {
        "accesses": "16",
        "chase": "30",
        "cpu": "108",
        "cuda": "281",
        "cuda-quick": "40",
        "demo": "274",
        "e1000e": "83",
        "fig4": "120",
        "fig5": "44",
        "fig6": "2",
        "fig7": "108",
        "fig8-fig9": "232",
        "kpio": "1432",
        "kpio-mux": "14",
        "netfpga": "150",
        "nvme": "75",
        "paper": "2472",
        "quick": "81",
        "rpciebench": "521",
        "rtl-smoke": "34",
        "stores": "92",
    }
    assert {row["kind"] for row in suites} == {"transfers", "messages", "fabric"}
    assert {"nic", "messages", "fabric"} < {row["kind"] for row in objects("profiles", "list")}
    assert "nfp6000" in {row["card"] for row in objects("devices", "list") if row["device"] == "sim"}


def test_show_prints_values_with_their_sources() -> None:
    shown = {row["key"]: row for row in objects("profiles", "show", "snb", "--set", "host.iommu.walk_ns=300")}
    assert shown["host.iommu.walk_ns"] == {
        "key": "host.iommu.walk_ns",
        "value": "300.0",
        "source": "changed with --set",
    }
    assert "Where the values come from" in printed("profiles", "show", "snb")
    assert json.loads(printed("profiles", "show", "snb", "--resolved"))["name"] == "snb"
    assert "dma.outstanding" in printed("devices", "show", "nfp6000")


def test_suites_show_prints_every_test() -> None:
    shown = rows("suites", "show", "paper")
    assert len(shown) == 2472
    assert shown[0]["family"] == "lat_cmd_sizes"
    assert "bw_dma_off_rd_cold" in printed("suites", "show", "paper")


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("hsw2620", "host.llc.slices", "6"),
        ("gen3-x8", "lanes", "8"),
        ("nfp6000", "name", "nfp6000"),
        ("gen5-server", "sockets", "1"),
        ("niantic-dpdk", "step.0.path", "tx"),
        ("exanic-2018", "core.write_combining_buffers", "10"),
        ("walk-through", "mps_bytes", "128"),
    ],
)
def test_show_finds_a_profile_of_any_kind(name: str, key: str, value: str) -> None:
    assert {row["key"]: row["value"] for row in objects("profiles", "show", name)}[key] == value


def test_show_reports_a_name_that_two_kinds_have() -> None:
    system = succeed("profiles", "show", "kpio-2012", "--format", "json")
    assert "--kind messages" in system.stderr
    messages = succeed("profiles", "show", "kpio-2012", "--kind", "messages", "--format", "json")
    assert messages.stderr == ""
    assert system.stdout != messages.stdout


def test_suites_show_finds_a_suite_of_any_kind() -> None:
    shown = rows("suites", "show", "rpciebench")
    assert len(shown) == 521
    assert any(row["sweep"] == "F1.size_bytes" for row in shown)
    assert "1432 tests" in printed("suites", "show", "kpio")


@pytest.mark.parametrize("kind", ["host", "nic", "messages", "fabric"])
def test_schema_is_json(kind: str) -> None:
    assert json.loads(printed("profiles", "schema", kind))["additionalProperties"] is False


def test_a_skeleton_is_replaced_only_with_overwrite(tmp_path: Path) -> None:
    text, output = tmp_path / "lspci.txt", tmp_path / "mine.toml"
    text.write_text(LSPCI, encoding="utf-8")
    arguments = ("profiles", "skeleton", "--lspci", text, "-o", output)
    made = succeed(*arguments)
    assert made.stdout == ""
    assert "uncalibrated" in made.stderr
    succeed("profiles", "show", output)
    assert printed("profiles", "skeleton", "--lspci", text, "-o", "-").startswith('name = "mine"\n')
    assert "--overwrite" in refuse(*arguments)
    succeed(*arguments, "--overwrite")


def test_a_skeleton_prefers_a_known_device_to_one_with_a_faster_link(tmp_path: Path) -> None:
    text = tmp_path / "lspci.txt"
    raid = LSPCI.replace("3b:00.0 Ethernet controller: Netronome Systems, Inc. Device 6000", "01:00.0 RAID bus: X")
    text.write_text(raid.replace("8GT/s", "16GT/s") + LSPCI, encoding="utf-8")
    skeleton = printed("profiles", "skeleton", "--lspci", text, "-o", "-")
    assert 'device = "nfp6000"' in skeleton
    assert "3b:00.0 Ethernet controller: Netronome" in skeleton


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("profiles", "show", "nsb"), "did you mean snb?"),
        (("profiles", "show", "snb", "--set", "host.iommu.walk_us=1"), "the key is walk_ns"),
        (("profiles", "show", "gen3-x8", "--kind", "link", "--resolved"), "shows systems only"),
        (("profiles", "show", "snb", "--resolved", "--format", "csv"), "prints JSON only"),
        (("profiles", "show", "nowhere.toml"), "nowhere.toml: profile not found"),
        (("suites", "show", "papr"), "did you mean paper?"),
        (("devices", "show", "nfp"), "did you mean nfp6000 or nfp6000-0001?"),
        (("profiles", "skeleton", "--lspci", "nowhere.txt", "-o", "mine.toml"), "cannot be read"),
        (("profiles", "schema", "suite"), "'suite'"),
        (
            ("profiles", "show", "simple-nic", "--set", "name=mine"),
            "only this profile, of kind nic, can change: give nic.KEY=VALUE",
        ),
        (("suites", "show", "nowhere.toml"), "nowhere.toml: suite not found"),
    ],
)
def test_bad_input_is_refused(arguments: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    assert expected in refuse(*arguments, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_brackets_in_an_error_are_printed(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "m"\ntitle = "M"\nbase = "snb"\n[set]\nfrob = 1\n[provenance]\nsource = "me"\n')
    assert "[set] frob" in refuse("profiles", "show", path)


def test_devices_of_fabrics_are_shown() -> None:
    shown = {row["key"]: row["value"] for row in objects("profiles", "show", "nic-400g")}
    assert shown["engine.read.bytes_per_ns"] == "50.0"
