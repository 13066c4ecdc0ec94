"""In a real browser, texts of a page that try to be scripts remain text."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from browser import Watch, chromium
from patience import HANGS_AFTER_SECONDS
from pcielab import fabric
from pcielab.analysis.compare import compare
from pcielab.formats.exporters import export
from pcielab.formats.spreadsheet import guarded_cell
from pcielab.kinds.flows.tree import tree
from pcielab.library.fabrics.load import of_text
from pcielab.report import figures, save_figure, write_report
from pcielab.report.comparison import draw
from pcielab.report.html import figures_page
from pcielab.store import Store

from .conftest import MakeStore, small_paper_suite, system


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, once for the tests of this file."""
    with chromium() as one:
        yield one


ATTACK = (
    "</script><script>window.hacked = 1</script></title></style><img src=x onerror='window.hacked = 2'>"
    "\"><svg onload=window.hacked=3>{{ 7 * 7 }}<!--<a href='javascript:window.hacked=4'>"
)


def hostile_store(make_store: MakeStore, name: str, **manifest: object) -> Store:
    """A store with the attack in each of its texts."""
    tests = [
        test | {"family": ATTACK + test["family"], "name": "BW_" + ATTACK, "message": ATTACK}
        for test in small_paper_suite()
    ]
    tests.append(tests[0] | {"family": ATTACK, "status": "failed", "message": ATTACK, "scalars": []})
    changed = system(name=ATTACK, title=ATTACK, host={"name": ATTACK, ATTACK: ATTACK}, device={"name": ATTACK})
    texts = {"title": ATTACK, "suite": ATTACK, "machine": ATTACK, "started": ATTACK, ATTACK: ATTACK}
    timer = {"numerator_ns": 40, "denominator": 3, "cycles": 16}
    return make_store(
        name,
        tests,
        system=changed,
        overrides={ATTACK: ATTACK},
        options={ATTACK: ATTACK},
        device={"name": ATTACK, "timer": timer},
        host={"processor": ATTACK},
        **texts,
        **manifest,
    )


def report(make_store: MakeStore, path: Path) -> None:
    stores = [hostile_store(make_store, "a"), hostile_store(make_store, "b", origin="rtl")]
    write_report(stores, path, measured=hostile_store(make_store, "c", origin="measured"))


def comparison(make_store: MakeStore, path: Path) -> None:
    found = compare(hostile_store(make_store, "a"), hostile_store(make_store, "b"))
    path.write_text(draw(found, title=ATTACK, notes=[ATTACK]))


def figure(make_store: MakeStore, path: Path) -> None:
    save_figure(figures.bandwidth_by_size(hostile_store(make_store, "a")), path)


def picture_of_a_fabric(_make_store: MakeStore, path: Path) -> None:
    loaded = fabric.load("fabrex-u55c")
    text = loaded.path.read_text(encoding="utf-8")
    for name in (loaded.title, *loaded.node_names[:3]):
        text = text.replace(json.dumps(name), json.dumps(name + ATTACK[:120]))
    hostile = of_text(text, loaded.path)
    save_figure(tree(hostile, fabric.estimate(hostile, hostile.flows(None), "max-min")), path)


@pytest.mark.parametrize("write", [report, comparison, figure, picture_of_a_fabric])
def test_no_text_becomes_a_script(
    write: Callable[[MakeStore, Path], None],
    make_store: MakeStore,
    tmp_path: Path,
    browser: Any,
    record_property: Callable[[str, object], None],
) -> None:
    record_property("tried", 1)
    path = tmp_path / "page.html"
    write(make_store, path)
    with browser.new_page() as page:
        watch = Watch(page)
        page.goto(path.as_uri())
        page.wait_for_selector("[data-figure] svg", timeout=1e3 * HANGS_AFTER_SECONDS)
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("document.querySelectorAll('script').length") == 4
        assert page.evaluate("document.querySelectorAll('[onerror], [onload], a[href^=javascript]').length") == 0
    assert watch.requests == [path.as_uri()]
    assert watch.errors == []


def test_the_pages_policy_blocks_an_injected_script(
    tmp_path: Path, browser: Any, record_property: Callable[[str, object], None]
) -> None:
    record_property("tried", 1)
    path = tmp_path / "page.html"
    harmless = figures_page("a page", [], [])
    path.write_text(harmless.replace("<main>", f"<main>{ATTACK}"))
    with browser.new_page() as page:
        page.goto(path.as_uri())
        assert page.locator("main img").count() == 1
        assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_csv_export_defuses_formulas(make_store: MakeStore, tmp_path: Path, text: str) -> None:
    test = next(small_paper_suite())
    store = make_store("a", [test | {"family": text, "message": text}, test | {"family": "plain"}])
    export(store, "csv", tmp_path / "out.csv")
    table = pd.read_csv(tmp_path / "out.csv", lineterminator="\n")
    assert table["family"].tolist() == [f"'{text}", "plain"]
    assert table["bandwidth_gbps"].min() > 0
    assert guarded_cell(-1.5) == -1.5
