"""`pcielab profiles`, `suites` and `devices`, as people and scripts run them."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

PCIELAB = str(Path(sys.executable).with_name("pcielab"))
LSPCI = """\
02:00.0 Ethernet controller: Netronome Systems, Inc. Device 6000
\tControl: I/O- Mem+ BusMaster+ SpecCycle-
\tCapabilities: [c0] Express (v2) Endpoint, MSI 00
\t\tDevCtl:\tReport errors: Correctable-
\t\t\tRlxdOrd+ ExtTag- PhantFunc-
\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes Disabled- CommClk+
\t\tLnkSta:\tSpeed 8GT/s, Width x8, TrErr- Train-
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PCIELAB, *arguments], capture_output=True, text=True, check=False)


def test_experimental_systems_stand_apart_with_the_reason() -> None:
    table = run("profiles", "list", "--kind", "system").stdout
    first, _, apart = table.partition("Experimental: not calibrated")
    assert " e3 " not in first
    assert " snb " in first
    assert " e3 " in apart
    assert " e3-nosp " in apart
    assert "come out 10 to 35 ns too fast" in apart
    assert "snb" not in apart
    rows = json.loads(run("profiles", "list", "--format", "json").stdout)
    systems = [row["name"] for row in rows if row["experimental"]]
    assert systems == ["e3", "e3-nosp"]
    assert [row["name"] for row in rows[-2:]] == systems, "behind all others"
    assert "EXPERIMENTAL: Reads that" in run("profiles", "show", "e3").stdout


def test_lists_are_rows() -> None:
    systems = json.loads(run("profiles", "list", "--kind", "system", "--format", "json").stdout)
    assert {"hsw2620", "netfpga-hsw", "gen5-x16"} <= {row["name"] for row in systems}
    suites = list(csv.DictReader(io.StringIO(run("suites", "list", "--format", "csv").stdout)))
    assert {row["name"]: row["tests"] for row in suites} == {
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
    profiles = json.loads(run("profiles", "list", "--format", "json").stdout)
    assert {"nic", "messages", "fabric"} < {row["kind"] for row in profiles}
    devices = json.loads(run("devices", "list", "--format", "json").stdout)
    assert "nfp6000" in {row["card"] for row in devices if row["device"] == "sim"}


def test_show_prints_values_with_their_sources() -> None:
    shown = run("profiles", "show", "snb", "--set", "host.iommu.walk_ns=300", "--format", "json")
    rows = {row["key"]: row for row in json.loads(shown.stdout)}
    assert rows["host.iommu.walk_ns"] == {
        "key": "host.iommu.walk_ns",
        "value": "300.0",
        "source": "changed with --set",
    }
    assert "Where the values come from" in run("profiles", "show", "snb").stdout
    assert json.loads(run("profiles", "show", "snb", "--resolved").stdout)["name"] == "snb"
    assert "dma.outstanding" in run("devices", "show", "nfp6000").stdout


def test_suites_show_prints_every_test_for_programs() -> None:
    rows = list(csv.DictReader(io.StringIO(run("suites", "show", "paper", "--format", "csv").stdout)))
    assert len(rows) == 2472
    assert rows[0]["family"] == "lat_cmd_sizes"
    assert "bw_dma_off_rd_cold" in run("suites", "show", "paper").stdout


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
    rows = json.loads(run("profiles", "show", name, "--format", "json").stdout)
    assert {row["key"]: row["value"] for row in rows}[key] == value


def test_show_of_a_name_that_two_kinds_have_says_so() -> None:
    system = run("profiles", "show", "kpio-2012", "--format", "json")
    assert "--kind messages" in system.stderr
    messages = run("profiles", "show", "kpio-2012", "--kind", "messages", "--format", "json")
    assert messages.stderr == ""
    assert system.stdout != messages.stdout


def test_suites_show_finds_a_suite_of_any_kind() -> None:
    rows = list(csv.DictReader(io.StringIO(run("suites", "show", "rpciebench", "--format", "csv").stdout)))
    assert len(rows) == 521
    assert any(row["sweep"] == "F1.size_bytes" for row in rows)
    assert "1432 tests" in run("suites", "show", "kpio").stdout


@pytest.mark.parametrize("kind", ["host", "nic", "messages", "fabric"])
def test_schema_is_json(kind: str) -> None:
    assert json.loads(run("profiles", "schema", kind).stdout)["additionalProperties"] is False


def test_a_skeleton_is_written_once(tmp_path: Path) -> None:
    text, output = tmp_path / "lspci.txt", tmp_path / "mine.toml"
    text.write_text(LSPCI, encoding="utf-8")
    arguments = ("profiles", "skeleton", "--lspci", str(text), "-o", str(output))
    made = run(*arguments)
    assert (made.returncode, made.stdout) == (0, "")
    assert "uncalibrated" in made.stderr
    assert run("profiles", "show", str(output)).returncode == 0
    printed = run("profiles", "skeleton", "--lspci", str(text), "-o", "-")
    assert printed.stdout.startswith('name = "mine"\n')
    again = run(*arguments)
    assert again.returncode == 2
    assert "--overwrite" in again.stderr
    assert run(*arguments, "--overwrite").returncode == 0


def test_a_skeleton_is_of_the_card_that_is_known_and_not_of_one_with_a_faster_link(tmp_path: Path) -> None:
    text = tmp_path / "lspci.txt"
    raid = LSPCI.replace("02:00.0 Ethernet controller: Netronome Systems, Inc. Device 6000", "01:00.0 RAID bus: X")
    text.write_text(raid.replace("8GT/s", "16GT/s") + LSPCI, encoding="utf-8")
    printed = run("profiles", "skeleton", "--lspci", str(text), "-o", "-")
    assert 'device = "nfp6000"' in printed.stdout
    assert "02:00.0 Ethernet controller: Netronome" in printed.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("profiles", "show", "nsb"), "did you mean snb?"),
        (("profiles", "show", "snb", "--set", "host.iommu.walk_us=1"), "the key is walk_ns"),
        (("profiles", "show", "gen3-x8", "--kind", "link", "--resolved"), "shows systems only"),
        (("profiles", "show", "snb", "--resolved", "--format", "csv"), "prints JSON only"),
        (("profiles", "show", "nowhere.toml"), "nowhere.toml: no such profile"),
        (("suites", "show", "papr"), "did you mean paper?"),
        (("devices", "show", "nfp"), "did you mean nfp6000?"),
        (("profiles", "skeleton", "--lspci", "nowhere.txt", "-o", "mine.toml"), "cannot be read"),
        (("profiles", "schema", "suite"), "'suite'"),
        (("profiles", "show", "simple-nic", "--set", "name=mine"), "changes only values of a system"),
        (("suites", "show", "nowhere.toml"), "nowhere.toml: no such suite"),
    ],
)
def test_bad_input_is_explained_with_exit_code_2(
    arguments: tuple[str, ...], expected: str, tmp_path: Path
) -> None:
    failed = subprocess.run([PCIELAB, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert expected in failed.stderr
    assert list(tmp_path.iterdir()) == []


def test_brackets_in_a_message_reach_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "m"\ntitle = "M"\nbase = "snb"\n[set]\nfrob = 1\n[provenance]\nsource = "me"\n')
    assert "[set] frob" in run("profiles", "show", str(path)).stderr
