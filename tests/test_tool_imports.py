"""Imports of what other tools measured: every row as printed, and a damaged, foreign or truncated file refused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pcielab import InputError, open_store
from pcielab.formats.importers.tools.output import READ, read_output
from pcielab.formats.importers.tools.writing import Measured
from pcielab.kinds.tools.rows import MeasuredRow, measured_rows
from shell import pcielab, refuse, succeed

SAMPLES = Path(__file__).parent / "tool_outputs"
LAST_TESTS = {"0.3-one-test.txt": "host_to_device_memcpy_ce"}
"""The last tests of samples that do not show that they are whole."""
ALL = sorted(path for tool in READ for path in (SAMPLES / tool).iterdir())
COMMANDS = ("nvbandwidth", "perftest", "fio")
"""Tools with a command of their own."""
WITHOUT_END = ("mlc", "rocm-bandwidth-test")
"""Tools whose output does not show that it is whole."""


def read(text: str, path: Path) -> Measured:
    """What a sample, or a text made from it, holds."""
    [found] = read_output(text, path, last_test=LAST_TESTS.get(path.name))
    return found


def rows_of(path: Path, folder: Path, *options: str) -> list[MeasuredRow]:
    """The rows of an imported sample."""
    command = path.parent.name if path.parent.name in COMMANDS else "output"
    succeed("import", command, path, *options, "-o", folder / "run.db")
    return measured_rows(open_store(folder / "run.db"))


def read_if_whole(text: str, path: Path) -> Measured | None:
    """What a text holds; None if it is refused by the name of its file."""
    message = f"{path} is not named"
    try:
        return read(text, path)
    except InputError as error:
        message = str(error)
    assert str(path) in message
    return None


@pytest.mark.parametrize("path", ALL, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_truncated_file_is_refused_or_says_what_may_be_missing(path: Path) -> None:
    """No number changes, and where some are missing, a note says so."""
    text = path.read_text(encoding="utf-8")
    whole = read(text, path)
    step = 3 if path.suffix == ".txt" else 23
    for end in range(1, len(text), step):
        found = read_if_whole(text[:end], path)
        if found is None:
            continue
        if found.tests == whole.tests:
            continue
        assert path.suffix == ".txt"
        assert found.notes or path.parent.name in WITHOUT_END, f"{end} of {len(text)} bytes"
        for test, expected in zip(found.tests, whole.tests, strict=False):
            assert test.metrics.items() <= expected.metrics.items(), f"{end} of {len(text)} bytes"
            assert test.name == expected.name


@pytest.mark.parametrize("path", ALL, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_store_is_measured_and_keeps_the_file(path: Path, tmp_path: Path) -> None:
    last = ("--last", LAST_TESTS[path.name]) if path.name in LAST_TESTS else ()
    command = path.parent.name if path.parent.name in COMMANDS else "output"
    succeed("import", command, path, *last, "-o", tmp_path / "run.db")
    store = open_store(tmp_path / "run.db")
    assert (store.origin, store.kind) == ("measured", "tools")
    assert list(store.attachments.values()) == [path.read_text(encoding="utf-8")]
    assert store.manifest["source"]["file"] == path.name
    assert "link" not in store.manifest["device"]
    assert len(store.tests) == len(read(path.read_text(encoding="utf-8"), path).tests)


def test_every_version_of_nvbandwidth_has_a_sample() -> None:
    names = [path.name.partition("-")[0] + path.suffix for path in (SAMPLES / "nvbandwidth").iterdir()]
    assert set(names) == {f"0.{minor}.txt" for minor in range(2, 11)} | {
        f"0.{minor}.json" for minor in range(5, 11)
    }


def nvbandwidth(name: str, folder: Path, *options: str) -> dict[tuple[str, str | None, str | None], MeasuredRow]:
    """The rows of a sample by test, table and pair."""
    found = rows_of(SAMPLES / "nvbandwidth" / name, folder, *options)
    rows = {(row.name, row.part, row.pair): row for row in found}
    assert len(rows) == len(found)
    return rows


def test_nvbandwidth_cells_and_sums_are_rows(tmp_path: Path) -> None:
    rows = nvbandwidth("0.2-four-gpus.txt", tmp_path)
    read = rows["device_to_device_memcpy_read_ce", None, "GPU 2 -> GPU 1"]
    assert (read.value, read.unit, read.what, read.engine) == (8 * 276.10, "Gb/s", "p2p", "copy")
    assert ("device_to_device_memcpy_read_ce", None, "GPU 1 -> GPU 1") not in rows
    total = rows["host_to_device_memcpy_ce", None, "sum"]
    assert (total.value, total.what) == (pytest.approx(8 * 98.06), None)
    assert len(rows) == 5 + 5 + 13 + 5
    assert all(row.size_bytes is None and row.depth is None for row in rows.values())


def test_nvbandwidth_directions_engines_and_what_runs_beside(tmp_path: Path) -> None:
    rows = nvbandwidth("0.5-one-gpu.txt", tmp_path, "--size", "512M")
    named = {
        name: (row.what, row.direction, row.engine, row.quantity, row.value) for (name, _, _), row in rows.items()
    }
    assert named == {
        "host_to_device_memcpy_ce": ("h2d", "h2d", "copy", "bandwidth", 8 * 55.31),
        "device_to_host_memcpy_ce": ("d2h", "d2h", "copy", "bandwidth", 8 * 55.64),
        "device_to_host_bidirectional_memcpy_ce": ("both-ways", "d2h", "copy", "bandwidth", 8 * 46.17),
        "host_to_device_memcpy_sm": ("h2d", "h2d", "kernel", "bandwidth", pytest.approx(8 * 35.20)),
        "host_device_latency_sm": ("latency", None, "kernel", "latency", 662.39),
    }
    assert {row.size_bytes for row in rows.values() if row.quantity == "bandwidth"} == {512 << 20}
    assert rows["host_device_latency_sm", None, "CPU 0 <-> GPU 0"].size_bytes is None


def test_nvbandwidth_tables_of_one_test_are_told_apart(tmp_path: Path) -> None:
    rows = nvbandwidth("0.2-underscore-sums.txt", tmp_path)
    name = "device_to_device_bidirectional_memcpy_write_ce"
    values = {part: rows[name, part, "GPU 0 <-> GPU 1"] for part in ("Write1", "Write2", "Total")}
    assert {part: row.value / 8 for part, row in values.items()} == pytest.approx(
        {"Write1": 25.12, "Write2": 25.20, "Total": 50.32}
    )
    assert [row.counted for row in values.values()] == ["one", "one", "both"]
    assert rows[name, "Total", "sum"].value == pytest.approx(8 * 100.59)
    assert rows["all_to_host_memcpy_ce", None, "CPU 0 <- GPU 1"].what is None


def test_nvbandwidth_waived_and_failed_tests_have_no_numbers(tmp_path: Path) -> None:
    for name, failed in (("0.7-error.txt", "PEER_ACCESS_UNSUPPORTED"), ("0.10-error.json", "OUT_OF_MEMORY")):
        rows_of(SAMPLES / "nvbandwidth" / name, tmp_path)
        tests = open_store(tmp_path / "run.db").tests
        assert failed in "".join(tests[tests["status"] == "failed"]["message"])
        (tmp_path / "run.db").unlink()
    rows_of(SAMPLES / "nvbandwidth" / "0.5-one-gpu.json", tmp_path)
    tests = open_store(tmp_path / "run.db").tests
    assert tests["status"].tolist() == ["ok", "ok", "not-supported"]


def test_nvbandwidth_json_and_text_of_a_run_have_the_same_rows(tmp_path: Path) -> None:
    text = nvbandwidth("0.5-one-gpu.txt", tmp_path)
    (tmp_path / "run.db").unlink()
    of_json = nvbandwidth("0.5-one-gpu.json", tmp_path)
    assert {key: row.value for key, row in of_json.items()} == {key: text[key].value for key in of_json}
    assert open_store(tmp_path / "run.db").manifest["device"] == {
        "name": "NVIDIA H100 80GB HBM3",
        "address": "0000:19:00.0",
    }


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("Version: v0.5", "Version: v0.11", "line 1: version 'v0.11' of nvbandwidth: give"),
        ("Version: v0.5", "Version: v1.0", "line 1"),
        ("SUM host_to_device_memcpy_ce 55.31", "SUM host_to_device_memcpy_ce 55.13", "line 15"),
        (" 0     55.31\n", " 0     55.31     55.31\n", "line 13"),
        (" 0     55.31\n", " 0     nan\n", "line 13"),
        ("Running device_to_host_memcpy_ce.", "Running device_to_host_memcpy_ce.\nno table", "no table follows"),
    ],
)
def test_nvbandwidth_names_file_and_line_of_what_it_refuses(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    text = (SAMPLES / "nvbandwidth" / "0.5-one-gpu.txt").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "mine.txt").write_text(text.replace(old, new, 1), encoding="utf-8")
    message = refuse("import", "nvbandwidth", tmp_path / "mine.txt", "-o", tmp_path / "run.db")
    assert f"{tmp_path / 'mine.txt'}, line" in message
    assert words in message
    assert not (tmp_path / "run.db").exists()


def test_nvbandwidth_text_without_a_closing_note_needs_its_last_test(tmp_path: Path) -> None:
    text = (SAMPLES / "nvbandwidth" / "0.2-one-gpu.txt").read_text(encoding="utf-8")
    (tmp_path / "part.txt").write_text(text[: text.index("Waived device_to_device")], encoding="utf-8")
    words = ("import", "nvbandwidth", tmp_path / "part.txt", "-o", tmp_path / "run.db")
    assert "give --last" in refuse(*words, "--last", "host_to_device_memcpy_ce")
    named = succeed(*words, "--last", "host_to_device_bidirectional_memcpy_ce")
    assert "may be missing" not in named.stderr
    unnamed = succeed(*words, "--overwrite")
    assert "tests after host_to_device_bidirectional_memcpy_ce may be missing; --last" in unnamed.stderr


@pytest.mark.parametrize(
    "key, value, words",
    [
        ("version", "v0.12", "nvbandwidth.version: version 'v0.12'"),
        ("testcases", None, "nvbandwidth.testcases"),
        ("testcases", [{"name": "a", "status": "Perhaps"}], "nvbandwidth.testcases.0.status"),
        ("testcases", [{"name": "a", "status": "Passed"}], "has no bandwidth_matrix"),
    ],
)
def test_nvbandwidth_json_names_the_key_that_it_refuses(
    key: str, value: object, words: str, tmp_path: Path
) -> None:
    content = json.loads((SAMPLES / "nvbandwidth" / "0.5-one-gpu.json").read_text(encoding="utf-8"))
    content["nvbandwidth"][key] = value
    (tmp_path / "mine.json").write_text(json.dumps(content), encoding="utf-8")
    assert words in refuse("import", "nvbandwidth", tmp_path / "mine.json", "-o", tmp_path / "run.db")


def test_given_facts_are_stored_as_given(tmp_path: Path) -> None:
    options = ("--link", "gen5x16", "--mps", "256", "--mrrs", "512", "--numa", "1", "--address", "19:00")
    rows_of(SAMPLES / "nvbandwidth" / "0.2-one-gpu.txt", tmp_path, *options)
    manifest = open_store(tmp_path / "run.db").manifest
    link = {"rate_gtps": 32.0, "lanes": 16, "mps_bytes": 256, "mrrs_bytes": 512}
    assert manifest["device"]["link"] == link
    assert manifest["device"]["address"] == "0000:19:00.0"
    assert manifest["host"] == {"node": 1}


def test_the_link_of_a_saved_machine_is_that_of_the_device_in_the_file(tmp_path: Path) -> None:
    machine = ("--doctor", str(SAMPLES / "machine.json"))
    rows_of(SAMPLES / "nvbandwidth" / "0.5-one-gpu.json", tmp_path, *machine)
    link = {"rate_gtps": 32.0, "lanes": 16, "rcb_bytes": 64, "mps_bytes": 256, "mrrs_bytes": 4096}
    assert open_store(tmp_path / "run.db").manifest["device"]["link"] == link
    into = ("-o", str(tmp_path / "other.db"), *machine)
    one, two = (str(SAMPLES / "nvbandwidth" / name) for name in ("0.5-one-gpu.json", "0.8-two-gpus.json"))
    assert "--link: " in refuse("import", "nvbandwidth", one, *into, "--link", "gen4x16")
    assert "--address 0000:19:00.0" in refuse("import", "nvbandwidth", two, *into)
    assert "has no device 0000:17:00.0" in refuse("import", "nvbandwidth", two, *into, "--address", "17:00.0")


@pytest.mark.parametrize(
    "options, words",
    [
        (("--link", "fast"), "--link: 'fast' is not a link: give generation and lanes"),
        (("--link", "2x gen4x8"), "--link '2x gen4x8': give the link of one device"),
        (("--mps", "300"), "--mps 300: give one of 128"),
        (("--numa", "-1"), "--numa: '-1' is not a whole number: give"),
        (("--address", "here"), "'here': not a PCI address"),
        (("--size", "0"), "--size: '0' is out of range: give 1 to"),
        (("--doctor", "nowhere.json"), "nowhere.json"),
    ],
)
def test_a_wrong_option_is_named(options: tuple[str, str], words: str, tmp_path: Path) -> None:
    sample = SAMPLES / "nvbandwidth" / "0.5-one-gpu.txt"
    assert words in refuse("import", "nvbandwidth", sample, "-o", tmp_path / "run.db", *options)


def perftest(name: str, folder: Path) -> list[MeasuredRow]:
    """The rows of a report, without peaks and counts of messages."""
    found = rows_of(SAMPLES / "perftest" / name, folder)
    return [row for row in found if row.quantity != "iops" and row.statistic != "peak"]


@pytest.mark.parametrize(
    "name, program, what, gbps",
    [
        ("write-bw.txt", "ib_write_bw", "write", 11687.28 * 8 * 2**20 / 1e9),
        ("4.5-write-bw.json", "ib_write_bw", "write", 11718.72 * 8 * 2**20 / 1e9),
        ("24.07-write-bw.json", "ib_write_bw", "write", 391.41),
        ("write-bw-both-ways.txt", "ib_write_bw", "both-ways", 371.22),
    ],
)
def test_perftest_bandwidths_are_in_the_unit_of_the_report(
    name: str, program: str, what: str, gbps: float, tmp_path: Path
) -> None:
    [row] = perftest(name, tmp_path)
    assert (row.name, row.what, row.unit, row.value) == (program, what, "Gb/s", pytest.approx(gbps, rel=1e-6))
    assert row.transport == "RC"
    assert row.counted == ("both" if what == "both-ways" else "one")


def test_perftest_sizes_depths_and_queues(tmp_path: Path) -> None:
    rows = perftest("read-bw-all-sizes.txt", tmp_path)
    assert [row.size_bytes for row in rows] == [2**power for power in range(1, 24)]
    assert {(row.what, row.outstanding, row.queues, row.depth) for row in rows} == {("read", 128, 1, 128)}
    assert rows[11].value == 125.58
    (tmp_path / "run.db").unlink()
    assert {row.depth for row in perftest("write-bw-both-ways.txt", tmp_path)} == {512}
    (tmp_path / "run.db").unlink()
    rows = perftest("4.5-write-bw-two-sizes.json", tmp_path)
    assert [(row.size_bytes, row.value, row.depth) for row in rows] == [(4096, 182.44, 256), (65536, 371.10, 256)]
    (tmp_path / "run.db").unlink()
    assert len(perftest("24.07-send-bw-all-sizes.json", tmp_path)) == 23


@pytest.mark.parametrize(
    "name, times",
    [
        ("write-lat.txt", {"minimum": 980, "maximum": 3940, "median": 1010, "p99": 1090, "p999": 3940}),
        ("4.5-read-lat.json", {"minimum": 1820, "average": 1870, "median": 1860, "p99": 1980, "p999": 5110}),
        ("24.07-write-lat.json", {"minimum": 910, "maximum": 2770, "median": 940, "p99": 1010}),
        ("send-lat-duration.txt", {"average": 1140}),
    ],
)
def test_perftest_latencies_are_in_ns(name: str, times: dict[str, float], tmp_path: Path) -> None:
    rows = perftest(name, tmp_path)
    found = {row.statistic: row.value for row in rows}
    assert {key: found[key] for key in times} == times
    assert {(row.what, row.unit) for row in rows} == {("latency", "ns")}


@pytest.mark.parametrize(
    "sample, old, new, words",
    [
        ("write-bw.txt", "RDMA_Write BW", "Raw_Eth BW", "line 2: 'Raw_Eth BW Test': not a known test"),
        ("write-bw.txt", "MsgRate[Mpps]", "BW Port1[MB/sec]", "line 23: "),
        ("write-bw.txt", "0.186996", "0.286996", "line 23: BW_average"),
        ("write-lat.txt", "0.98 ", "9.98 ", "line 22: its times are not in order"),
        ("4.5-write-bw.json", "test: RDMA_Write_BW_Test", "test: raw_ethernet_bw", "test_info.test: 'raw_eth"),
        ("4.5-write-bw.json", "MsgRate: 0.187500", "MsgRate: 0.000000", "line 23: BW_average"),
        ("24.07-write-bw.json", '"MsgSize": 65536', '"MsgSize": "many"', "results, 1: MsgSize is 'many'"),
        ("24.07-write-bw.json", '"test_info"', '"info"', "seen: JSON (line 1): give reports of ib_write_bw"),
    ],
)
def test_perftest_names_the_place_of_what_it_refuses(
    sample: str, old: str, new: str, words: str, tmp_path: Path
) -> None:
    text = (SAMPLES / "perftest" / sample).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / sample).write_text(text.replace(old, new, 1), encoding="utf-8")
    message = refuse("import", "perftest", tmp_path / sample, "-o", tmp_path / "run.db")
    assert str(tmp_path / sample) in message
    assert words in message


def test_perftest_reads_two_reports_and_refuses_the_empty_one_of_a_server(tmp_path: Path) -> None:
    text = (SAMPLES / "perftest" / "write-bw.txt").read_text(encoding="utf-8")
    words = ("import", "perftest", tmp_path / "mine.txt", "-o", tmp_path / "run.db")
    (tmp_path / "mine.txt").write_text(text + text, encoding="utf-8")
    succeed(*words)
    assert len(open_store(tmp_path / "run.db").tests) == 2
    (tmp_path / "run.db").unlink()
    without = [line for line in text.splitlines(keepends=True) if not line.startswith(" 65536")]
    (tmp_path / "mine.txt").write_text("".join(without), encoding="utf-8")
    assert "give the report of the client" in refuse(*words)


def fio(name: str, folder: Path) -> dict[tuple[str, str | None, str, str], MeasuredRow]:
    """The rows of a file by job, operation, quantity and statistic."""
    found = rows_of(SAMPLES / "fio" / name, folder)
    return {(row.name, row.direction, row.quantity, row.statistic): row for row in found}


def test_fio_bandwidths_rates_and_latencies(tmp_path: Path) -> None:
    rows = fio("3.33-randread.json", tmp_path)
    bandwidth = rows["randread", "read", "bandwidth", "average"]
    assert bandwidth.value == pytest.approx(30123456 * 4096 / 30 * 8 / 1e9)
    assert (bandwidth.what, bandwidth.unit, bandwidth.size_bytes) == ("read", "Gb/s", 4096)
    assert (bandwidth.outstanding, bandwidth.queues, bandwidth.depth) == (32, 4, 128)
    assert (bandwidth.pattern, bandwidth.io_engine, bandwidth.access) == ("random", "io_uring", "direct")
    assert rows["randread", "read", "iops", "average"].value == 1004115.2
    median = rows["randread", "read", "latency", "median"]
    assert (median.value, median.unit, median.clock) == (122025.0, "ns", "clat")


def test_fio_operations_of_a_mixed_job_are_not_those_of_a_drive_that_only_reads(tmp_path: Path) -> None:
    rows = fio("3.36-mixed.json", tmp_path)
    sizes = {key[1]: row.size_bytes for key, row in rows.items()}
    assert sizes == {"read": 8192, "write": 16384}
    assert {(row.what, row.beside, row.io_engine) for row in rows.values()} == {(None, "mixed", "libaio")}


def test_fio_options_that_a_job_lacks_stay_unknown(tmp_path: Path) -> None:
    rows = fio("3.28-buffered.json", tmp_path)
    plain = rows["no-size", "write", "bandwidth", "average"]
    assert (plain.size_bytes, plain.depth, plain.access) == (None, None, "direct")
    read = rows["seq-0", "read", "latency", "median"]
    assert (read.access, read.clock, read.pattern) == ("buffered", "lat", "sequential")
    failed = open_store(tmp_path / "run.db").tests.iloc[2]
    assert (failed["name"], failed["status"], failed["message"]) == ("broken", "failed", "fio: error 2 of the job")


def changed_fio(folder: Path, **options: str) -> Path:
    """The sample of one job with other options."""
    content = json.loads((SAMPLES / "fio" / "3.33-randread.json").read_text(encoding="utf-8"))
    content["jobs"][0]["job options"] |= options
    path = folder / "fio" / "mine.json"
    path.parent.mkdir()
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "options, size",
    [
        ({"bs": "4096"}, 4096),
        ({"bs": "4KiB,8k"}, 4096),
        ({"bs": "4k", "kb_base": "1000"}, None),
        ({"bs": "8k"}, None),
        ({"bssplit": "4k/50:8k/50"}, None),
        ({"bs": "many"}, None),
    ],
)
def test_fio_takes_a_block_size_that_fits_the_bytes(
    options: dict[str, str], size: int | None, tmp_path: Path
) -> None:
    assert {row.size_bytes for row in rows_of(changed_fio(tmp_path, **options), tmp_path)} == {size}


def test_fio_jobs_at_the_same_time_have_a_share_of_the_drive(tmp_path: Path) -> None:
    rows = rows_of(changed_fio(tmp_path, group_reporting="0"), tmp_path)
    assert {(row.beside, row.what, row.queues) for row in rows} == {("others", None, 1)}


@pytest.mark.parametrize(
    "key, value, words",
    [
        ("fio version", "fio-2.21", "fio version is 'fio-2.21': give the JSON of fio 3"),
        ("fio version", None, "fio version is None"),
        ("jobs", [{"jobname": "a"}], "jobs.0.error"),
        ("jobs", 7, "jobs"),
    ],
)
def test_fio_names_the_key_that_it_refuses(key: str, value: object, words: str, tmp_path: Path) -> None:
    content = json.loads((SAMPLES / "fio" / "3.33-randread.json").read_text(encoding="utf-8"))
    (tmp_path / "mine.json").write_text(json.dumps(content | {key: value}), encoding="utf-8")
    assert words in refuse("import", "fio", tmp_path / "mine.json", "-o", tmp_path / "run.db")


def test_fio_detects_lost_digits(tmp_path: Path) -> None:
    text = (SAMPLES / "fio" / "3.33-randread.json").read_text(encoding="utf-8")
    (tmp_path / "mine.json").write_text(text.replace('"iops": 1004115.2', '"iops": 100411.2'), encoding="utf-8")
    message = refuse("import", "fio", tmp_path / "mine.json", "-o", tmp_path / "run.db")
    assert "jobs.0.read: bw_bytes is" in message


@pytest.mark.parametrize("tool", [*COMMANDS, "output"])
def test_an_empty_file_is_refused(tool: str, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    message = refuse("import", tool, tmp_path / "empty.txt", "-o", tmp_path / "run.db")
    assert f"{tmp_path / 'empty.txt'}, line 1: the file is empty" in message


def verdicts(run: Path) -> dict[tuple[str, str | None], tuple[str, bool]]:
    """The verdict of `pcielab normal` on each row of a store and what it is, and whether it has a bound."""
    rows = json.loads(succeed("normal", run, "--format", "json").stdout)
    return {(row["row"], row["what"]): (row["verdict"], row["bound"] is not None) for row in rows}


def test_normal_judges_the_numbers_that_stand_for_one_device(tmp_path: Path) -> None:
    linked = ("--link", "gen5x16", "--mps", "256", "--mrrs", "512", "--size", "512M")
    rows_of(SAMPLES / "nvbandwidth" / "0.5-one-gpu.txt", tmp_path, *linked)
    found = verdicts(tmp_path / "run.db")
    assert found["0 host_to_device_memcpy_ce CPU 0 -> GPU 0 536870912 B", "h2d"] == ("normal", True)
    assert found["1 device_to_host_memcpy_ce CPU 0 <- GPU 0 536870912 B", "d2h"] == ("normal", True)
    (tmp_path / "run.db").unlink()
    rows_of(SAMPLES / "nvbandwidth" / "0.2-four-gpus.txt", tmp_path, "--link", "gen4x16")
    found = verdicts(tmp_path / "run.db")
    of_devices = [name for name, _ in found if "sum" in name or "one_to_all" in name]
    assert {found[name, None] for name in of_devices} == {("not comparable", False)}
    assert found["10 device_to_device_memcpy_read_ce GPU 0 -> GPU 1", "p2p"] == ("nothing to compare with", False)


def test_normal_takes_the_side_of_the_host_in_reports_of_nics_and_drives(tmp_path: Path) -> None:
    for tool, name, link, what in (
        ("perftest", "write-bw.txt", "gen4x16", "h2d"),
        ("perftest", "read-bw-all-sizes.txt", "gen4x16", "d2h"),
        ("fio", "3.33-randread.json", "gen4x4", "d2h"),
    ):
        rows_of(SAMPLES / tool / name, tmp_path, "--link", link)
        found = verdicts(tmp_path / "run.db")
        assert what in {asked for _, asked in found}
        (tmp_path / "run.db").unlink()
    rows_of(SAMPLES / "fio" / "3.36-mixed.json", tmp_path)
    assert "no number stands for one device" in refuse("normal", tmp_path / "run.db")


def test_explain_bounds_each_direction_by_the_given_link(tmp_path: Path) -> None:
    linked = ("--link", "gen5x16", "--mps", "256", "--mrrs", "512", "--size", "512M")
    rows_of(SAMPLES / "nvbandwidth" / "0.5-one-gpu.txt", tmp_path, *linked)
    rows = json.loads(succeed("explain", tmp_path / "run.db", "--format", "json").stdout)
    bounds = {row["name"]: (row["bound"], row["bound_value"]) for row in rows}
    model = json.loads(
        succeed(
            *("model", "bandwidth", "--gen", "5", "--lanes", "16", "--mps", "256", "--mrrs", "512"),
            *("--sizes", "1M", "--format", "json"),
        ).stdout
    )[0]
    assert bounds["host_to_device_memcpy_ce"] == ("wire-downstream", pytest.approx(model["read_gbps"]))
    assert bounds["device_to_host_memcpy_ce"] == ("wire-upstream", pytest.approx(model["write_gbps"]))
    assert bounds["device_to_host_bidirectional_memcpy_ce"][1] == pytest.approx(model["rdwr_gbps"])
    assert bounds["host_device_latency_sm"] == (None, None)


def test_without_a_link_there_are_no_bounds_and_a_remedy(tmp_path: Path) -> None:
    rows_of(SAMPLES / "nvbandwidth" / "0.5-one-gpu.txt", tmp_path)
    done = succeed("explain", tmp_path / "run.db", "--format", "json")
    assert "unknown link, so no bounds: import again with --link" in done.stderr
    assert {row["bound"] for row in json.loads(done.stdout)} == {None}


def test_each_answer_assumes_the_same_payload_and_says_so(tmp_path: Path) -> None:
    """`explain`, `why` and `normal` of one row have one bound."""
    rows_of(SAMPLES / "nvbandwidth" / "0.5-one-gpu.txt", tmp_path, "--link", "gen5x16")
    run = tmp_path / "run.db"
    usual = ("--gen", "5", "--lanes", "16", "--mps", "256", "--mrrs", "512", "--sizes", "1M")
    [bounds] = json.loads(succeed("model", "bandwidth", *usual, "--format", "json").stdout)
    explained = succeed("explain", run, "--format", "json")
    assert "MPS 256 B assumed: import again with --mps" in explained.stderr
    reads, writes = json.loads(explained.stdout)[:2]
    assert (reads["bound_value"], writes["bound_value"]) == pytest.approx(
        (bounds["read_gbps"], bounds["write_gbps"])
    )
    normal = json.loads(succeed("normal", run, "--format", "json").stdout)
    assert [row["bound"] for row in normal[:2]] == pytest.approx([reads["bound_value"], writes["bound_value"]])
    assert {row["assumed"] for row in normal[:2]} == {"MPS 256 B assumed"}
    assert "MPS 256 B assumed" in succeed("normal", run).stdout
    why = json.loads(succeed("why", run, "--format", "json").stdout)
    assert "MPS 256 B assumed" in why["question"]
    assert why["change"]["before"] in (reads["bound_value"], writes["bound_value"])


def test_buffered_reads_have_no_bound(tmp_path: Path) -> None:
    rows_of(SAMPLES / "fio" / "3.28-buffered.json", tmp_path, "--link", "gen4x4")
    rows = json.loads(succeed("explain", tmp_path / "run.db", "--format", "json").stdout)
    assert [row["bound"] is None for row in rows] == [True, False]


def test_reports_draw_bars_and_curves(tmp_path: Path) -> None:
    for tool, name, figure in (
        ("nvbandwidth", "0.2-underscore-sums.txt", "tool-bandwidths"),
        ("perftest", "read-bw-all-sizes.txt", "tool-bandwidth-by-size"),
    ):
        rows_of(SAMPLES / tool / name, tmp_path, "--link", "gen5x16")
        succeed("report", tmp_path / "run.db", "-o", tmp_path / "report.html", "--overwrite")
        assert f'id="{figure}"' in (tmp_path / "report.html").read_text(encoding="utf-8")
        (tmp_path / "run.db").unlink()


def test_compare_names_ends_and_tests_that_are_missing(tmp_path: Path) -> None:
    for name in ("0.5-one-gpu.txt", "0.5-one-gpu.json"):
        succeed("import", "nvbandwidth", SAMPLES / "nvbandwidth" / name, "-o", tmp_path / f"{name}.db")
    both = (tmp_path / "0.5-one-gpu.txt.db", tmp_path / "0.5-one-gpu.json.db")
    done = succeed("compare", *both)
    assert "CPU 0 -> GPU 0" in done.stdout
    assert "None" not in done.stdout
    gated = pcielab("compare", *both, "--fail-above", "1%")
    assert gated.exit_code == 1
    assert "device_to_host_memcpy_ce, direction d2h, pair CPU 0 <- GPU 0: missing in B" in gated.stderr


def test_calibrate_prints_what_a_tool_s_rows_determine(tmp_path: Path) -> None:
    path = tmp_path / "tool.db"
    succeed("import", "perftest", SAMPLES / "perftest/write-bw-all-sizes.txt", "--link", "gen4x16", "-o", path)
    rows = {row["number"]: row for row in json.loads(succeed("calibrate", path, "--format", "json").stdout)}
    call, peak = rows["write.call_ns"], rows["write.peak"]
    assert call["identified"]
    assert call["low"] < call["value"] < call["high"]
    # The largest messages move at the rate beyond the cost of each.
    assert peak["value"] == pytest.approx(196.05 / 8, rel=0.02)
    assert "-o" in refuse("calibrate", path, "-o", tmp_path / "twin.toml")


def test_rows_are_read_without_data_frames(tmp_path: Path) -> None:
    rows_of(SAMPLES / "nvbandwidth" / "0.5-one-gpu.txt", tmp_path)
    script = (
        "import sys; from pcielab import open_store; from pcielab.kinds.tools.rows import measured_rows; "
        "print(len(measured_rows(open_store(sys.argv[1]))), *({'pandas', 'numpy'} & sys.modules.keys()))"
    )
    words = [sys.executable, "-c", script, str(tmp_path / "run.db")]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.split() == ["5"]


@pytest.mark.parametrize(
    ("sample", "link", "binds", "helps"),
    [
        (
            "nvbandwidth/0.5-one-gpu.json",
            "gen5x16",
            "binds the only rate",
            "by link.mps_bytes 256 -> 512",
        ),
        ("nvbandwidth/0.5-one-gpu.json", "gen4x16", "binds the only rate", "check --link, --mps, --mrrs"),
        (
            "perftest/24.07-write-bw.json",
            "gen5x16",
            "binds the only rate",
            "This is what a line of 400 Gb/s with RoCE v2, MTU 4096 B carries",
        ),
        ("fio/3.33-randread.json", "gen4x4", "binds the only rate", "keep more requests in flight (--iodepth"),
    ],
)
def test_why_of_an_import_with_a_link_says_what_would_help(
    sample: str, link: str, binds: str, helps: str, tmp_path: Path
) -> None:
    given = ("--link", link, "--mps", "256", "--mrrs", "512", "-o", tmp_path / "run.db")
    succeed("import", sample.partition("/")[0], SAMPLES / sample, *given)
    answer = json.loads(succeed("why", tmp_path / "run.db", "--format", "json").stdout)
    assert binds in answer["sentences"][0]
    assert helps in answer["sentences"][-1]
    assert all(change["of"] == "link" for change in answer["changes"])
