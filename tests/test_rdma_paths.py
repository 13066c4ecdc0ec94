"""Protocol, ports and memory of a NIC's path: what perftest prints of them, and what `why` and `normal` answer."""

from pathlib import Path

import pytest

import pcielab
from pcielab import InputError
from pcielab.analysis.why import why
from pcielab.formats import importers
from pcielab.formats.importers.tools.given import Given
from pcielab.kinds.line import Line, line_of_parameters
from pcielab.kinds.tools.rows import measured_rows
from pcielab.library.protocols import PROTOCOLS, read_protocol
from pcielab.store import Store, open_store
from shell import refuse, succeed

REPORT = """---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_2
 Number of qps   : 4            Transport type : IB
 Connection type : RC           Using SRQ      : OFF
 TX depth        : 128
 Mtu             : {mtu}[B]
 Link type       : {layer}
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 1048576    5000           {rate:.2f}         {rate:.2f}           {messages:.6f}
---------------------------------------------------------------------------------------
"""
GPU = """initializing CUDA
Picking device No. 0
cuMemAlloc() of a 2097152 bytes GPU buffer
allocated GPU buffer address at 00007f2b40000000 pointer=0x7f2b40000000
"""


def imported(folder: Path, rate: float, *, mtu: int = 1024, layer: str = "Ethernet", above: str = "") -> Store:
    """A store of a report with that rate, Gb/s, in messages of 1 MiB."""
    text = above + REPORT.format(mtu=mtu, layer=layer, rate=rate, messages=1e3 * rate / 8 / 1048576)
    (folder / "perftest.txt").write_text(text)
    importers.import_output(folder / "perftest.txt", folder / "run.db", given=Given(link="gen4x16"))
    return open_store(folder / "run.db")


@pytest.mark.parametrize(
    ("word", "mtu", "wire_bytes"),
    [("roce", 1024, 1106), ("roce-v1", 1024, 1118), ("infiniband", 4096, 4122), ("tcp", 9000, 9038)],
)
def test_headers_of_a_packet_are_those_of_the_standards(word: str, mtu: int, wire_bytes: int) -> None:
    protocol = PROTOCOLS[word]
    assert protocol.share(mtu) == pytest.approx(protocol.payload_bytes(mtu) / wire_bytes)
    assert protocol.share(mtu, 64 << 20) <= protocol.share(mtu)
    if protocol.is_rdma:
        assert protocol.share(mtu, 2) == pytest.approx(2 / (2 + protocol.packet_bytes + 16))


def test_wrong_protocols_and_mtus_are_refused() -> None:
    with pytest.raises(InputError, match="infiniband"):
        read_protocol("infinband")
    with pytest.raises(InputError, match="active MTU"):
        PROTOCOLS["roce"].check_mtu(1500, "--mtu")
    with pytest.raises(InputError, match="68 to 65535"):
        PROTOCOLS["tcp"].check_mtu(20, "--mtu")


def test_a_report_says_link_layer_mtu_and_memory(tmp_path: Path) -> None:
    row = measured_rows(imported(tmp_path, 92.1))[0]
    assert (row.link_layer, row.mtu_bytes, row.memory) == ("ethernet", 1024, None)
    (tmp_path / "gpu").mkdir()
    row = measured_rows(imported(tmp_path / "gpu", 92.1, layer="IB", mtu=4096, above=GPU))[0]
    assert (row.link_layer, row.mtu_bytes, row.memory) == ("infiniband", 4096, "gpu")


def test_both_ports_of_a_report_have_two_lines() -> None:
    both = line_of_parameters({"part": "both ports", "link_layer": "infiniband", "mtu_bytes": 4096})
    assert both.ports == 2
    assert line_of_parameters({"part": "port 1"}) == Line()
    rate = Line(line_gbps=100).beside(both).payload_gbps(None)
    assert rate == pytest.approx(2 * 100 * 4096 / 4122)


def test_a_full_line_of_roce_is_not_told_to_use_more_queue_pairs(tmp_path: Path) -> None:
    store = imported(tmp_path, 92.5)
    known = why(store, line_gbps=100)
    assert known.binds == "line"
    assert "A line of 100 Gb/s with RoCE v2, MTU 1024 B is full" in known.sentences[2]
    unknown = why(store)
    assert "give --line to be sure" in unknown.sentences[2]
    assert not known.changes
    assert not any("(-q)" in text for answer in (known, unknown) for text in answer.sentences)
    assert any("(-q)" in text for text in why(store, line_gbps=200).sentences)


def test_normal_compares_a_line_with_what_its_protocol_leaves(tmp_path: Path) -> None:
    [answer] = pcielab.normal(imported(tmp_path, 92.5), line_gbps=100)
    assert answer.bounds[0].name == "line"
    assert answer.ratio == pytest.approx(0.999, abs=1e-3)
    assert answer.verdict == "normal"
    (tmp_path / "two").mkdir()
    [two] = pcielab.normal(imported(tmp_path / "two", 180.0), line_gbps=100, ports=2)
    assert two.bounds[0].because.startswith("2 lines of 100 Gb/s")


def test_memory_of_a_gpu_is_not_taken_for_the_hosts(tmp_path: Path) -> None:
    [answer] = pcielab.normal(imported(tmp_path, 150, mtu=4096, above=GPU), line_gbps=400)
    assert answer.question.moved == "p2p"
    assert {one.question.moved for one in answer.figures} <= {"p2p"}
    given = pcielab.normal("read", "150Gb/s", link="gen4x16", engine="dma", device="ConnectX-7 400G", memory="gpu")
    assert {one.question.what for one in given.figures} == {"p2p"}
    [reason] = why(open_store(tmp_path / "run.db")).rows
    assert "GPU whose memory it uses" in str(reason["may_explain"])


@pytest.mark.parametrize(("layer", "mtu"), [("Ethernet", 1024), ("IB", 4096)])
def test_why_and_normal_have_the_same_bound(layer: str, mtu: int, tmp_path: Path) -> None:
    store = imported(tmp_path, 90, layer=layer, mtu=mtu)
    [row] = why(store).rows
    [answer] = pcielab.normal(store)
    assert answer.bounds[0].value == pytest.approx(float(str(row["limit_value"])) / 8, rel=1e-9)


def test_options_of_a_line_are_refused_where_they_say_nothing(tmp_path: Path) -> None:
    assert "RDMA does not have" in refuse("why", "--nic", "connectx-6-kernel", "--protocol", "roce")
    assert "--mtu: has no effect without RUN" in refuse("why", "--test", "bw-rd", "--mtu", "1024")
    words = ("normal", "--what", "write", "--value", "50Gb/s", "--link", "gen3x8")
    assert "--protocol" in refuse(*words, "--mtu", "1024")
    assert "give --line" in refuse(*words, "--protocol", "tcp")
    assert "--what p2p" in refuse(*words, "--memory", "gpu", "--engine", "copy")
    succeed("run", "--test", "bw-rd", "-o", tmp_path / "run.db")
    assert "of what perftest measured" in refuse("why", tmp_path / "run.db", "--line", "100")
