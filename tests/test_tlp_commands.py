"""`pcielab tlp` and `import capture`: the kPIO paper's listings, filters, formats, and a twin of a known host."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from pcielab import captures
from pcielab.captures.picture import in_flight
from pcielab.library.profiles import resolve
from shell import pcielab, succeed

FIXTURES = Path(__file__).parents[1] / "crates" / "pcie-transactions" / "tests" / "fixtures"
FIGURE_5 = FIXTURES / "kpio-figure-5.txt"
FIGURE_6 = FIXTURES / "kpio-figure-6.txt"


def report(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(succeed("tlp", "explain", *arguments, "--format", "json").stdout)
    return found


def test_the_stores_of_figure_5_are_two_full_lines_with_the_times_of_the_figure() -> None:
    found = report(str(FIGURE_5))
    stores = found["stores"]
    assert (stores["full_lines"], stores["partial_lines"], stores["doorbell_count"]) == (2, 0, 0)
    first, second = stores["evictions"]
    assert (first["record"], hex(first["address"]), first["bytes"]) == (1572, "0xfe000000", 64)
    assert (second["record"], hex(second["address"])) == (1573, "0xfe000040")
    # Table 1 of the paper: 232 ns from the first line to the second.
    assert second["after_ps"] == 232_000
    rows = {row["record"]: row for row in found["transactions"]}
    # The text around the figure: acknowledged at 492 and 692 ns, looped back at 1,292 and 1,388 ns.
    assert rows[1572]["acknowledged_after_ns"] == 492
    assert rows[1573]["start_ns"] + rows[1573]["acknowledged_after_ns"] == 692
    assert [rows[record]["start_ns"] for record in (1578, 1579)] == [1292, 1388]
    assert [rows[record]["direction"] for record in (1573, 1578)] == ["downstream", "upstream"]
    assert found["link"]["alike"] == ["gen1x4"]


def test_the_descriptor_of_figure_6_leads_from_the_doorbell_to_the_payload() -> None:
    found = report(str(FIGURE_6))
    [doorbell] = found["stores"]["doorbells"]
    assert (doorbell["record"], hex(doorbell["address"]), doorbell["bytes"]) == (2555, "0xf7c03b18", 4)
    assert (doorbell["read_record"], doorbell["read_after_ps"]) == (2557, 616_000)
    [descriptor] = found["stores"]["descriptor_reads"]
    assert (descriptor["record"], descriptor["completion_record"], descriptor["bytes"]) == (2557, 2559, 16)
    # Its bytes hold the address of the payload, and its length: 98 bytes.
    assert (descriptor["data_record"], hex(descriptor["data_address"])) == (2561, "0x66601402")
    assert descriptor["data_bytes"] == 98
    rows = {row["record"]: row for row in found["transactions"]}
    assert rows[2555]["acknowledged_after_ns"] == 184
    # Table 1: descriptor at 1,064 ns (its Ack), payload at 1,736 ns.
    assert rows[2557]["start_ns"] + rows[2557]["last_after_ns"] == 832
    assert rows[2561]["start_ns"] + rows[2561]["last_after_ns"] == 1736
    assert rows[2561]["acknowledged_after_ns"] == 104
    assert found["acknowledgements"]["latency"]["count"] == 5
    assert (found["open"], found["violations"]) == (0, [])


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of reads on a simulated host with 8 tags."""
    system = resolve("hsw2620", ["link.tags=8"])
    path = tmp_path_factory.mktemp("capture") / "reads.csv"
    trace = "# pcielab trace 1\n" + "".join(f"0 read {4096 * (number % 2)} 256\n" for number in range(600))
    path.write_bytes(captures.record(system, trace))
    return path


def test_a_simulated_capture_has_the_settings_of_its_system(capture: Path) -> None:
    found = captures.explain(capture)
    link = resolve("hsw2620").system.link
    assert found.link == f"gen{link.generation}x{link.lanes}"
    assert found.report["settings"]["tags_in_flight"] == 8
    assert found.binding == "tags"
    assert found.report["simulated"] is True
    assert found.sentences[0].startswith("Simulated: ")
    assert sum(row.share for row in found.shares if row.direction == "downstream") == pytest.approx(1)


@pytest.mark.parametrize("output_format", ["table", "csv", "json", "markdown"])
def test_every_format_has_the_binding_cause(capture: Path, output_format: str) -> None:
    done = succeed("tlp", "explain", str(capture), "--format", output_format)
    assert "tags" in done.stdout
    if output_format == "csv":
        assert set(next(iter(csv.DictReader(io.StringIO(done.stdout))))) == {"table", "row", "key", "value"}


def test_filters_choose_transactions(capture: Path) -> None:
    whole = json.loads(succeed("tlp", "list", str(capture), "--format", "json").stdout)
    assert len(whole) == 600
    tagged = list(
        csv.DictReader(io.StringIO(succeed("tlp", "list", str(capture), "--tag", "3", "--format", "csv").stdout))
    )
    assert tagged
    assert {row["tag"] for row in tagged} == {"3"}
    early = list(captures.transactions(capture, until_ns=1000, kind="read", direction="upstream"))
    assert early
    assert all(row["start_ns"] < 1000 for row in early if row["start_ns"] is not None)
    assert len(list(captures.transactions(capture, from_ns=1000))) + len(early) == 600
    assert not list(captures.transactions(capture, kind="write"))


def test_a_picture_of_what_was_in_flight_is_drawn(capture: Path, tmp_path: Path) -> None:
    picture = tmp_path / "in-flight.html"
    succeed("tlp", "explain", str(capture), "--output", str(picture))
    assert len(picture.read_bytes()) > 10_000
    titles = json.dumps(in_flight(captures.explain(capture), "a capture").to_dict())
    assert all(words in titles for words in ("reads in flight", "bytes in flight", "a capture", "simulated"))


def test_better_cuts_are_played_on_a_host(tmp_path: Path) -> None:
    system = resolve("hsw2620")
    trace = "# pcielab trace 1\n" + "".join(f"0 read {64 * number % 65536} 64\n" for number in range(2000))
    path = tmp_path / "small.csv"
    path.write_bytes(captures.record(system, trace))
    as_captured, merged = captures.better_cuts(path, system)
    assert merged.transfers < as_captured.transfers
    assert merged.gbps > 1.2 * as_captured.gbps
    found = report(str(path), "--profile", "hsw2620")
    assert [row["cuts"] for row in found["played"]] == ["as captured", "merged"]


def test_refusals_name_the_file_and_the_remedy(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("no capture\n")
    for arguments, words in (
        (["tlp", "explain", str(wrong)], "wrong.txt"),
        (["tlp", "explain", str(tmp_path / "missing.csv")], "missing.csv"),
        (["tlp", "explain", str(FIGURE_5), "--lanes", "3"], "lanes is 3"),
        (["tlp", "list", str(FIGURE_5), "--kind", "pio"], "kind is pio: give"),
        (["tlp", "explain", str(FIGURE_5), "--columns", "time"], "give FIELD=COLUMN"),
        (["tlp", "explain", str(FIGURE_5), "--input-format", "pcapx"], "format is pcapx"),
    ):
        done = pcielab(*arguments)
        assert done.exit_code == 2, done.stderr
        assert words in done.stderr
        assert done.stdout == ""


def test_imported_captures_calibrate_back_to_their_host(tmp_path: Path) -> None:
    """Reads one at a time, cold and warm: the twin has the host's times of the cache and of memory."""
    system = resolve("snb")
    spaced = "".join(f"{5_000_000 * number} read {64 * (number * 37 % 4096)} 64\n" for number in range(1500))
    trace = "# pcielab trace 1\n" + spaced
    files = {}
    for cache in ("cold", "host-warm"):
        files[cache] = tmp_path / f"{cache}.csv"
        files[cache].write_bytes(captures.record(system, trace, cache=cache, window_bytes=256 << 10))
    run = tmp_path / "run.db"
    succeed(
        *("import", "capture", *map(str, files.values()), "--cache", "cold", "--cache", "host-warm"),
        *("--window", "256K", "-o", str(run)),
    )
    twin = tmp_path / "twin.toml"
    done = succeed("calibrate", str(run), "--device", "link-capture", "-o", str(twin), "--format", "json")
    found = {row["parameter"]: row for row in json.loads(done.stdout)}
    for key in ("read_ns",):
        row = found[f"host.root_complex.{key}"]
        assert row["identified"], row
        assert row["value"] == pytest.approx(system.system.host.root_complex.read_ns, rel=0.03)
    miss = found["host.memory.miss_ns"]
    assert miss["identified"]
    assert miss["value"] == pytest.approx(system.system.host.memory.miss_ns, rel=0.1)


ENGINES = Path(__file__).parents[1] / "crates" / "pcie-capture" / "tests" / "fixtures"


@pytest.mark.parametrize(
    ("file", "clock_ns", "settings", "moved"),
    [
        # The parameters of the scripts beside the files.
        (
            "cocotb.log.gz",
            None,
            {"mps_bytes": 256, "mrrs_bytes": 512},
            {"device writes": 1024, "device reads": 2048},
        ),
        ("litepcie.vcd.gz", 8, {"mrrs_bytes": 512, "highest_tag": 2, "tags_in_flight": 3}, {"device writes": 128}),
        (
            "straddled.csv.gz",
            4,
            {"mps_bytes": 128, "mrrs_bytes": 256, "tags_in_flight": 8, "highest_tag": 7},
            {"device writes": 2048, "device reads": 16384},
        ),
    ],
)
def test_captures_of_other_engines_agree_with_their_parameters(
    file: str, clock_ns: float | None, settings: dict[str, int], moved: dict[str, int]
) -> None:
    clock = () if clock_ns is None else ("--clock-ns", str(clock_ns))
    found = report(str(ENGINES / file), *clock)
    assert {key: found["settings"][key] for key in settings} == settings
    assert {row["what"]: row["bytes"] for row in found["moved"]} == moved
    assert found["violations"] == []
    assert found["acknowledgements"]["sent_again"] == 0
    assert len(found["sentences"]) == 3


def test_a_converted_capture_is_explained_alike(capture: Path, tmp_path: Path) -> None:
    for name in ("raw", "text"):
        path = tmp_path / name
        succeed("tlp", "convert", str(capture), "--capture-format", name, "-o", str(path))
        assert captures.explain(path).report["settings"] == captures.explain(capture).report["settings"]
    comment, *table = succeed("tlp", "convert", str(FIGURE_6), "-o", "-").stdout.splitlines()
    assert comment.startswith("# pcielab list")
    assert len(list(csv.DictReader(table))) == 10
