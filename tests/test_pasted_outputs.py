"""Pasted outputs of tools: each form with all its values, whatever is around it, and refusals by name."""

import json
import os
import random
import re
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from pcielab import InputError, open_store
from pcielab.formats.importers.tools.output import READ, read_output
from pcielab.formats.importers.tools.writing import Measured, Measurement
from pcielab.kinds.tools.rows import MeasuredSetting, measured_rows
from shell import refuse, succeed

SAMPLES = Path(__file__).parent / "tool_outputs"
PASTED = sorted(path for tool in (*READ, "pasted") for path in (SAMPLES / tool).iterdir())
OTHERS = Path(os.environ.get("PCIELAB_DATA", "")).parent / "tool-outputs"
"""Outputs of tools that other people published."""
GB, GIB, MIB = Decimal(8), Decimal(8 << 30) / 10**9, Decimal(8 << 20) / 10**9
"""Gb/s of a GB/s, GiB/s and MiB/s."""


def of_sample(name: str) -> list[Measurement]:
    """The tests of a sample."""
    return of_text((SAMPLES / name).read_text(encoding="utf-8"), name)


def of_text(text: str, name: str = "mine.txt") -> list[Measurement]:
    """The tests of a text."""
    return [test for one in read_output(text, Path(name)) for test in one.tests]


def settings(name: str, **keys: str) -> list[tuple[object, ...]]:
    """The named keys of each test's setting."""
    return [tuple(getattr(test.setting, key) for key in keys.values()) for test in of_sample(name)]


def rates(name: str, unit: Decimal, metric: str = "bandwidth") -> list[Decimal]:
    """The numbers of a sample in the unit in which the tool prints them."""
    return [Decimal(test.metrics[metric]) / unit for test in of_sample(name) if metric in test.metrics]


@pytest.mark.parametrize(
    ("name", "unit", "values"),
    [
        ("bandwidthTest/10.2-quick.txt", GB, "6.3 6.6 239.4"),
        ("bandwidthTest/10.2-csv.txt", GB, "12.4 13.1 716.0"),
        ("bandwidthTest/9.1-range-pageable.txt", GB / 1000, "412.5 5218.9 6144.3"),
        ("rocm-bandwidth-test/2.6-both-ways.txt", GB, "27.312 27.914 921.405 42.118 42.118"),
        ("rocm-bandwidth-test/2.6-sizes.txt", GB, "0.200 24.966 27.322"),
        ("nccl-tests/2.0-all-gather.txt", GB, "10.66 5.33 10.71 5.36"),
        (
            "nccl-tests/2.13-all-reduce.txt",
            GB,
            "9.10 13.66 9.13 13.69 9.40 14.11 9.42 14.13 9.58 14.37 9.59 14.39",
        ),
        (
            "mlc/3.11-all.txt",
            GB / 1000,
            "312456.7 284311.2 280017.5 265890.3 271544.8 156201.4 66120.9 66098.2 156310.6 "
            "311987.4 140233.1 2811.9",
        ),
        ("perftest/fetch-and-add-bw.txt", MIB, "21.37"),
        ("perftest/write-bw-two-ports.txt", Decimal(1), "187.62 94.11 93.51"),
        ("fio/3.35-grouped.txt", MIB, "6638"),
        ("fio/terse-3.txt", MIB / 1024, "104857"),
        ("fio/terse-4.txt", MIB / 1024, "104857"),
        ("fio/terse-5.txt", MIB / 1024, "104857"),
        ("pasted/excerpt-two-tests.txt", GB, "24.61 24.58 21.07 21.11"),
    ],
)
def test_rates_are_as_printed(name: str, unit: Decimal, values: str) -> None:
    assert rates(name, unit) == [Decimal(value) for value in values.split()]


@pytest.mark.parametrize(
    ("name", "unit", "values"),
    [
        ("rocm-bandwidth-test/2.6-sizes.txt", 1000, "5.120 42.000 19650.000"),
        ("nccl-tests/2.0-all-gather.txt", 1000, "98.41 97.90"),
        ("mlc/3.11-all.txt", 1, "83.4 141.7 142.0 83.1 311.22 121.05 84.31 61.2 62.0 132.4 133.1"),
        ("fio/3.35-grouped.txt", 1000, "1198.44"),
        ("fio/terse-3.txt", 1000, "83.420000"),
    ],
)
def test_average_times_are_as_printed(name: str, unit: int, values: str) -> None:
    assert rates(name, Decimal(unit), "average") == [Decimal(value) for value in values.split()]


def test_bandwidth_test_has_direction_size_and_memory() -> None:
    quick = settings("bandwidthTest/10.2-quick.txt", a="direction", b="size_bytes", c="state", d="device")
    assert quick == [(way, 32_000_000, None, "Tesla T4") for way in ("h2d", "d2h", "local")]
    ranged = settings("bandwidthTest/9.1-range-pageable.txt", a="direction", b="size_bytes", c="state")
    assert ranged == [("h2d", size, "pageable") for size in (1024, 1 << 20, 16 << 20)]


def test_p2p_test_has_pairs_and_knows_which_go_through_the_host() -> None:
    tests = of_sample("p2pBandwidthLatencyTest/three-gpus.txt")
    assert len(tests) == 4 * 9 + 4 * 9
    cells = {(test.name, test.setting.pair, test.setting.part): test for test in tests}
    name = "Unidirectional P2P=Enabled Bandwidth (P2P Writes)"
    over, beside = cells[name, "GPU 0 -> GPU 1", None], cells[name, "GPU 2 -> GPU 0", None]
    assert (over.metrics, over.setting.state) == ({"bandwidth": GB * Decimal("26.34")}, None)
    assert (beside.metrics, beside.setting.state) == ({"bandwidth": GB * Decimal("11.26")}, "through-host")
    assert cells[name, "GPU 1 -> GPU 1", None].setting.direction == "local"
    off = cells["Unidirectional P2P=Disabled Bandwidth", "GPU 1 -> GPU 0", None]
    assert (off.metrics["bandwidth"], off.setting.state) == (GB * Decimal("10.52"), "through-host")
    both = cells["Bidirectional P2P=Enabled Bandwidth", "GPU 1 <-> GPU 0", None].setting
    assert (both.direction, both.beside, both.counted, both.state) == ("p2p", "opposite", "both", None)
    latency = "P2P=Enabled Latency (P2P Writes)"
    assert cells[latency, "GPU 0 -> GPU 1", "GPU"].metrics == {"average": 1210}
    assert cells[latency, "GPU 0 -> GPU 1", "CPU"].metrics == {"average": 1910}


def test_a_topology_matrix_beside_names_the_paths_between_gpus() -> None:
    matrix = (
        "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\t X \tNV4\tSYS\t0-7\nGPU1\tNV4\t X \tSYS\t0-7\n"
        "GPU2\tSYS\tSYS\t X \t8-15\n"
    )
    path = SAMPLES / "p2pBandwidthLatencyTest/three-gpus.txt"
    tests = of_text(matrix + path.read_text(encoding="utf-8"), "p2pBandwidthLatencyTest/three-gpus.txt")
    paths = {test.setting.pair: test.setting.path for test in tests}
    assert paths["GPU 0 -> GPU 1"] == "NV4"
    assert paths["GPU 2 -> GPU 1"] == "SYS"
    assert paths["GPU 2 -> GPU 2"] is None


def test_rocm_devices_are_hosts_or_gpus_and_rows_are_sources() -> None:
    found = settings("rocm-bandwidth-test/2.6-both-ways.txt", a="direction", b="pair", c="counted")
    assert found == [
        ("h2d", "CPU 0 -> GPU 1", "one"),
        ("d2h", "GPU 1 -> CPU 0", "one"),
        ("local", "GPU 1 -> GPU 1", "one"),
        ("h2d", "CPU 0 <-> GPU 1", "both"),
        ("d2h", "GPU 1 <-> CPU 0", "both"),
    ]
    sizes = settings("rocm-bandwidth-test/2.6-sizes.txt", a="direction", b="size_bytes")
    assert sizes == [("h2d", size) for size in (1 << 10, 1 << 20, 512 << 20)]


def test_nccl_rates_are_of_the_algorithm_and_of_the_bus() -> None:
    tests = of_sample("nccl-tests/2.13-all-reduce.txt")
    assert {test.name for test in tests} == {"all_reduce_perf float sum"}
    places = ("out of place", "in place")
    parts = [f"{part}, {where}" for where in places for part in ("algorithm", "bus")]
    assert [test.setting.part for test in tests] == parts * 3
    assert {test.setting.counted for test in tests} == {"total"}
    assert [test.setting.size_bytes for test in tests[::4]] == [8 << 20, 16 << 20, 32 << 20]


def test_mlc_has_nodes_traffic_and_delays() -> None:
    tests = of_sample("mlc/3.11-all.txt")
    parts = [test.setting.part for test in tests]
    assert parts[4:9] == ["ALL Reads", *(f"{mix}:1 Reads-Writes" for mix in (3, 2, 1)), "Stream-triad like"]
    assert parts[13:16] == [f"delay {delay}, Read-only" for delay in ("00000", "00200", "20000")]
    pairs = [test.setting.pair for test in tests if test.setting.pair]
    square = [f"node {source} -> node {target}" for source in (0, 1) for target in (0, 1)]
    assert pairs == [*square, *square, "node 0 -> node 1", "node 1 -> node 0"]


def test_perftest_atomics_and_ports() -> None:
    [atomic] = of_sample("perftest/fetch-and-add-bw.txt")
    assert (atomic.name, atomic.setting.direction, atomic.setting.depth) == ("ib_atomic_bw", "atomic", 256)
    assert atomic.metrics["rate"] == Decimal("2801009")
    ports = settings("perftest/write-bw-two-ports.txt", a="part", b="beside", c="counted")
    assert ports == [("both ports", None, "one"), ("port 1", "others", "one"), ("port 2", "others", "one")]


def test_a_table_of_perftest_without_a_title_takes_the_command_or_stays_unknown() -> None:
    text = (SAMPLES / "perftest/write-bw.txt").read_text(encoding="utf-8")
    table = text[text.index(" #bytes") :]
    [unknown] = of_text(table, "perftest/write-bw.txt")
    assert (unknown.name, unknown.setting.direction) == ("perftest", None)
    [known] = of_text(f"$ ib_write_bw -d mlx5_0 host\n{table}", "perftest/write-bw.txt")
    assert (known.name, known.setting.direction) == ("ib_write_bw", "write")


def test_fio_groups_without_a_value_have_the_depth_of_all_jobs() -> None:
    [grouped] = of_sample("fio/3.33-grouped-without-a-value.json")
    assert (grouped.setting.queues, grouped.setting.outstanding, grouped.setting.depth) == (8, 1, 8)
    assert grouped.setting.beside is None
    [normal] = of_sample("fio/3.35-grouped.txt")
    assert (normal.setting.queues, normal.setting.depth, normal.setting.size_bytes) == (4, 64, 128 << 10)
    assert (normal.metrics["rate"], normal.metrics["p99"]) == (53100, 1_762_000)


def test_fio_in_two_forms_is_one_run() -> None:
    terse = (SAMPLES / "fio/terse-3.txt").read_text(encoding="utf-8")
    again = terse.replace("qd1", "other")
    assert [test.name for test in of_text(terse + again, "fio/terse-3.txt")] == ["qd1", "other"]
    content = json.loads((SAMPLES / "fio/3.33-randread.json").read_text(encoding="utf-8"))
    head = "randread: (groupid=0, jobs=4): err= 0: pid=1: Thu Jun  6 16:02:40 2024\n"
    rate = "  read: IOPS=1004k, BW=3922MiB/s (4113MB/s)(115GiB/30000msec)\n"
    text = json.dumps(content, indent=2) + "\n\n" + head + rate
    [once] = of_text(text, "fio/3.33-randread.json")
    assert once.metrics["rate"] == Decimal("1004115.2")
    other = text.replace("IOPS=1004k", "IOPS=904k")
    assert len(of_text(other, "fio/3.33-randread.json")) == 2


def test_older_forms_have_the_same_numbers() -> None:
    """Numbers of any decimals in a table of sizes, the matrix of MLC before 3.9, and several devices."""
    sizes = (SAMPLES / "rocm-bandwidth-test/2.6-sizes.txt").read_text(encoding="utf-8")
    older = sizes.replace("42.000         24.966         41.500", "42             24.9660        41.5")
    assert [test.metrics for test in of_text(older)] == [test.metrics for test in of_text(sizes)]
    nodes = "\tMemory node\n Socket\t 0\t 1\n 0\t 70.1\t 117.8\n 1\t 118.0\t 70.5\n"
    found = of_text(f"Intel(R) Memory Latency Checker - v3.5\nMeasuring idle latencies (in ns)...\n{nodes}")
    assert [test.metrics["average"] for test in found] == [
        Decimal(time) for time in ("70.1", "117.8", "118.0", "70.5")
    ]
    quick = (SAMPLES / "bandwidthTest/10.2-quick.txt").read_text(encoding="utf-8")
    many = "!!!!!Cumulative Bandwidth to be computed from all the devices !!!!!!\n\nRunning on..."
    [first, *_] = of_text(quick.replace("Running on...", many).replace("1 Device(s)", "2 Device(s)"))
    assert (first.setting.counted, first.setting.device) == ("total", "Tesla T4")


@pytest.mark.parametrize(
    ("rate", "time", "gigabytes", "noted"),
    [
        # 33,554,432 B in 2.627 ms are 12180.7 of 2^20 B/s.
        ("12180.7 MB/s", "0.00263", "12.7724", False),
        ("12180.7 MB/s", "0.00275", "12.1807", False),
        ("12180.7 MB/s", "0.003", "12.1807", True),
        ("12.4 GB/s", "0.00271", "12.4000", False),
    ],
)
def test_the_time_of_a_line_says_whether_its_megabytes_are_binary(
    tmp_path: Path, rate: str, time: str, gigabytes: str, noted: bool
) -> None:
    text = tmp_path / "old.txt"
    line = f"bandwidthTest-H2D-Pinned, Bandwidth = {rate}, Time = {time} s, Size = 33554432 bytes, NumDevsUsed = 1"
    text.write_text(f"{line}\nResult = PASS\n", encoding="utf-8")
    [test] = of_text(text.read_text(encoding="utf-8"))
    assert f"{test.metrics['bandwidth'] / 8:.4f}" == gigabytes
    done = succeed("import", "output", text, "-o", tmp_path / "run.db")
    assert ("MB/s are taken as 10^6 B/s" in done.stderr) is noted


def test_a_table_in_megabytes_says_what_was_assumed(tmp_path: Path) -> None:
    done = succeed("import", "output", SAMPLES / "bandwidthTest/9.1-range-pageable.txt", "-o", tmp_path / "run.db")
    assert "MB/s are taken as 10^6 B/s: a version that divided by 2^20 moved 4.9 % more" in done.stderr


def test_the_sum_of_an_excerpt_names_its_test() -> None:
    table = "memcpy SM CPU(row) <- GPU(column) bandwidth (GB/s)\n 0 1\n 0 11.10 11.20\n"
    assert {test.name for test in of_text(table)} == {"memcpy SM CPU(row) <- GPU(column) bandwidth"}
    found = of_text(f"{table}\nSUM all_to_host_memcpy_sm 22.30\n")
    assert [(test.name, test.setting.beside) for test in found] == [("all_to_host_memcpy_sm", "others")] * 3
    [plain, _] = of_text(table)
    assert (plain.setting.direction, plain.setting.engine) == ("d2h", "kernel")


def test_a_file_of_several_tools_is_one_store(tmp_path: Path) -> None:
    paste = SAMPLES / "pasted/several-tools.txt"
    done = succeed("import", "output", paste, "-o", tmp_path / "run.db")
    assert "not read: lspci, whose links --doctor FILE takes (line 4)" in done.stderr
    store = open_store(tmp_path / "run.db")
    rows = [row for row in measured_rows(store) if row.statistic == "average"]
    assert [(row.tool, row.name, row.device) for row in rows if row.quantity != "latency"] == [
        ("nvbandwidth", "host_to_device_memcpy_ce", "NVIDIA RTX A5000"),
        ("nvbandwidth", "device_to_host_memcpy_ce", "NVIDIA RTX A5000"),
        ("fio", "qd1", None),
        ("fio", "qd1", None),
    ]
    assert {row.size_bytes for row in rows if row.tool == "nvbandwidth"} == {256 << 20}
    assert store.manifest["source"]["format"] == "nvbandwidth, perftest, fio"
    only = succeed("import", "perftest", paste, "-o", tmp_path / "nic.db")
    assert "not read: the output of fio; pcielab import output reads every tool" in only.stderr
    assert len(open_store(tmp_path / "nic.db").tests) == 1
    linked = succeed("import", "output", paste, "--doctor", paste, "-o", tmp_path / "linked.db")
    assert "4 tests" in linked.stderr
    assert open_store(tmp_path / "linked.db").manifest["device"]["link"]["rate_gtps"] == 16


def test_a_normal_verdict_needs_a_link_only(tmp_path: Path) -> None:
    """Rows of every copier are asked: what, engine, size, state and device are those of the text."""
    for name, expected in (
        ("bandwidthTest/10.2-quick.txt", {("h2d", "copy", 32_000_000, ""), ("d2h", "copy", 32_000_000, "")}),
        ("bandwidthTest/9.1-range-pageable.txt", {("h2d", "copy", 16 << 20, "pageable")}),
        ("rocm-bandwidth-test/2.6-both-ways.txt", {("h2d", "copy", None, ""), ("both", "copy", None, "")}),
        (
            "p2pBandwidthLatencyTest/three-gpus.txt",
            {("p2p", "copy", None, ""), ("p2p", "copy", None, "through-host")},
        ),
        ("perftest/write-bw-two-ports.txt", {("h2d", "dma", 65536, ""), ("h2d", "dma", 65536, "others-busy")}),
    ):
        from pcielab.analysis.normal.rows import judge_run

        run = tmp_path / "run.db"
        succeed("import", "output", SAMPLES / name, "--link", "gen4x16", "-o", run, "--overwrite")
        asked = [answer.question for answer in judge_run(open_store(run))]
        assert {(one.what, one.engine, one.size_bytes, one.state) for one in asked} >= expected, name


MANGLED: dict[str, Callable[[str], str]] = {
    "quoted": lambda text: "".join(f"> {line}" for line in text.splitlines(keepends=True)),
    "quoted twice": lambda text: "".join(f">> {line}" for line in text.splitlines(keepends=True)),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "coloured": lambda text: "".join(f"\x1b[1;32m{line}\x1b[0m\n" for line in text.splitlines()),
    "stamped": lambda text: "".join(f"2024-06-06T16:02:40.123Z {line}\n" for line in text.splitlines()),
    "stamped by a clock": lambda text: "".join(f"[16:02:40] {line}\n" for line in text.splitlines()),
    "tagged by mpirun": lambda text: "".join(f"[1,0]<stdout>:{line}\n" for line in text.splitlines()),
    "added lines of a difference": lambda text: "".join(f"+{line}\n" for line in text.splitlines()),
    "fenced": lambda text: f"Here it is:\n\n```text\n{text}```\nAny ideas?\n",
    "below a prompt": lambda text: f"user@host:~$ ./run.sh\n{text}user@host:~$ \n",
    "indented": lambda text: "".join(f"    {line}\n" for line in text.splitlines()),
    "escaped": lambda text: text.replace("->", "-&gt;").replace("<-", "&lt;-"),
    "among lines of blanks": lambda text: text.replace("\n", "\n\n"),
    "trailing blanks": lambda text: text.replace("\n", "  \t\n"),
    "twice escaped name": lambda text: text.replace("Running host_to_device", "Running host\\_to\\_device"),
    "with a mark of byte order": lambda text: f"\ufeff{text}",
    "without a last line's end": lambda text: text.rstrip("\n"),
    "beside lspci": lambda text: (
        f"01:00.0 VGA compatible controller: NVIDIA Corporation\n\tLnkSta: Speed 16GT/s\n\n{text}"
    ),
}
"""What mails, terminals and logs do to a text."""


@pytest.mark.parametrize("way", MANGLED)
def test_values_are_kept_whatever_is_around_them(way: str) -> None:
    for path in PASTED:
        text = path.read_text(encoding="utf-8")
        plain = read_output(text, path)
        mangled = read_output(MANGLED[way](text), path)
        assert [one.tests for one in mangled] == [one.tests for one in plain], path.name


def wrapped(text: str, width: int) -> str:
    """A text whose lines are broken between words at a width."""
    lines = []
    for line in text.splitlines():
        rest = line
        while len(rest) > width and (at := rest.rfind(" ", len(rest) - len(rest.lstrip()) + 1, width)) > 0:
            lines.append(rest[:at])
            rest = rest[at:]
        lines.append(rest)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("nvbandwidth/0.2-four-gpus.txt", 36),
        ("p2pBandwidthLatencyTest/three-gpus.txt", 22),
        ("nccl-tests/2.13-all-reduce.txt", 80),
        ("perftest/write-lat.txt", 88),
        ("perftest/write-bw-two-ports.txt", 88),
    ],
)
def test_wrapped_rows_have_the_same_values(name: str, width: int) -> None:
    text = (SAMPLES / name).read_text(encoding="utf-8")
    lines = text.splitlines()
    table = [at for at, line in enumerate(lines) if re.match(r"\s*#?\s*(?:\d+ |bytes|size)|\s+D.D", line)]
    broken = [wrapped(line, width).rstrip("\n") if at in table else line for at, line in enumerate(lines)]
    assert broken != lines
    assert of_text("\n".join(broken) + "\n", name) == of_sample(name)


def test_lost_digits_and_cells_are_refused_by_line() -> None:
    for name, old, new, words in (
        ("bandwidthTest/10.2-quick.txt", "6.6\n", "6.\n", "line 15: "),
        ("p2pBandwidthLatencyTest/three-gpus.txt", "10.52 672.19  11.31", "10.52 672.19", "line 23: "),
        (
            "p2pBandwidthLatencyTest/three-gpus.txt",
            "11.27  11.35 672.77",
            "11.27  11.35 672.7",
            "line 24: '672.7'",
        ),
        ("rocm-bandwidth-test/2.6-both-ways.txt", "27.312", "2z.312", "line 29: '2z.312'"),
        ("nccl-tests/2.0-all-gather.txt", "10.66", "1066", "line 4: "),
        ("nccl-tests/2.0-all-gather.txt", "  0e+00\n", "\n", "line 4: "),
        ("mlc/3.11-all.txt", "284311.2", "28431", "line 13: "),
        ("perftest/fetch-and-add-bw.txt", "21.37", "2137", "line 18: "),
        ("fio/terse-3.txt", ";100.0%", "", "120 of 121 fields"),
        ("fio/terse-3.txt", "104857;", "10x857;", "line 1: '10x857'"),
        ("fio/3.35-grouped.txt", "(6960MB/s)", "(6960", "line 7: "),
    ):
        text = (SAMPLES / name).read_text(encoding="utf-8")
        assert old in text
        with pytest.raises(InputError) as error:
            of_text(text.replace(old, new, 1), name)
        assert words in str(error.value), (name, old)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "fio: status interval too small\n",
            "seen: a message of fio, 'fio: status interval too small' (line 1): fio measured nothing: correct ",
        ),
        (
            "$ fio x.fio\nbash: fio: command not found\n",
            "seen: a shell's error message, 'bash: fio: command not found'",
        ),
        ("1b:00.0 VGA compatible controller: NVIDIA\n", "seen: lspci"),
        ("| NVIDIA-SMI 550.54 |\n", "seen: the table of nvidia-smi (line 1)"),
        ("[ ID] Interval\n[  5] 0.00-1.00 sec 1.1 GBytes\n", "seen: iperf (line 2)"),
        ("* Waiting for client to connect... *\n", "seen: a report of perftest that waits for its client"),
        ("qd1: (g=0): rw=read, bs=(R) 4KiB-4KiB, ioengine=libaio, iodepth=4\n", "the banner of a job without its"),
        ("hello\n", "seen: it begins with 'hello'"),
        ('{"a": 1}\n', "seen: JSON (line 1)"),
        ("2;qd1;0;0;1;2;3\n", "terse line of fio 3 in version 3, 4 or 5"),
    ],
)
def test_a_refusal_says_what_was_seen_and_what_is_read(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(text, encoding="utf-8")
    message = refuse("import", "output", tmp_path / "mine.txt", "-o", tmp_path / "run.db")
    assert f"{tmp_path / 'mine.txt'}, line 1" in message
    assert words in message
    assert "give " in message
    assert not (tmp_path / "run.db").exists()


def test_a_line_that_no_reader_takes_after_a_table_is_named() -> None:
    text = (SAMPLES / "perftest/write-bw.txt").read_text(encoding="utf-8")
    [found] = read_output(text + "Segmentation fault\n", Path("mine.txt"))
    assert found.notes == (
        f"line {text.count(chr(10)) + 1}, after the output of perftest, is not read: 'Segmentation fault'",
    )


@pytest.mark.parametrize(
    "unit",
    [
        "Running host_to_device_memcpy_ce.\n",
        "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n 0\n 0 1.00\n",
        " 65536      5000             1.00             1.00          0.000016\n",
        "a: (groupid=0, jobs=1): err= 0: pid=1: x\n  read: IOPS=1k, BW=1MiB/s (1MB/s)(1MiB/1msec)\n",
        "{",
        '{"fio version": ',
        "> ",
        "0 ",
        "a b(row) ",
        "#bytes #iterations\n",
        "=",
        "x\n",
        "0\n",
        "> 0\n",
        "GPU (row) 0\n",
        "Device 0: a\n",
        "qd1: (groupid=0, jobs=1): err= 0: pid=1: x\nx\n",
        "# nThread 1\n",
        "\x1b[",
        "Device: 0, a, ",
        "GPU0 X ",
    ],
)
def test_a_text_of_a_mebibyte_takes_seconds(unit: str) -> None:
    text = unit * ((1 << 20) // len(unit))
    started = time.process_time()
    try:
        read_output(text, Path("mine.txt"))
    except InputError as error:
        assert len(str(error)) < 4000  # noqa: PT017
    assert time.process_time() - started < 5 * slowness()


def slowness() -> float:
    """How much longer than on the machine of the limits a loop takes here, at least 1."""
    started = time.process_time()
    sum(range(10_000_000))
    return max(1.0, (time.process_time() - started) / 0.15)


@pytest.mark.skipif(
    not OTHERS.is_dir(), reason="PCIELAB_DATA does not name published measurements with tool-outputs above"
)
def test_published_outputs_are_read_or_refused_by_their_form() -> None:
    refused = {}
    for path in sorted(path for path in OTHERS.rglob("*") if path.is_file()):
        text = path.read_text(encoding="utf-8")
        try:
            found = read_output(text, path)
        except InputError as error:
            refused[path.name] = str(error)
            continue
        printed = {plain(Decimal(number)) for number in re.findall(r"\d+(?:\.\d+)?", text)}
        for test in (test for one in found for test in one.tests):
            for metric, value in test.metrics.items():
                assert as_printed(test.setting, value, metric) & printed, (path.name, test.name, metric, value)
    assert all("seen: " in message for message in refused.values())


def as_printed(setting: MeasuredSetting, value: Decimal | int, metric: str) -> set[str]:
    """A value in each unit in which its tool may print it."""
    rates = {
        "perftest": (MIB, Decimal(1)),
        "fio": (MIB, GIB, MIB / 1024, GB / 10**9),
        "mlc": (GB / 1000,),
        "bandwidthTest": (GB, GB / 1000),
    }
    units = rates.get(setting.tool, (GB,)) if metric.startswith("bandwidth") else (1, 1000, 10**6)
    return {plain(Decimal(value) / unit) for unit in units}


def plain(number: Decimal) -> str:
    """A number without zeros at its end, to the digits that all tools print exactly."""
    return f"{float(number):.12g}"


def test_mangled_pastes_keep_their_values_or_name_what_is_lost() -> None:
    """A few ways at once, before a text that is cut anywhere."""
    draw = random.Random(59)
    for _ in range(60):
        path = draw.choice([path for path in PASTED if path.suffix == ".txt"])
        text = path.read_text(encoding="utf-8")
        whole = values_of(read_output(text, path))
        for way in draw.sample(sorted(MANGLED), 2):
            text = MANGLED[way](text)
        cut = draw.randrange(len(text) // 2, len(text) + 1)
        try:
            found = read_output(text[:cut], path)
        except InputError as error:
            assert path.name in str(error)  # noqa: PT017
            continue
        assert values_of(found) <= whole
        if values_of(found) != whole:
            assert found[0].notes or found[-1].tool in ("mlc", "rocm-bandwidth-test")


def values_of(found: list[Measured]) -> set[tuple[str, str | None, str | None, str, Decimal | int]]:
    """Every number with what it is."""
    return {
        (test.name, test.setting.pair, test.setting.part, metric, value)
        for one in found
        for test in one.tests
        for metric, value in test.metrics.items()
    }


def test_normal_says_one_sentence_for_a_file_then_what_falls_out(tmp_path: Path) -> None:
    run, text = tmp_path / "run.db", (SAMPLES / "nvbandwidth/0.3-two-gpus.txt").read_text(encoding="utf-8")
    table = r"(bandwidth \(GB/s\)\n +0 +1\n *0) +[\d.]+ +[\d.]+\n\nSUM (\w+) [\d.]+"
    slow = re.sub(table, r"\1     18.00     12.00\n\nSUM \2 30.00", text, count=1)
    assert slow != text
    (tmp_path / "mine.txt").write_text(slow, encoding="utf-8")
    succeed("import", "output", tmp_path / "mine.txt", "-o", run)
    assert "not given: --link" in succeed("normal", run).stderr
    done = succeed("normal", run, "--link", "gen4x16")
    first, *rest = done.stdout.splitlines()
    tests = [test for test in open_store(run).test_rows() if test["status"] == "ok"]
    counts = r"(?:\d+ normal, )?2 low, \d+ not comparable \(.*of no single device's link\)"
    assert re.fullmatch(rf"{len(tests)} measured rows: {counts}\. .*", first)
    shown = "\n".join(rest)
    assert shown.index("GPU 1") < shown.index("GPU 0")  # the worst first
    assert "the other rows, counted" in shown
    rows = json.loads(succeed("normal", run, "--link", "gen4x16", "--format", "json").stdout)
    assert len(rows) == len(tests)
    assert [row["verdict"] for row in rows].count("low") == 2
    numbers = [int(row["row"].split()[0]) for row in rows]
    assert numbers == sorted(numbers)


def test_a_link_that_contradicts_the_store_is_refused(tmp_path: Path) -> None:
    run, linked = tmp_path / "run.db", ("--link", "gen3x16", "--mps", "256")
    succeed("import", "output", SAMPLES / "bandwidthTest/10.2-quick.txt", *linked, "-o", run)
    assert "--link gen4x16: row '0 Host to Device 32000000 B' says Gen3 x16" in refuse(
        "normal", run, "--link", "gen4x16"
    )
    assert "--mps 512: the store says 256" in refuse("normal", run, "--mps", "512")
    same = succeed("normal", run, *linked).stdout
    assert same == succeed("normal", run).stdout
