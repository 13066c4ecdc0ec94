"""Suites unfold in the order of their loops, and errors explain wrong ones."""

import json
import pickle
from pathlib import Path

import pytest

from pcielab import _core
from pcielab.errors import InputError
from pcielab.library.suites import load_suite, names, single_test
from pcielab.library.suites.load import MessageSuite, Suite, load_message_suite, message_suite_names

HEAD = 'name = "mine"\ntitle = "Mine"\n[provenance]\nsource = "me"\n'
GROUP = {
    "family": '"f_{direction}_{size:02}"',
    "tests": '["LAT_DMA_RD"]',
    "sizes": "[64]",
    "windows": '["8K"]',
    "caches": '["cold"]',
    "patterns": '["random"]',
}


def suite(folder: Path, **changes: str) -> str:
    group = {**GROUP, **changes}
    path = folder / "mine.toml"
    lines = [f"{key} = {value}" for key, value in group.items()]
    path.write_text(HEAD + "[[group]]\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("name", "tests"), [("paper", 2472), ("quick", 81), ("demo", 274)])
def test_a_shipped_suite_has_its_tests_in_canonical_form(name: str, tests: int) -> None:
    loaded = load_suite(name)
    assert (loaded.name, len(loaded.tests)) == (name, tests)
    content = json.loads(loaded.to_json())
    assert content["tests"] == loaded.tests
    assert loaded.to_json() == json.dumps(content, sort_keys=True, separators=(",", ":"))


def test_shipped_suites_are_parts_of_the_paper_in_its_order() -> None:
    paper = [json.dumps(test) for test in load_suite("paper").tests]
    for name in set(names()) - {
        "paper",
        "cpu",
        "cuda",
        "cuda-quick",
        "nvme",
        "rtl-smoke",
        "netfpga",
        "e1000e",
        "chase",
    }:
        positions = [paper.index(json.dumps(test)) for test in load_suite(name).tests]
        assert positions == sorted(set(positions)), name


def test_a_test_has_every_parameter_of_the_store() -> None:
    test = load_suite("paper").tests[0]
    assert test == {
        "family": "lat_cmd_sizes",
        "name": "LAT_CMD_RD",
        "parameters": {
            "operation": "lat-rd",
            "path": "command",
            "pattern": "sequential",
            "cache": "host-warm",
            "size_bytes": 4,
            "window_bytes": 4096,
            "host_offset_bytes": 0,
            "device_offset_bytes": 0,
            "stride_units": 1,
            "outstanding": None,
            "transactions": 2_097_152,
            "details": False,
        },
    }


def test_the_details_families_ask_for_more_samples() -> None:
    details = [test for test in load_suite("paper").entries if test.parameters.details]
    assert {test.family for test in details} == {"lat_cmd_details", "lat_dma_details"}
    assert {test.parameters.transactions for test in details} == {16_777_216}


def test_loops_run_outermost_first_and_name_the_family(tmp_path: Path) -> None:
    name = suite(
        tmp_path,
        tests='["BW_DMA_RD", "BW_DMA_RW"]',
        sizes='[8, "16:17"]',
        loop='["size", "test"]',
    )
    assert [test.family for test in load_suite(name).entries] == [
        *("f_rd_08", "f_rw_08", "f_rd_16", "f_rw_16", "f_rd_17", "f_rw_17")
    ]


def test_host_offsets_come_before_device_offsets(tmp_path: Path) -> None:
    name = suite(tmp_path, host_offsets="[0, 3]", device_offsets="[0, 5]", loop='["offset"]')
    offsets = [test.parameters for test in load_suite(name).entries]
    assert [(one.host_offset_bytes, one.device_offset_bytes) for one in offsets] == [
        (0, 0),
        (3, 0),
        (0, 0),
        (0, 5),
    ]


def test_limits_on_requests_in_flight_can_be_swept(tmp_path: Path) -> None:
    name = suite(
        tmp_path, tests='["BW_DMA_RD"]', outstanding="[1, 2, 4]", loop='["outstanding"]', transactions="100"
    )
    parameters = [test.parameters for test in load_suite(name).entries]
    assert [(one.outstanding, one.transactions) for one in parameters] == [(1, 100), (2, 100), (4, 100)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"tests": '["LAT_DMA_RDD"]'}, "'LAT_DMA_RDD': unknown test: did you mean LAT_DMA_RD?"),
        ({"sizes": "[0]"}, "sizes.0 is 0"),
        ({"sizes": '["9:4"]'}, "give first:last"),
        ({"sizes": '["64-1500"]'}, "a range has a colon: give 64:1500"),
        ({"sizes": "[]"}, "sizes is []: give a list of 1 or more entries"),
        ({"windows": '["8Q"]'}, "windows.0 is '8Q': give bytes"),
        ({"windows": "[32]"}, "window_bytes is 32: give 64 or more, for size 64"),
        (
            {"windows": "[128]", "sizes": "[120]", "host_offsets": "[16]"},
            "give 192 or more, for size 120 at host offset 16",
        ),
        ({"sizes": "[4000]", "host_offsets": "[97]"}, "host_offset_bytes is 97: offset + size (4000)"),
        ({"sizes": "[4000]", "device_offsets": "[97]"}, "device_offset_bytes is 97"),
        ({"sizes": "[64, 128]"}, "add size"),
        ({"loop": '["size", "size"]'}, "each entry once"),
        ({"loop": '["sizes"]'}, "loop.0 is 'sizes'"),
        ({"cashes": '["cold"]'}, "unknown key cashes: did you mean caches?"),
        ({"caches": '["warm"]'}, "caches.0 is 'warm'"),
        ({"family": '"{path}"'}, "only {direction} and {size} are placeholders"),
        ({"family": '"{"'}, "family is '{'"),
        ({"strides": "[2]"}, "only a strided pattern"),
        ({"strides": "[128]", "patterns": '["strided"]'}, "the window has 128 units"),
        ({"tests": '["BW_DMA_RD"]', "details": "true"}, "only latency tests"),
    ],
)
def test_a_wrong_group_is_explained(tmp_path: Path, changes: dict[str, str], expected: str) -> None:
    with pytest.raises(InputError) as caught:
        load_suite(suite(tmp_path, **changes))
    assert expected in str(caught.value)
    assert "mine.toml: group 1 (" in str(caught.value)


def test_a_wrong_head_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "bare.toml"
    path.write_text('name = "bare"\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"bare.toml: 3 problems(.|\n)*missing key group"):
        load_suite(str(path))


def test_an_unknown_suite_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"did you mean paper\?"):
        load_suite("papr")


def test_a_single_test_has_the_defaults_of_the_paper() -> None:
    made = single_test("bw-rd")
    (test,) = made.entries
    assert (made.name, test.family, test.name) == ("single", "single", "BW_DMA_RD")
    assert test.parameters.transactions == 8_388_608
    parameters = test.parameters
    assert (parameters.window_bytes, parameters.cache, parameters.pattern) == (8192, "cold", "random")


def test_a_single_test_takes_every_parameter() -> None:
    (test,) = single_test(
        "lat-wrrd", path="command", size=8, window="1.5M", cache="host-warm", pattern="strided", host_offset=4,
        device_offset=2, stride=3, outstanding=1, transactions=1000, details=True,
    ).entries  # fmt: skip
    parameters = test.parameters
    assert test.name == "LAT_CMD_WRRD"
    assert (parameters.window_bytes, parameters.stride_units, parameters.outstanding) == (3 << 19, 3, 1)
    assert (parameters.host_offset_bytes, parameters.device_offset_bytes) == (4, 2)
    assert (parameters.transactions, parameters.details) == (1000, True)


@pytest.mark.parametrize(
    ("operation", "options", "expected"),
    [
        ("bw-read", {}, "--test bw-read: unknown: did you mean bw-rd?"),
        ("LAT_CMD_RD", {}, "LAT_CMD_RD is --test lat-rd --path command"),
        ("bw-rd", {"size": 0}, "--size"),
        ("bw-rd", {"size": 5000}, "--size 5000: give at most 4096, or a multiple of it"),
        ("bw-rd", {"window": 32}, "--window 32: give 64 or more, for size 64"),
        ("bw-rd", {"size": 4096, "host_offset": 1}, "--host-offset 1"),
        ("bw-rd", {"host_offset": -1}, "--host-offset -1: give 0 to 4095"),
        ("bw-rd", {"cache": "tepid"}, "--cache tepid"),
        ("bw-rd", {"pattern": "zigzag"}, "--pattern zigzag"),
        ("bw-rd", {"outstanding": 0}, "--outstanding 0"),
        ("bw-rd", {"transactions": 0}, "--transactions 0"),
        ("bw-rd", {"details": True}, "--details true: only latency tests"),
    ],
)
def test_a_wrong_single_test_is_explained(operation: str, options: dict[str, object], expected: str) -> None:
    with pytest.raises(InputError) as caught:
        single_test(operation, **options)
    assert expected in str(caught.value)


@pytest.mark.parametrize("name", names())
def test_the_simulator_takes_a_shipped_suite(name: str) -> None:
    assert json.loads(_core.Suite.of_json("transfers", load_suite(name).to_json()).json())


def test_a_part_of_a_suite_has_the_tests_of_its_families_in_order() -> None:
    paper = load_suite("paper")
    part = paper.only(["bw_dma_sz_sweep", "lat_cmd_*"])
    families = [test["family"] for test in part.tests]
    assert set(families) == {name for name in (test["family"] for test in paper.tests) if name in families}
    assert (families[0], families[-1]) == ("lat_cmd_sizes", "bw_dma_sz_sweep")
    assert part.name == "paper (bw_dma_sz_sweep, lat_cmd_*)"
    with pytest.raises(InputError, match=r"did you mean bw_dma_sz_sweep\?"):
        paper.only(["bw_dma_sz_swep"])


@pytest.mark.parametrize("known", [load_suite("quick"), load_message_suite(message_suite_names()[0])])
def test_a_pickled_suite_is_the_same_again(known: Suite | MessageSuite) -> None:
    again = pickle.loads(pickle.dumps(known))
    assert type(again) is type(known)
    assert (again.to_json(), again.tests) == (known.to_json(), known.tests)
