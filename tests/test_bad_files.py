"""Files with one wrong value: the error names it, and nothing is written."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from pcielab import InputError, fabric
from pcielab.doctor import read_lspci
from pcielab.doctor.skeleton import skeleton
from pcielab.formats.importers import import_pcie_bench
from pcielab.library import shipped
from pcielab.library.suites import load_message_suite, load_suite
from pcielab.model import load_nic
from shell import pcielab, refuse, succeed

HEAD = "name = 'mine'\ntitle = 'Mine'\n[provenance]\nsource = 'made up'\n[[group]]\n"
GROUP = {
    "family": "'f'",
    "loop": "['size', 'window']",
    "tests": "['BW_DMA_RD']",
    "sizes": "[64]",
    "windows": "['8K']",
    "caches": "['cold']",
    "patterns": "['random']",
}
MESSAGES = {
    "family": "'f'",
    "loop": "['size', 'cores']",
    "ways": "['write-combined']",
    "sizes": "[64]",
    "pace": "'stream'",
    "messages": "100",
}
LSPCI = """\
00:01.0 PCI bridge: Intel Corporation {port} (rev 07)
        Capabilities: [90] Express (v2) Root Port (Slot+), MSI 00
                LnkCap: Port #0, Speed {possible}GT/s, Width x16
02:00.0 Ethernet controller: Netronome Systems, Inc. Device 6000
        Control: I/O- Mem+ BusMaster+ SpecCycle-
        Capabilities: [60] Express (v2) Endpoint, MSI 00
                DevCtl: Report errors: Correctable-
                        MaxPayload 256 bytes, MaxReadReq 512 bytes
                LnkCap: Port #0, Speed 8GT/s, Width x8
                LnkSta: Speed {speed}GT/s, Width x{lanes}
"""


def refused(load: Callable[[str], object], path: str | Path) -> str:
    """The error of a loader for a file."""
    with pytest.raises(InputError) as caught:
        load(str(path))
    return str(caught.value)


def written(folder: Path, group: dict[str, str]) -> str:
    """A file with a suite of one group."""
    path = folder / "mine.toml"
    path.write_text(HEAD + "".join(f"{key} = {value}\n" for key, value in group.items()), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("sizes", "['1:100000', '1:100000']", "more than 100000 sizes: give a step"),
        ("sizes", "['1:1e19']", "give whole bytes above 0, for example 64, 4K or 1.5M"),
        ("sizes", "['64:9223372036854775807']", "give a step, for 100000 at most in all"),
        ("family", "'{size:>900000000}'", "width of at most two digits"),
        ("family", "'{direction:5}'", "width of at most two digits"),
        ("family", "'{size.real}'", "only {direction} and {size} are placeholders"),
        ("family", '"a\\u007fb"', "letters that can be printed"),
        ("sizes", "[" + "9" * 5000 + "]", "a number has too many digits"),
        ("sizes", "[" * 20000, "nested too deeply"),
        ("sizes", "[0x" + "f" * 5000 + "]", "a number has too many digits"),
        ("sizes", "[nan]", "sizes.0 is nan: give 1 to "),
        ("sizes", "['1:4096']\nwindows = ['8192:4194304:64']", "267915264 tests: give 100000 at most"),
    ],
)
def test_a_suite_is_counted_before_it_is_expanded(tmp_path: Path, key: str, value: str, expected: str) -> None:
    group = {name: old for name, old in GROUP.items() if f"\n{name} = " not in value}
    message = refused(load_suite, written(tmp_path, group | {key: value}))
    assert expected in message, message
    assert len(message) < 2_000


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"messages": "1048576", "cores": "[256]"}, "messages is 1048576: give fewer"),
        ({"messages": "1000", "sizes": "['64K']"}, "messages is 1000: give fewer"),
        ({"sizes": "['1:65536']", "cores": "[1, 2, 3, 4]"}, "262144 tests: give 100000 at most"),
    ],
)
def test_messages_of_a_test_have_a_bound(tmp_path: Path, changes: dict[str, str], expected: str) -> None:
    assert expected in refused(load_message_suite, written(tmp_path, MESSAGES | changes))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("source,destination\n", "has no flows"),
        ("source,destination\nhost1,C\nhost1,\n", "flow 2: destination is empty"),
        ("source,destination,standalone_gbytes_per_s\nhost1,C,nan\n", "flow 1: standalone_gbytes_per_s is 'nan'"),
        ("source,destination,standalone_gbytes_per_s\nhost1,C,inf\n", "flow 1: standalone_gbytes_per_s is 'inf'"),
        ("source,destination,size_bytes\nhost1,C,64\nA,C,big\n", "flow 2: size_bytes is 'big': give bytes"),
        ("source,destination,size_bytes\nhost1,C,-64\n", "flow 1: size_bytes is '-64'"),
        ("source,destination,outstanding\nhost1,C,99999999\n", "give 1 to 65536"),
        ("source,destination,primitive\nhost1,C,teleport\n", "flow 1: primitive is 'teleport'"),
        ("source,destination,queue\nhost1,C,1.5\n", "flow 1: queue is '1.5': give 0 to 255"),
        ("name,source,destination\na,host1,C\na,A,C\n", "flow 2: name is a: another flow has this name"),
        ("source,destination,source\nhost1,C,A\n", "column source: occurs twice"),
        ("source,destination,speed\nhost1,C,1\n", "unknown column speed"),
        ("source\nhost1\n", "missing column destination"),
        ("source,destination\nhost1,Mars\n", "flow 1: destination is Mars: unknown node"),
        ("source,destination\nhost1,C,9\n", "cannot be read as flows"),
        ("", "cannot be read as flows"),
    ],
)
def test_flows_are_refused_by_file_flow_and_key(tmp_path: Path, table: str, expected: str) -> None:
    path = tmp_path / "flows.csv"
    path.write_text(table, encoding="utf-8")
    message = refused(fabric.load("fabrex-u55c").flows, path)
    assert str(path) in message
    assert expected in message, message


def test_unnamed_flows_between_the_same_ends_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    path.write_text(
        "source,destination,primitive,size_bytes\nhost1,C,h2d,64\nhost1,C,h2d,4K\nA,host1,d2h,64\n",
        encoding="utf-8",
    )
    testbed = fabric.load("fabrex-u55c")
    flows = testbed.flows(str(path))
    assert flows["name"].tolist() == ["host1->C", "host1->C (2)", "A->host1"]
    found = fabric.simulate(testbed, flows, duration_us=100.0)
    assert found.flows["requests"].tolist() == [len(found.requests[name]) for name in flows["name"]]
    assert found.flows["requests"].min() > 0
    twice = flows.assign(name="same")
    with pytest.raises(InputError, match="flow 2: name is same: another flow has this name"):
        fabric.simulate(testbed, twice)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("fabrex-u55c", "--duration-us", "0"), "--duration-us 0: give microseconds, 0.001 to 1000000"),
        (
            ("fabrex-u55c", "--duration-us", "nan"),
            "--duration-us: 'nan' is not a time: give 0.001 to 1000000 us",
        ),
        (("fabrex-u55c", "--duration-us", "1e9"), "0.001 to 1000000"),
        (("fabrex-u55c", "--seed", "-1"), "--seed: '-1' is not a whole number: give 0 to 9223372036854775807"),
        (
            ("walk-through", "--suite", "rpciebench"),
            "needs the fabric fabrex-u55c: walk-through has no node",
        ),
    ],
)
def test_a_fabric_run_is_refused_before_anything_is_written(
    tmp_path: Path, arguments: tuple[str, ...], expected: str
) -> None:
    assert expected in refuse("fabric", "run", *arguments, "-o", "run.db", cwd=tmp_path)
    assert not [*tmp_path.iterdir()]


def test_outstanding_bytes_of_a_processor_have_a_bound() -> None:
    testbed = fabric.load("fabrex-u55c")
    flow = {"source": "host1", "destination": "L", "primitive": "mmio-write", "size_bytes": 1 << 30}
    with pytest.raises(InputError, match="size_bytes times outstanding is 1073741824: give 16777216 at most"):
        fabric.simulate(testbed, pd.DataFrame([flow]))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('bytes = "packet"', "bytes = 64", "nothing moves the packet on the path tx"),
        ('bytes = "packet"', 'bytes = "packet"\nevery_packets = 1000', "packets are moved one by one"),
        ('name = "simple-nic"', "name = []", "name is []"),
        ("bytes = 4", "bytes = 4294967296", "bytes"),
    ],
)
def test_a_nic_moves_its_packet(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = (shipped.directory("profiles") / "nics" / "simple-nic.toml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "nic.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert expected in refused(load_nic, path)


@pytest.mark.parametrize(
    ("port", "possible", "host"),
    [
        ("Xeon E5/Core i7 IIO PCI Express Root Port 1a", "8", "snb-e5-2630"),
        ("Xeon E7 v2/Xeon E5 v2/Core i7 PCI Express Root Port 2a", "8", "ib-e5-2620v2"),
        ("Xeon E3-1200 v3 Processor PCI Express x16 Controller", "8", "hsw-e3-1226v3"),
        ("Device 352a", "32", "gen5-server"),
        ("Device 2f02", "8", "hsw-e5-2620v3"),
    ],
)
def test_the_nearest_host_is_chosen_by_name_and_by_fastest_link(port: str, possible: str, host: str) -> None:
    text = LSPCI.format(port=port, possible=possible, speed="8", lanes="8")
    made = skeleton(read_lspci(text, "lspci.txt"), "mine")
    assert (made.host, made.downgrade) == (host, None)


def test_a_downgraded_link_is_reported(tmp_path: Path) -> None:
    text = LSPCI.format(port="Device 2f02", possible="8", speed="2.5", lanes="4")
    (tmp_path / "lspci.txt").write_text(text, encoding="utf-8")
    done = succeed("profiles", "skeleton", "--lspci", "lspci.txt", "-o", "mine.toml", cwd=tmp_path)
    assert "the link is downgraded: it runs at 2.5 GT/s x4; the device supports 8 GT/s x8" in done.stderr
    assert "downgraded" in (tmp_path / "mine.toml").read_text(encoding="utf-8")


def test_a_title_with_a_control_character_makes_a_skeleton_that_parses(tmp_path: Path) -> None:
    text = LSPCI.format(port="Device 2f02", possible="8", speed="8", lanes="8").replace(
        "Netronome", "Netro\x7fnome"
    )
    path = tmp_path / "mine.toml"
    path.write_text(skeleton(read_lspci(text, "lspci.txt"), "mine").text, encoding="utf-8")
    assert pcielab("profiles", "show", str(path)).exit_code == 0


@pytest.mark.parametrize("tick", ["1e400000000", "0", "9" * 5000, "inf"])
def test_the_timer_of_a_folder_is_a_small_fraction(tmp_path: Path, tick: str) -> None:
    (tmp_path / "bw_dma_sz_sweep.csv").write_text("x\n", encoding="utf-8")
    (tmp_path / "ORIGIN.txt").write_text(
        f"origin: simulated\ndevice: nfp6000\ntick_ns: {tick}\ntick_cycles: 16\n", encoding="utf-8"
    )
    with pytest.raises(InputError, match="tick_ns"):
        import_pcie_bench(tmp_path, tmp_path / "run.db")
    assert not (tmp_path / "run.db").exists()
