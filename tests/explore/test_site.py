"""The page without a server, as `make page` builds it: the numbers of native code, and no requests elsewhere."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from browser import Watch
from pcielab import _core
from pcielab.doctor import examine, machine_of_text
from pcielab.doctor.examine import describe, draw
from shell import succeed

from .conftest import Tab
from .page_requests import Request, requests

BUILT = Path(__file__).parents[2] / "target" / "try"
NONE = "\N{EN DASH}"
ANSWER = """async (requests) => {
  const { ask, default: load } = await import("./pages/pcie_page.js");
  await load({ module_or_path: "./pages/pcie_page_bg.wasm" });
  const answered = ([name, asked]) => {
    try { return ask(name, asked); } catch (problem) { return `refused: ${problem}`; }
  };
  return requests.map(answered);
}"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, *_arguments: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the page on a plain web server, below a path as beside the documentation."""
    if not (BUILT / "index.html").exists():
        pytest.skip("needs the page: make page, with rustup or Rust's target wasm32-unknown-unknown")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(BUILT.parent)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/{BUILT.name}/"
    server.shutdown()
    thread.join()
    server.server_close()


def opened(browser: Any, address: str, width: int = 1400, scheme: str = "light") -> Tab:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab = Tab(page, Watch(page))
    page.goto(address)
    return tab


@pytest.fixture(scope="module")
def native() -> list[tuple[Request, str]]:
    """Requests of every kind, and their answers by the native code: nearly all are answered."""
    found = [(one, answered(*one)) for one in requests()]
    assert {request[0] for request, _ in found} == {
        "accesses", "answer", "change", "expander", "flows", "frames", "messages", "pio",
        "plan", "record", "take-out", "why", "why-nic",
    }  # fmt: skip
    assert 1 <= sum(answer.startswith("refused") for _, answer in found) <= 10
    return found


def answered(name: str, asked: str) -> str:
    try:
        return _core.ask_page(name, asked)
    except _core.InputError as refused:
        return f"refused: {refused}"


def differing(native: list[tuple[Request, str]], others: list[str]) -> list[str]:
    """The requests that others answer by other bytes."""
    return [request[0] for (request, own), other in zip(native, others, strict=True) if own != other]


def test_node_gives_the_bytes_of_native_code(site: str, native: list[tuple[Request, str]]) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node.js")
    script = Path(__file__).with_name("webassembly.mjs")
    asked = json.dumps([request for request, _ in native])
    done = subprocess.run([node, script, BUILT / "pages"], input=asked, capture_output=True, text=True, check=True)
    assert differing(native, json.loads(done.stdout)) == []


def test_chromium_gives_the_bytes_of_native_code(
    browser: Any, site: str, native: list[tuple[Request, str]]
) -> None:
    tab = opened(browser, f"{site}?system=snb")
    assert differing(native, tab.page.evaluate(ANSWER, [request for request, _ in native])) == []


def test_a_page_shows_the_numbers_of_its_command(
    browser: Any, site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tab = opened(browser, f"{site}?system=snb&window=65536&set=host.llc.ddio_ways%3D4")
    tab.settle()
    tab.page.click("#take-out summary")
    tab.until(lambda: tab.page.locator("#taken-run").count(), "the commands")
    words = shlex.split(tab.page.inner_text("#taken-run"))
    [row] = json.loads(succeed(*words[1:], "--format", "json").stdout)
    shown = tab.page.get_attribute("#numbers tr[data-size='64']", "data-gbps")
    assert row["bandwidth_gbps"] == float(shown)
    assert 'pcielab.single_test("bw-rd", size=64, window=65536)' in tab.page.inner_text("#taken-python")
    assert tab.complaints == []


def test_a_page_says_why_as_the_command_does(browser: Any, site: str) -> None:
    tab = opened(browser, f"{site}?system=gen5-x16&cache=host-warm")
    tab.until(lambda: tab.page.locator("#sentences li").count() == 3, "the sentences")
    command = succeed("why", "--test", "bw-rd", "--cache", "host-warm", "--profile", "gen5-x16")
    assert tab.page.locator("#sentences li").all_inner_texts() == command.stdout.splitlines()[:3]
    assert "(assumed)" in tab.page.inner_text("#sentences")
    assert tab.complaints == []


def test_a_measured_value_stands_among_the_bounds_and_in_commands(browser: Any, site: str) -> None:
    tab = opened(browser, f"{site}?system=snb&size=256&measured=41")
    tab.until(lambda: tab.data("settled"), "the points")
    tab.page.click("#take-out summary")
    tab.until(lambda: tab.page.locator("#taken-why").count(), "the commands")
    assert tab.page.inner_text("#taken-why").endswith(" --measured 41")
    assert tab.page.locator("#ceilings .ceiling span").first.inner_text() == "measured"
    assert "measured=41" in tab.page.inner_text("#taken-python")
    tab.page.fill("#measured", "")
    tab.page.press("#measured", "Tab")
    tab.until(lambda: "measured" not in tab.address, "the address without it")
    bounds = tab.page.locator("#ceilings .ceiling span")
    tab.until(lambda: bounds.first.inner_text() != "measured", "the bounds without it")
    assert tab.complaints == []


@pytest.mark.parametrize("name", ["nics", "messages"])
def test_a_page_with_unknown_words_in_its_address_answers_its_first_question(
    browser: Any, site: str, name: str
) -> None:
    tabs = [opened(browser, f"{site}{name}.html{words}") for words in ("", "?nic=no&profile=no&length=3&frame=64")]
    for tab in tabs:
        tab.until(lambda: tab.data("settled"), "the answer")  # noqa: B023
        assert not tab.page.locator("#problem").is_visible()
        assert tab.page.locator("#sentences li").count() == 3
        assert tab.page.locator("canvas").count() == 1
        assert tab.complaints == []


def test_a_nic_of_the_user_is_in_the_address_and_its_wrong_keys_are_named(
    browser: Any, site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tab = opened(browser, f"{site}nics.html", 390, "dark")
    tab.until(lambda: tab.data("settled"), "the answer")
    own = 'name = "mine"\ndescription = "Mine"\nprovenance = "me"\nbase = "connectx-5"\n[queues]\npairs = 3\n'
    dropped(tab, own, "mine.toml")
    tab.until(lambda: "mine over Gen3 x16" in tab.page.inner_text("#asked"), "the answer about it")
    tab.page.check("#features label:has-text('mprq') input")
    tab.until(lambda: "mine+mprq over" in tab.page.inner_text("#asked"), "the feature")
    shown = tab.page.locator("#sentences li").all_inner_texts()
    other = opened(browser, tab.page.url)
    other.until(lambda: other.data("settled"), "the answer in another tab")
    assert other.page.locator("#sentences li").all_inner_texts() == shown
    (tmp_path / "nic.toml").write_text(own)
    words = shlex.split(other.page.inner_text("#command"))
    assert succeed(*words[1:]).stdout.splitlines()[:3] == shown
    dropped(tab, own.replace("pairs", "pair"), "mine.toml")
    tab.until(lambda: "did you mean pairs?" in tab.page.inner_text("#problem"), "the refusal")
    assert tab.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert tab.complaints + other.complaints == []


@pytest.mark.parametrize("name", ["nics", "messages"])
def test_a_page_is_copied_as_an_address_a_command_and_python(browser: Any, site: str, name: str) -> None:
    tab = opened(browser, f"{site}{name}.html")
    tab.until(lambda: tab.data("settled"), "the answer")
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for button, text in (("share", tab.page.url), *((f"copy-{one}", None) for one in ("command", "python"))):
        tab.page.click(f"#{button}")
        tab.until(lambda: "copied" in tab.page.inner_text("#state"), "that it is copied")
        wanted = text or tab.page.text_content(f"#{button.removeprefix('copy-')}")
        assert tab.page.evaluate("navigator.clipboard.readText()") == wanted
    exec(compile(tab.page.text_content("#python") or "", name, "exec"), {})
    for kind in ("svg", "png", "csv"):
        with tab.page.expect_download() as saved:
            tab.page.click(f"#{kind}")
        assert saved.value.path().stat().st_size > 200
    assert tab.complaints == []


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
@pytest.mark.parametrize("name", ["nics", "messages"])
def test_a_page_of_a_question_fits_and_axe_finds_nothing_serious(
    browser: Any, site: str, name: str, width: int, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe: pip install axe-playwright-python")
    tab = opened(browser, f"{site}{name}.html", width, scheme)
    tab.until(lambda: tab.data("settled"), "the answer")
    assert tab.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert all(url.startswith((site, "data:", "blob:")) for url in tab.requests)
    tab.page.evaluate(Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8"))
    found = tab.page.evaluate("axe.run({ resultTypes: ['violations'] })")
    assert len(found["passes"]) > 10, "axe looked"
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in serious] == []
    assert tab.complaints == []


def numbers_of(tab: Tab) -> dict[float, float]:
    """The latencies that the page of expanders shows, by load."""
    cells = tab.page.locator("#loads tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => Number(cell.title || cell.textContent)))"
    )
    return {row[0]: row[2] for row in cells}


@pytest.mark.parametrize(
    "address", ["", "?reads=38&lanes=16", "?generation=6&channels=2&reads=100", "?reads=58&speed=4800"]
)
def test_the_page_of_expanders_shows_the_numbers_of_its_command(browser: Any, site: str, address: str) -> None:
    tab = opened(browser, f"{site}expanders.html{address}")
    tab.until(lambda: tab.data("settled"), "the answer")
    words = shlex.split(tab.page.inner_text("#command"))
    rows = json.loads(succeed(*words[1:], "--format", "json").stdout)
    assert numbers_of(tab) == {row["load"]: row["read_latency_ns"] for row in rows}
    peak = f"{rows[0]['peak_gbytes_per_s']:.2f} GB/s: {rows[0]['bound']}"
    assert tab.page.inner_text("#peak") == peak
    assert tab.page.locator("#curve canvas").count() == 1
    assert tab.complaints == []


def test_the_page_of_expanders_answers_while_one_types_and_fits(browser: Any, site: str) -> None:
    tab = opened(browser, f"{site}expanders.html", 390, "dark")
    tab.until(lambda: tab.data("settled"), "the answer")
    first = tab.page.inner_text("#peak")
    tab.page.fill("input[name=reads]", "2")
    tab.until(lambda: tab.page.inner_text("#peak") != first, "the new answer")
    assert tab.page.inner_text("#peak").endswith("slots-to-memory")
    assert "reads=2" in tab.page.url
    assert tab.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    tab.page.fill("input[name=speed]", "100")
    tab.page.wait_for_timeout(400)
    assert "--set expander.memory.megatransfers_per_s=100" not in tab.page.inner_text("#command")
    assert all(url.startswith((site, "data:", "blob:")) for url in tab.requests)
    assert tab.complaints == []


COSTS = ("gbytes_per_s", "least", "most", "core_ns", "core_ns_least", "core_ns_most", "done_ns")


def costs_of(tab: Tab) -> list[tuple[str, str, list[float]]]:
    """The instruction, the bound and the values of each row on the page of cores."""
    rows = tab.page.locator("#accesses tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.title || cell.textContent))"
    )
    return [(name, bound, [float(text) for text in texts]) for name, *texts, bound, _because in rows]


@pytest.mark.parametrize(
    "address",
    [
        "",
        "?core=zen2-2019&generation=4&size=4096",
        "?bar=fpga&generation=3&lanes=8&size=1&cores=4",
        "?core=grace-2023&generation=6&size=1000000&cores=16",
        "?core=no&length=3&size=8",
    ],
)
def test_the_page_of_cores_shows_the_numbers_of_its_command(browser: Any, site: str, address: str) -> None:
    tab = opened(browser, f"{site}cores.html{address}")
    tab.until(lambda: tab.data("settled"), "the answer")
    words = shlex.split(tab.page.inner_text("#command"))
    rows = json.loads(succeed(*words[1:], "--format", "json").stdout)
    assert costs_of(tab) == [(row["instruction"], row["bound"], [row[key] for key in COSTS]) for row in rows]
    assert tab.page.locator("#curve canvas").count() == 1
    assert tab.complaints == []


def test_the_page_of_cores_answers_while_one_types_and_fits(browser: Any, site: str) -> None:
    tab = opened(browser, f"{site}cores.html?lanes=16", 390, "dark")
    tab.until(lambda: tab.data("settled"), "the answer")
    bound = tab.page.locator("#accesses tr", has_text="combined-store").locator("td:nth-last-child(2)")
    assert bound.inner_text() == "fill-buffers"
    tab.page.select_option("select[name=lanes]", "4")
    tab.until(lambda: bound.inner_text() == "wire-downstream", "the new answer")
    assert "lanes=4" in tab.page.url
    tab.page.fill("input[name=size]", "65")
    tab.until(lambda: "doorbell" not in tab.page.inner_text("#accesses"), "the table of larger accesses")
    assert tab.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    tab.page.fill("input[name=cores]", "300")
    tab.page.wait_for_timeout(400)
    assert "--cores 1 " in tab.page.inner_text("#command")
    assert all(url.startswith((site, "data:", "blob:")) for url in tab.requests)
    assert tab.complaints == []


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_a_page_requests_only_its_own_files_and_fits(browser: Any, site: str, width: int, scheme: str) -> None:
    tab = opened(browser, f"{site}?system=netfpga-hsw", width, scheme)
    tab.until(lambda: tab.data("pictureMs"), "the picture")
    assert tab.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert all(url.startswith((site, "data:", "blob:")) for url in tab.requests)
    assert tab.complaints == []


@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing_serious(browser: Any, site: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe: pip install axe-playwright-python")
    source = Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    tab = opened(browser, f"{site}?system=netfpga-hsw", width)
    tab.until(lambda: tab.data("pictureMs"), "the picture")
    for folded in ("take-out", "numbers"):
        tab.page.click(f"#{folded} summary")
    tab.page.evaluate(source)
    for scheme in ("light", "dark"):
        tab.page.emulate_media(color_scheme=scheme)
        found = tab.page.evaluate("axe.run({ resultTypes: ['violations'] })")
        assert len(found["passes"]) > 10, "axe looked"
        serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
        assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in serious] == []


OWN = """name = "mine"
title = "My machine"
base = "SNB"
[set]
"host.llc.ddio_ways" = 4
[provenance]
source = "me"
"""


def dropped(tab: Tab, text: str, name: str = "mine.toml") -> None:
    """Choose a file on a page."""
    tab.page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": text.encode()})


def test_a_file_of_the_user_is_a_system_in_the_address_and_in_commands(
    browser: Any, site: str, tmp_path: Path
) -> None:
    tab = opened(browser, f"{site}?system=snb&window=65536")
    tab.until(lambda: tab.data("pictureMs"), "the picture")
    dropped(tab, OWN)
    tab.until(lambda: "system=mine" in tab.address, "the file's system in the address")
    tab.settle()
    assert tab.page.input_value("#system") == "mine"
    shown = tab.page.get_attribute("#numbers tr[data-size='64']", "data-gbps")
    tab.page.click("#take-out summary")
    tab.until(lambda: tab.page.locator("#taken-run").count(), "the commands")
    words = shlex.split(tab.page.inner_text("#taken-run"))
    assert words[2:4] == ["--profile", "mine.toml"]
    (tmp_path / "mine.toml").write_text(OWN)
    words[3], words[-1] = str(tmp_path / "mine.toml"), str(tmp_path / "run.db")
    [row] = json.loads(succeed(*words[1:], "--format", "json").stdout)
    assert row["bandwidth_gbps"] == float(shown or "nan")
    other = opened(browser, f"{site}{tab.address}")
    other.until(lambda: other.data("pictureMs"), "the picture of another tab")
    assert "My machine" in other.page.inner_text("#title")
    assert tab.complaints + other.complaints == []


MACHINE = Path(__file__).parents[1] / "lspci_texts" / "xeon-6230-bad-riser.txt"


def test_a_machine_gets_the_findings_of_the_doctor(browser: Any, site: str) -> None:
    tab = opened(browser, f"{site}?system=snb")
    tab.until(lambda: tab.data("pictureMs"), "the picture")
    assert not tab.page.is_visible("#machine")
    dropped(tab, MACHINE.read_text(), "machine.txt")
    tab.until(lambda: tab.page.is_visible("#machine"), "the report")
    machine = machine_of_text(MACHINE.read_text(), "machine.txt")
    examination = examine(machine)
    assert tab.page.text_content("#findings") == describe(examination, machine)
    assert tab.page.text_content("#tree") == draw(machine, examination)
    assert "system=snb" in tab.address
    assert tab.complaints == []


def test_a_pasted_machine_is_examined_and_prose_is_left_alone(browser: Any, site: str) -> None:
    tab = opened(browser, f"{site}?system=snb")
    tab.until(lambda: tab.data("pictureMs"), "the picture")
    paste = """(text) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text", text);
      document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    }"""
    tab.page.evaluate(paste, "The link is slow.")
    tab.page.evaluate(paste, MACHINE.read_text())
    tab.until(lambda: tab.page.is_visible("#machine"), "the report")
    assert tab.page.inner_text("#findings").startswith("pasted.txt: ")
    assert tab.complaints == []


def test_a_text_without_a_machine_is_refused(browser: Any, site: str) -> None:
    tab = opened(browser, f"{site}?system=snb")
    tab.until(lambda: tab.data("pictureMs"), "the picture")
    dropped(tab, "It is slow.\n", "prose.txt")
    tab.until(lambda: tab.page.inner_text("#problem").startswith("prose.txt: "), "the refusal")
    assert not tab.page.is_visible("#machine")


def test_wrong_files_of_the_user_are_refused_as_text(browser: Any, site: str) -> None:
    tab = opened(browser, f"{site}?system=snb")
    tab.until(lambda: tab.data("pictureMs"), "the picture")
    hostile = "<img src=x onerror=alert(1)>"
    for text, words in (
        (OWN.replace("ddio_ways", "dido_ways"), "unknown key: did you mean ddio_ways?"),
        (OWN.replace('"host.llc.ddio_ways" = 4', f'"{hostile}" = 4'), hostile),
        (OWN.replace("SNB", "/etc/passwd"), "without its folder"),
        (OWN.replace("mine", "snb"), "a shipped system has this name"),
        (OWN.replace(" = 4", " = 400"), "host.llc.ddio_ways is 400"),
        ("a." * 100_000, "not valid TOML"),
    ):
        dropped(tab, text)
        tab.until(lambda: words in tab.page.inner_text("#problem"), f"the refusal: {words}")  # noqa: B023
        assert tab.page.inner_text("#problem").startswith("mine.toml: ")
    assert tab.page.locator("img").count() == 0
    assert tab.watch.errors == []


def test_a_long_file_is_not_in_the_address_and_the_page_says_so(browser: Any, site: str) -> None:
    tab = opened(browser, f"{site}?system=snb")
    tab.until(lambda: tab.data("pictureMs"), "the picture")
    dropped(tab, f'{OWN}notes = "{"x" * 5000}"\n')
    tab.until(lambda: "system=mine" in tab.address, "the file's system in the address")
    tab.until(lambda: tab.data("pictureMs"), "its picture")
    assert "own=" not in tab.address
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.page.click("#share")
    tab.until(lambda: "copied" in tab.page.inner_text("#state"), "that the address is copied")
    assert "copied without mine.toml" in tab.page.inner_text("#state")
    assert tab.page.evaluate("navigator.clipboard.readText()") == f"{site}{tab.address}"


def test_a_figure_within_another_page_shows_one_picture(browser: Any, site: str) -> None:
    tab = opened(browser, f"{site}?system=snb&view=window", 390)
    tab.until(lambda: tab.data("pictureMs"), "the picture")
    shown = [
        one for one in ("size", "latency", "window") if tab.page.locator(f'[data-chart="{one}"]').is_visible()
    ]
    assert shown == ["window"]
    assert tab.page.locator("#size").is_visible()
    assert not tab.page.locator("#share").is_visible()
    assert tab.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert tab.complaints == []


def test_the_keyboard_alone_changes_a_value_and_pins(browser: Any, site: str) -> None:
    tab = opened(browser, f"{site}?system=snb")
    tab.until(lambda: tab.data("pictureMs"), "the picture")
    for _ in range(100):
        tab.page.keyboard.press("Tab")
        if tab.page.evaluate("document.activeElement.id") == "size":
            break
    tab.page.keyboard.press("ArrowRight")
    tab.until(lambda: "size=65" in tab.address, "the next size in the address")
    while tab.page.evaluate("document.activeElement.id") != "pin":
        tab.page.keyboard.press("Tab")
    tab.page.keyboard.press("Enter")
    tab.until(lambda: "pin=" in tab.address, "the pin in the address")
    assert tab.complaints == []


def test_policy_allows_no_inline_script_and_hostile_texts_stay_texts(browser: Any, site: str) -> None:
    policy = re.findall(
        r'http-equiv="Content-Security-Policy" content="([^"]*)"', (BUILT / "index.html").read_text()
    )
    assert policy[0].startswith("default-src 'none'; script-src 'self' 'wasm-unsafe-eval';")
    hostile = "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"
    for address in (
        f"?system={hostile}",
        f"?system=snb&set={hostile}%3D1",
        f"?system=snb&window=64&size={hostile}",
    ):
        tab = opened(browser, f"{site}{address}")
        tab.until(lambda: tab.page.locator("#problem").is_visible() or tab.data("settled"), "an answer")  # noqa: B023
        assert tab.page.locator("img").count() == 0
        assert tab.watch.errors == []
