"""`pcielab model` and `pcielab explain` as scripts use them: rows, or an error and nothing on stdout."""

import csv
import json
from pathlib import Path

import pytest

from pcielab.library import shipped
from shell import pcielab, refuse, succeed

PAPER_LINK = ["--gen", "3", "--lanes", "8", "--mps", "256", "--mrrs", "512"]
NICS = ["simple-nic", "niantic-kernel", "niantic-dpdk"]


def rows(*arguments: str) -> list[dict[str, str]]:
    return list(csv.DictReader(succeed(*arguments, "--format", "csv").stdout.splitlines()))


def printed(row: dict[str, str], *columns: str) -> list[str]:
    return [f"{float(row[column]):.2f}" for column in columns]


def test_published_bandwidths() -> None:
    found = rows("model", "bandwidth", *PAPER_LINK, "--accounting", "sigcomm18", "--sizes", "60,508,1496")
    columns = ("write_gbps", "read_gbps", "tlp_gbps")
    assert [printed(row, *columns) for row in found] == [
        ["41.35", "43.41", "57.88"],
        ["52.89", "53.66", "57.88"],
        ["52.80", "53.59", "57.88"],
    ]
    assert found[0]["write_bound"] == "wire-upstream"


def test_published_nics() -> None:
    found = rows("model", "nic", *NICS, *PAPER_LINK, "--accounting", "sigcomm18", "--sizes", "64,512,1500")
    columns = ("bi_gbps", "tx_gbps", "rx_gbps", "line_gbps")
    assert [[row["nic"], row["size_bytes"], *printed(row, *columns)] for row in found] == [
        ["simple-nic", "64", "12.58", "20.67", "19.73", "28.57"],
        ["simple-nic", "512", "39.31", "46.24", "45.38", "38.48"],
        ["simple-nic", "1500", "46.06", "50.82", "50.00", "39.47"],
        ["niantic-kernel", "64", "17.63", "23.23", "27.16", "28.57"],
        ["niantic-kernel", "512", "43.96", "47.62", "49.02", "38.48"],
        ["niantic-kernel", "1500", "48.08", "51.38", "51.43", "39.47"],
        ["niantic-dpdk", "64", "20.65", "35.30", "28.01", "28.57"],
        ["niantic-dpdk", "512", "45.93", "51.92", "49.34", "38.48"],
        ["niantic-dpdk", "1500", "48.86", "52.98", "51.55", "39.47"],
    ]


def test_published_sizing() -> None:
    found = rows("model", "sizing", "--sizes", "128", "--latency-ns", "560,666,900,996")
    assert [row["packets_in_flight"] for row in found] == ["19", "23", "31", "34"]
    assert found[0]["packet_interval_ns"] == "29.6"


@pytest.mark.parametrize("link", [["--gen", "4", "--lanes", "8"], ["--gen", "6", "--lanes", "16", "--mps", "512"]])
def test_tags_that_fill_a_link_are_those_with_which_the_link_binds(link: list[str]) -> None:
    """`sizing`, `tags_to_fill` of `bandwidth` and the bound of the tags agree."""
    for row in rows("model", "sizing", *link, "--latency-ns", "900", "--sizes", "64,257,4K"):
        tags, size = int(row["tags_to_fill"]), row["size_bytes"]
        asked = ["model", "bandwidth", *link, "--rtt-ns", "900", "--sizes", size, "--tags"]
        [full], [short] = rows(*asked, str(tags)), rows(*asked, str(tags - 1))
        assert int(full["tags_to_fill"]) == tags
        assert (full["read_bound"], short["read_bound"]) == ("wire-downstream", "tags")
        assert float(full["read_gbps"]) == pytest.approx(float(row["read_gbps"]), rel=1e-12)


def test_sizing_of_a_link_gives_completion_space_and_cycles() -> None:
    asked = ["model", "sizing", "--gen", "3", "--lanes", "8", "--latency-ns", "900", "--sizes", "512"]
    [row] = rows(*asked, "--clock-ghz", "0.25")
    # A read of 512 B is one request, reserves eight headers at RCB 64, and its completions take 552 B on the link.
    assert float(row["completion_headers"]) / float(row["tags_to_fill"]) == pytest.approx(8, rel=0.1)
    assert float(row["cycles_per_request"]) == pytest.approx(512 * 8 / float(row["read_gbps"]) * 0.25)
    [cut] = rows(*asked, "--completions", "64")
    assert float(cut["read_gbps"]) < float(row["read_gbps"])


def test_explain_names_the_binding_bound_and_the_slack_of_others() -> None:
    limits = ["--tags", "4", "--rtt-ns", "1000"]
    done = pcielab("explain", *PAPER_LINK, *limits, "--sizes", "64", "--format", "json")
    reads = [row for row in json.loads(done.stdout) if row["operation"] == "read"]
    assert reads[0]["bound"] == "tags"
    assert reads[0]["binds"] is True
    assert reads[0]["gbps"] == pytest.approx(4 * 64 * 8 / 1000)
    assert [row["bound"] for row in reads[1:]] == ["wire-downstream", "wire-upstream"]
    assert all(row["slack_percent"] > 0 and not row["binds"] for row in reads[1:])


def test_a_table_leaves_out_bounds_that_take_no_part() -> None:
    """A write sends no data downstream, so that its bound there allows a hundred times the rate."""
    asked = ("explain", *PAPER_LINK, "--sizes", "64")
    writes = [row["bound"] for row in rows(*asked) if row["operation"] == "write"]
    assert writes == ["wire-upstream", "wire-downstream"]
    shown = [line for line in succeed(*asked).stdout.splitlines() if "│ write" in line]
    assert [line.count("wire-") for line in shown] == [1]
    assert "wire-upstream" in shown[0]


def test_a_table_in_a_pipe_is_not_cut() -> None:
    table = pcielab("model", "bandwidth", *PAPER_LINK).stdout
    assert "wire-downstream" in table
    assert "…" not in table
    assert "modelled (spec): Gen3 x8" in table


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bandwidth", "--gen", "8"], "--gen is 8: give 1 to 7"),
        (["bandwidth", "--gen", "-1"], "--gen: '-1' is not a generation: give 1 to 7"),
        (["bandwidth", "--lanes", "6"], "--lanes is 6: give"),
        (["bandwidth", "--mps", "300"], "--mps is 300: give 128, 256"),
        (["bandwidth", "--mrrs", "64"], "--mrrs is 64: give"),
        (["bandwidth", "--rcb", "32"], "--rcb is 32: give 64 or 128"),
        (["bandwidth", "--addr", "48"], "--addr is 48: give 32 or 64"),
        (["bandwidth", "--gen", "6", "--no-flit"], "--flit/--no-flit is false: generation 6 has flits only"),
        (["bandwidth", "--flit", "--accounting", "sigcomm18"], "use the accounting spec"),
        (["bandwidth", "--sizes", "0"], "--sizes: '0' is not a size"),
        (["bandwidth", "--sizes", "2G"], "--sizes is 2147483648: give 1 byte to 1 GiB"),
        (["bandwidth", "--offset", "4096"], "--offset is 4096: give 0 to 4095"),
        (["bandwidth", "--tags", "32"], "--tags: needs --rtt-ns beside it"),
        (["bandwidth", "--tags", "32"], "most servers take 500 idle to 1000 under load"),
        (["bandwidth", "--sizes", "64-1500"], "a range has a colon: give 64:1500"),
        (["bandwidth", "--rtt", "600"], "Did you mean --rtt-ns"),
        (["bandwidth", "--rtt-ns", "nan"], "--rtt-ns: 'nan' is not a time: give 1e-9 to 1e18 ns"),
        (["nic", "foo"], "no NIC is named 'foo': known: connectx-5, connectx-6-dx, connectx-6-kernel"),
        (["nic", "connectx-5+mpqr"], "connectx-5: has no feature mpqr: did you mean mprq?"),
        (["nic", "simple-nic+mprq"], "simple-nic: has no feature mprq: leave it out: this NIC has no features"),
        (["engine", "gpu", "--sizes", "5K"], "--sizes is 5120: give 60 to 4096 bytes, or a multiple of 4096"),
        (["engine", "gpu", "--depth", "0"], "depth is 0: give 1 to 1024"),
        (["engine", "gpu", "--gen", "9"], "--gen is 9: give 1 to 7"),
        (["engine", "gpux"], "no engine is named 'gpux': did you mean gpu?"),
        (["nic", "absent.toml"], "absent.toml: NIC not found"),
        (["nic", "simple-nic", "--sizes", "63"], "--sizes is 63: give an Ethernet frame"),
        (["nic", "simple-nic", "--line", "3"], "--line is 3: give 1, 2.5"),
        (["sizing", "--latency-ns", "soon"], "--latency-ns: 'soon' is not a time: give a number from 0 in ns"),
        (["sizing", "--latency-ns", "0"], "--latency-ns is 0: give"),
        (["sizing", "--latency-ns", "900", "--gen", "4"], "--gen: needs both --gen and --lanes"),
        (["sizing", "--latency-ns", "900", "--mps", "512"], "--mps: needs both --gen and --lanes"),
        (
            ["sizing", "--latency-ns", "900", "--gen", "4", "--lanes", "8", "--line", "40"],
            "--line cannot be combined with --gen: give a line, or a link",
        ),
        (["sizing", "--latency-ns", "900", "--gen", "9", "--lanes", "8"], "--gen is 9: give 1 to 7"),
        (
            ["sizing", "--latency-ns", "900", "--gen", "4", "--lanes", "8", "--sizes", "2G"],
            "--sizes is 2147483648",
        ),
        (["pio", "--messages", "65537"], "--messages is 65537"),
        (["pio", "--flushes", "99"], "--flushes is 99"),
        (["pio", "--buffers", "0"], "--buffers: '0' is out of range: give 1 to 4096"),
        (["pio", "--gen", "9"], "--gen is 9"),
        (["pio", "--profile", "kpio"], "did you mean kpio-2012"),
        (["pio", "--show", "loopback"], "exanic-2018"),
        (["host", "--load", "6:0"], "--load: '6:0' is not a count: give 0 to 4096, as in 3, 0,3,6 or 0:6"),
        (["host", "--load", "2", "--profile", "snb"], "--load: snb says nothing about busy cores"),
        (["host", "--offered", "0"], "--offered is 0.0: give above 0, at most 1000000 Gb/s"),
        (["host", "--offered", "1e19"], "--offered is 1e+19: give above 0, at most 1000000 Gb/s"),
        (["host", "--misses", "0"], "--misses is 0: give above 0"),
        (["host", "--devices", "gen4"], "--devices: 'gen4' is not a link: give generation and lanes"),
        (["host", "--kind", "write"], "--kind 'write': give read or read-write"),
        (["bandwidth", *PAPER_LINK, "--completions", "512"], "--completions is 512"),
        (["bandwidth", *PAPER_LINK, "--rcb", "512"], "--rcb is 512"),
    ],
)
def test_bad_input_is_refused_with_the_remedy(arguments: list[str], message: str) -> None:
    assert message in refuse("model", *arguments)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("batch = 40", "batch_size = 40", "unknown key step.1.batch_size: did you mean batch?"),
        ("batch = 40", "batch = 0", "step.1.batch is 0"),
        ("batch = 40", "batch = 40\nevery_packets = 2", "give every_packets or batch, not both"),
        ("bytes = 4", 'bytes = "pkt"', "step.0.bytes is 'pkt': give 1 to 1048576 or \"packet\""),
        ('actor = "host"', 'actor = "device"', "actor does not fit kind"),
        ('name = "niantic-kernel"', "", "missing key name"),
        ('name = "niantic-kernel"', "name = [", "not valid TOML"),
    ],
)
def test_a_wrong_nic_file_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = (shipped.directory("profiles") / "nics" / "niantic-kernel.toml").read_text()
    assert old in text
    path = tmp_path / "wrong.toml"
    path.write_text(text.replace(old, new, 1))
    refused = refuse("model", "nic", path)
    assert f"{path}: " in refused
    assert message in refused


def test_pio_gives_the_papers_numbers() -> None:
    done = pcielab("model", "pio", "--profile", "kpio-2012", "--messages", "64", "--format", "json")
    ways = {row["way"]: row for row in json.loads(done.stdout)}
    assert ways["uncached"]["wire_efficiency_percent"] == pytest.approx(25)
    assert ways["write-combined"]["wire_efficiency_percent"] == pytest.approx(72.7, abs=0.05)
    assert ways["write-combined"]["latency_ns"] == pytest.approx(232)
    assert ways["descriptors"]["latency_ns"] == pytest.approx(1736)
    assert ways["descriptors"]["control_percent"] == pytest.approx(42.7, abs=0.05)


def test_pio_names_the_core_that_answers_for_a_later_link() -> None:
    for show in ("messages", "steps", "crossings"):
        asked = ("model", "pio", "--profile", "kpio-2012", "--show", show, "--messages", "64")
        said = succeed(*asked, "--gen", "5", "--lanes", "16").stderr.splitlines()[0]
        assert "a 2012 desktop core" in said
        assert "no evidence about a Gen5 machine" in said
        assert "no evidence" not in succeed(*asked).stderr


def test_pio_shows_steps_and_crossings() -> None:
    steps = rows("model", "pio", "--profile", "kpio-2012", "--messages", "64", "--show", "steps")
    assert [float(row["at_ns"]) for row in steps] == pytest.approx([232, 0, 832, 1504, 1736])
    crossings = rows("model", "pio", "--profile", "kpio-2012", "--show", "crossings")
    assert 2048 < int(crossings[0]["from_bytes"]) < 4096


def test_details_show_flit_fill_and_the_cost_of_nops_in_flit_mode() -> None:
    [row] = rows("model", "bandwidth", "--gen", "6", "--sizes", "64", "--details")
    tlp_gbps, fill = float(row["tlp_gbps"]), float(row["read_upstream_flit_fill"])
    assert float(row["read_downstream_flit_fill"]) == pytest.approx(1)
    assert float(row["read_upstream_nop_gbps"]) == pytest.approx(tlp_gbps * (1 - fill), rel=1e-3)
    [without] = rows("model", "bandwidth", "--gen", "5", "--sizes", "64", "--details")
    assert not any("flit" in column or "nop" in column for column in without)


def test_details_show_what_dllps_in_whole_bytes_cost_a_link_without_flits() -> None:
    [row] = rows("model", "bandwidth", *PAPER_LINK, "--sizes", "64", "--details")
    # A completion of 84 B, and for its request of 24 B a share of the two DLLPs in 203 symbol times of 8 B.
    exact = 84 + 24 * 2 * 8 / (203 * 8)
    assert float(row["read_whole_dllps_share"]) == pytest.approx(1 - exact / 85, rel=1e-2)
    assert float(row["write_whole_dllps_share"]) == 0


def test_details_show_what_ide_costs() -> None:
    asked = ("model", "bandwidth", "--gen", "6", "--sizes", "256", "--details")
    for tlps, ide_bytes in [(1, 16), (8, 5.5)]:
        [row] = rows(*asked, "--ide", str(tlps))
        assert float(row["write_ide_share"]) == pytest.approx(ide_bytes / (272 + ide_bytes), rel=1e-3)
    [without] = rows(*asked)
    assert not any("ide_share" in column for column in without)
    assert "--ide is 9: give 1 to 8" in refuse("model", "bandwidth", "--ide", "9")


def test_details_show_the_tlps_and_the_efficiency_of_a_transfer() -> None:
    [row] = rows("model", "bandwidth", *PAPER_LINK, "--sizes", "1024", "--details")
    assert (float(row["read_upstream_tlps"]), float(row["read_downstream_tlps"])) == (2, 4)
    assert float(row["write_millions_per_s"]) * 1024 * 8 / 1000 == pytest.approx(float(row["write_gbps"]))
    assert float(row["write_efficiency"]) == pytest.approx(1024 / 1120)
    [packets] = rows("model", "nic", "niantic-dpdk", *PAPER_LINK, "--sizes", "1500", "--details")
    assert float(packets["line_millions_per_s"]) == pytest.approx(40e3 / 8 / 1520)
    assert float(packets["bi_millions_per_s"]) > float(packets["line_millions_per_s"])


def test_small_completions_slow_reads_and_the_paper_ignores_the_boundary() -> None:
    link = ["model", "bandwidth", *PAPER_LINK, "--sizes", "1024"]
    whole, small = rows(*link), rows(*link, "--completions", "64")
    assert float(small[0]["read_gbps"]) < float(whole[0]["read_gbps"])
    assert small[0]["write_gbps"] == whole[0]["write_gbps"]
    paper = rows(*link, "--accounting", "sigcomm18")
    assert rows(*link, "--accounting", "sigcomm18", "--rcb", "512") == paper


def test_a_loaded_host_marks_cores_that_nobody_measured_and_takes_an_offered_rate() -> None:
    asked = ("model", "host", "--profile", "clx-6234", "--offered", "40", "--format", "json")
    done = succeed(*asked, "--load", "6,7,100")
    rows = json.loads(done.stdout)
    assert [row["extrapolated"] for row in rows] == [False, True, True]
    assert "fitted to measurements of 0 to 6 cores" in done.stderr
    assert (rows[0]["write_gbps"], rows[0]["write_bound"]) == (40, "offered")
    behind = [line for line in done.stderr.splitlines() if line.startswith("borrowed keys behind")]
    assert behind == ["borrowed keys behind memory: none"], "an offered rate is made of no key"
    assert "extrapolated:" not in succeed(*asked, "--load", "0:6").stderr


def test_a_loaded_host_answers_for_each_number_of_cores_and_device() -> None:
    asked = ("--load", "0,6", "--devices", "gen3x16,2x gen3x4", "--format", "json")
    rows = json.loads(succeed("model", "host", *asked).stdout)
    assert [(row["cores"], row["device"]) for row in rows] == [(n, d) for n in (0, 6) for d in range(3)]
    assert {row["write_bound"] for row in rows if row["cores"] == 6} == {"memory"}
    written = sum(row["write_gbps"] for row in rows if row["cores"] == 6)
    assert rows[-1]["write_traffic_gbytes_per_s"] == pytest.approx(1.097 * written / 8)


@pytest.mark.parametrize(
    ("words", "profile"),
    [(("model", "host"), "clx-6234"), (("trace", "record", "--transactions", "9", "-o", "-"), "hsw2620")],
)
def test_a_default_system_is_named_first(words: tuple[str, ...], profile: str) -> None:
    done = succeed(*words)
    assert done.stderr.splitlines()[0] == f"assumed: --profile {profile}"
    given = succeed(*words, "--profile", profile)
    assert "assumed: --profile" not in given.stderr
    assert given.stdout == done.stdout
