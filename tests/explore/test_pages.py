"""The pages in a real browser: their controls work, and their commands reproduce their numbers."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from shell import succeed

from .conftest import OpenTab, Served, Tab

KEY = "host.iommu.walk_ns"
NONE = "\N{EN DASH}"
SHOW = ["suites", "show"]
SYSTEM = "/?system=ib-000-nosp&window=1048576"


def shown(tab: Tab) -> dict[int, float]:
    """The simulated bandwidths of the table, by size."""
    cells = "[row.dataset.size, row.dataset.gbps ?? '…']"
    rows = tab.page.evaluate(f"[...document.querySelectorAll('#numbers tbody tr')].map(row => {cells})")
    return {int(size): float(text) for size, text in rows if text != "…"}


def slide(tab: Tab, key: str) -> None:
    """Move the slider of a key to its end by the keyboard."""
    tab.page.fill("#search", key)
    slider = tab.page.locator(f'[data-key="{key}"] input[type=range]')
    slider.focus()
    slider.press("End")


@pytest.mark.long("starts the server and the browser for all tests, and carries out every command of a page")
def test_a_page_shows_the_numbers_of_its_commands(
    open_tab: OpenTab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tab = open_tab(SYSTEM)
    tab.settle()
    before = shown(tab)
    slide(tab, KEY)
    tab.until(lambda: KEY in tab.address, "the change in the address")
    tab.settle()
    print(f"input to picture {tab.data('pictureMs')} ms, to the first point {tab.data('firstPointMs')} ms")
    now = shown(tab)
    assert len(now) > 15
    # A longer page walk costs bandwidth in a window that the IO-TLB does not cover.
    assert now[64] < before[64]

    tab.page.click("#pin")
    tab.until(lambda: "pin=" in tab.address, "the pin in the address")
    tab.settle()
    shared = open_tab(f"/{tab.address}")
    shared.settle()
    assert shown(shared) == now
    assert shared.page.locator("#pins li").count() == 1

    tab.page.click("#take-out summary")
    tab.until(lambda: tab.page.locator("#taken-run").count(), "the commands")
    words = shlex.split(tab.page.inner_text("#taken-run"))
    assert words[:2] == ["pcielab", "run"]
    [row] = json.loads(succeed(*words[1:], "--format", "json").stdout)
    assert row["bandwidth_gbps"] == now[64]
    few = sorted(now)[::4]
    sweep = re.sub(r"(?m)^size = .*", f"size = {few}", tab.page.inner_text("#taken-sweep"))
    (tmp_path / "explored.toml").write_text(sweep)
    succeed("sweep", "explored.toml", "-o", "explored")
    table = pd.read_parquet(tmp_path / "explored" / "results.parquet")
    swept = dict(zip(table["size_bytes"], table["bandwidth_gbps"], strict=True))
    assert swept == {size: now[size] for size in few}
    for name, words in (("profile", ["run", "--test", "bw-rd", "-o", "a.db", "--profile"]), ("suite", SHOW)):
        (tmp_path / f"{name}.toml").write_text(tab.page.inner_text(f"#taken-{name}"))
        succeed(*words, f"{name}.toml")
    assert tab.complaints + shared.complaints == []


def test_a_copied_address_is_that_of_the_page(open_tab: OpenTab, served: Served) -> None:
    tab = open_tab(SYSTEM)
    tab.settle()
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.page.click("#share")
    tab.until(lambda: "copied" in tab.page.inner_text("#state"), "that the address is copied")
    assert tab.page.evaluate("navigator.clipboard.readText()") == f"{served.origin}/{tab.address}"


@pytest.mark.parametrize("address", ["/?system=nobody", "/?system=snb&set=host.nothing%3D1"])
def test_a_link_that_names_what_is_not_there_opens_on_the_first_page_and_says_so(
    address: str, open_tab: OpenTab
) -> None:
    tab = open_tab(address)
    tab.settle()
    assert len(shown(tab)) > 15
    tab.until(lambda: tab.page.locator("#problem").is_visible(), "the problem")
    assert "(shown instead: " in tab.page.inner_text("#problem")
    assert tab.page.input_value("#system") != "nobody"
    assert tab.address == "/"


def test_back_undoes_and_a_reload_keeps_the_state(open_tab: OpenTab) -> None:
    tab = open_tab("/?system=snb")
    tab.settle()
    first = shown(tab)
    tab.page.select_option("#bandwidth", "bw-wr")
    tab.settle()
    assert shown(tab) != first
    second = shown(tab)
    tab.page.reload()
    tab.settle()
    assert shown(tab) == second
    tab.page.go_back()
    tab.settle()
    assert shown(tab) == first
    assert tab.page.locator("#bandwidth").input_value() == "bw-rd"


def test_a_target_sets_the_controls_and_says_what_binds(open_tab: OpenTab) -> None:
    tab = open_tab("/?system=gen5-x16&size=512&cache=device-warm&outstanding=8")
    tab.settle()
    tab.page.fill("#target", "100")
    tab.page.click("#meet")
    tab.until(lambda: "outstanding=16" in tab.address, "the change in the address")
    assert tab.page.inner_text("#met").startswith("outstanding 8 -> 16: ")
    assert "the binding bound is latency" in tab.page.inner_text("#met")
    tab.settle()
    assert tab.page.input_value("#outstanding") == "16"
    assert shown(tab)[512] >= 100
    tab.page.fill("#target", "much")
    tab.page.press("#target", "Enter")
    tab.until(lambda: tab.page.locator("#problem").is_visible(), "the problem")
    assert "target is 'much': give a number of Gb/s above 0" in tab.page.inner_text("#problem")


def test_an_impossible_value_is_reported_and_can_be_reset(open_tab: OpenTab) -> None:
    tab = open_tab("/?system=snb")
    tab.settle()
    tab.page.fill("#search", "ddio_ways")
    number = tab.page.locator('[data-key="host.llc.ddio_ways"] input[type=text]')
    number.fill("99")
    number.press("Tab")
    tab.until(lambda: "at most ways" in tab.page.inner_text("#problem"), "the problem")
    tab.page.click("#reset")
    tab.settle()
    assert not tab.page.locator("#problem").is_visible()


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
@pytest.mark.parametrize(
    "path", ["/?system=snb", "/stores", "/fabrics", "/normal", "/nics", "/messages", "/expanders", "/cores"]
)
def test_pages_request_only_their_server_and_fit_their_width(
    open_tab: OpenTab, served: Served, path: str, width: int, scheme: str
) -> None:
    tab = open_tab(path, width=width, scheme=scheme)
    tab.until(lambda: tab.data("settled"), "the page")
    assert tab.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert all(url.startswith((served.origin, "data:", "blob:")) for url in tab.requests)
    assert tab.complaints == []


def test_stores_are_filtered_compared_and_opened(open_tab: OpenTab) -> None:
    tab = open_tab("/stores")
    tab.until(lambda: tab.page.inner_text("#count") == "81 tests", "the tests")
    tab.page.fill("#filter", "lat_cmd_rd cold")
    tab.until(lambda: tab.page.inner_text("#count") not in ("81 tests", ""), "the filter")
    row = tab.page.locator("#rows tbody tr").first
    row.focus()
    row.press("Enter")
    tab.until(lambda: tab.page.locator("#picture").is_visible(), "the distribution")
    tab.page.select_option("#other", "0")
    tab.until(lambda: tab.page.locator("#summary").is_visible(), "the comparison")
    assert tab.complaints == []


def flows_of(page: Any) -> list[str]:
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('#flows tbody tr')].map(row => row.textContent.trim())"
    )
    return found


def test_a_flow_can_be_dragged_and_its_limits_are_shown(open_tab: OpenTab) -> None:
    tab = open_tab("/fabrics?name=fabrex-u55c&none=1")
    tab.until(lambda: tab.data("settled"), "the tree")
    assert flows_of(tab.page) == []
    boxes = [tab.page.locator(f'[data-node="{node}"]').bounding_box() for node in ("host1", "C")]
    middles = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes]
    tab.page.mouse.move(*middles[0])
    tab.page.mouse.down()
    tab.page.mouse.move(*middles[1], steps=5)
    tab.page.mouse.up()
    tab.until(lambda: len(flows_of(tab.page)) == 1, "the flow")
    alone = flows_of(tab.page)[0]
    for node in ("host1", "A"):
        tab.page.locator(f'[data-node="{node}"]').press("Enter")
    tab.until(lambda: len(flows_of(tab.page)) == 2, "the second flow")
    assert flows_of(tab.page)[0] != alone
    assert tab.page.locator("#influences tbody tr").count() > 0
    assert "flow=host1%3EC" in tab.page.url
    assert tab.complaints == []


def test_the_first_page_opens_on_a_present_day_link(open_tab: OpenTab) -> None:
    tab = open_tab("/")
    tab.settle()
    assert tab.address == "/"
    assert tab.page.locator("#system").input_value() == "gen5-x16"
    assert tab.page.locator("#cache").input_value() == "device-warm"
    labels = ["Generation", "Lanes", "MPS (B)", "MRRS (B)", "Tags", "DDIO ways", "IOMMU"]
    assert tab.page.locator("#first label span").all_inner_texts() == labels
    bounds = set(tab.page.locator("#numbers tbody td:nth-child(3)").all_text_contents())
    assert set(tab.page.locator("#legend li").all_inner_texts()) == {"binding bound:", *bounds}
    before = shown(tab)
    tab.page.locator("#first select").first.select_option("6")
    tab.until(lambda: "link.flit%3Dtrue" in tab.address, "flit mode, which Gen6 needs")
    tab.settle()
    assert not tab.page.locator("#problem").is_visible()
    assert shown(tab)[4096] > before[4096]
    tab.page.locator("#first select").first.select_option("5")
    tab.until(lambda: tab.address == "/", "the opening state, which needs no words")
    assert tab.complaints == []


def test_the_defaults_of_tests_have_an_address_of_their_own(open_tab: OpenTab) -> None:
    tab = open_tab("/?cache=host-warm")
    tab.settle()
    assert tab.page.locator("#system").input_value() == "hsw2620"
    tab.page.select_option("#cache", "cold")
    tab.until(lambda: tab.address == "?system=hsw2620", "the system in the address")
    tab.settle()
    tab.page.reload()
    tab.settle()
    assert tab.page.locator("#system").input_value() == "hsw2620"


def test_sentences_come_after_the_points_and_are_those_of_the_command(open_tab: OpenTab) -> None:
    tab = open_tab("/?system=snb&set=device.dma.loop_ns%3D41")
    tab.page.route("**/api/points", lambda route: None)
    tab.page.reload()
    tab.until(lambda: tab.page.locator("#ceilings .ceiling").count(), "the bounds")
    assert tab.page.locator("#sentences li").count() == 0
    tab.page.unroute("**/api/points")
    tab.page.reload()
    tab.until(lambda: tab.page.locator("#sentences li").count() == 3, "the sentences")
    changed = ("--profile", "snb", "--set", "device.dma.loop_ns=41")
    command = succeed("why", "--test", "bw-rd", *changed)
    assert tab.page.locator("#sentences li").all_inner_texts() == command.stdout.splitlines()[:3]


def test_rows_are_rounded_and_sorted_by_a_heading(open_tab: OpenTab) -> None:
    tab = open_tab("/stores")
    tab.until(lambda: tab.page.locator("#rows tbody tr").count() == 81, "the tests")

    def bandwidths() -> list[float]:
        texts = tab.page.locator("#rows tbody td:nth-child(3)").all_inner_texts()
        assert all(len(text.replace(",", "").replace(".", "")) <= 5 for text in texts)
        return [float(text) for text in texts if text != NONE]

    head = tab.page.locator("#rows th:nth-child(3) button")
    assert head.inner_text() == "bandwidth (Gb/s)"
    unsorted = bandwidths()
    head.click()
    assert bandwidths() == sorted(unsorted, reverse=True) != unsorted
    assert tab.page.locator("#rows th:nth-child(3)").get_attribute("aria-sort") == "descending"
    assert tab.page.locator("#rows tbody td:nth-child(3)").last.inner_text() == NONE
    head.click()
    assert bandwidths() == sorted(unsorted)
    assert "sort=bandwidth_gbps" in tab.page.url
    tab.page.reload()
    tab.until(lambda: tab.page.locator("#rows tbody tr").count() == 81, "the tests")
    assert bandwidths() == sorted(unsorted)
    head.click()
    assert bandwidths() == unsorted
    assert tab.complaints == []


def test_a_page_says_what_an_expander_gives(open_tab: OpenTab) -> None:
    tab = open_tab("/expanders?reads=100")
    tab.until(lambda: tab.data("settled"), "the answer")
    assert tab.page.inner_text("#peak") == "26.77 GB/s: slots-from-memory"
    assert "--reads 100%" in tab.page.inner_text("#command")
    assert tab.complaints == []


def test_a_page_says_why_a_nic_moves_no_more_frames(open_tab: OpenTab) -> None:
    tab = open_tab("/nics?nic=niantic-dpdk&line=100&frame=64&direction=rx&measured=40")
    tab.until(lambda: tab.data("settled"), "the answer")
    command = "pcielab why --nic niantic-dpdk --line 100 --frame 64 --direction rx --measured 40"
    assert tab.page.inner_text("#command") == command
    printed = succeed(*command.split()[1:]).stdout.splitlines()
    assert tab.page.locator("#sentences li").all_inner_texts() == printed[:3]
    assert tab.complaints == []


def test_a_page_says_from_which_payload_descriptors_win(open_tab: OpenTab) -> None:
    tab = open_tab("/messages?profile=kpio-2012&sizes=64&batch=32")
    tab.until(lambda: tab.data("settled"), "the answer")
    [_, crossings] = tab.page.inner_text("#command").splitlines()
    rows = json.loads(succeed(*crossings.split()[1:], "--format", "json").stdout)
    assert f"at every payload from {rows[0]['from_bytes']} B" in tab.page.inner_text("#sentences")
    assert tab.page.locator("#messages tbody tr").count() == 3
    assert tab.complaints == []


def test_a_page_says_what_loads_and_stores_cost(open_tab: OpenTab) -> None:
    tab = open_tab("/cores?core=skylake-2017&generation=3&size=4096")
    tab.until(lambda: tab.data("settled"), "the answer")
    names = tab.page.locator("#accesses tbody td:first-child").all_inner_texts()
    assert names == ["uncached-store", "combined-store", "uncached-load", "streaming-load", "read-modify-write"]
    assert "--core skylake-2017" in tab.page.inner_text("#command")
    assert tab.page.locator("#curve canvas").count() == 1
    assert tab.complaints == []


def test_a_page_says_whether_a_value_is_normal(open_tab: OpenTab) -> None:
    tab = open_tab("/normal")
    tab.until(lambda: tab.data("settled"), "the answer")
    assert tab.page.inner_text("#verdict") == "54.1 GB/s: normal"
    tab.page.fill("input[name=value]", "14.2GB/s")
    tab.until(lambda: tab.page.inner_text("#verdict") == "14.2 GB/s: low", "the verdict")
    assert tab.page.inner_text("#causes td").startswith("D01")
    assert "value=14.2GB" in tab.page.url
    tab.page.fill("input[name=value]", "140GB/s")
    tab.until(lambda: "above the raw rate" in tab.page.inner_text("#problem"), "the refusal")
    assert [one for one in tab.complaints if "422" not in one] == []
