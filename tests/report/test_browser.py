"""The report in a real browser: it makes no requests, logs no errors, and shows every figure."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import Watch, chromium
from patience import HANGS_AFTER_SECONDS
from pcielab import open_store, run as run_work
from pcielab.analysis.compare import compare
from pcielab.analysis.why import Why
from pcielab.analysis.why.stored import why_stored
from pcielab.library.suites import Suite, single_test
from pcielab.report import write_report
from pcielab.report.comparison import draw

from .conftest import MakeStore, stores_in, system
from .test_figures import scaled

EVERY_FIGURE_IS_DRAWN = (
    "[...document.querySelectorAll('[data-figure]')]"
    ".every(figure => figure.querySelector('svg .mark-line path, svg .mark-symbol path'))"
)

DEFECTS = """() => [...document.querySelectorAll('[data-figure]')].flatMap(figure => {
  const frame = figure.closest('figure').getBoundingClientRect(), drawing = figure.querySelector('svg');
  const menu = figure.querySelector('summary').getBoundingClientRect(), whole = drawing.getBoundingClientRect();
  const wrong = whole.right > frame.right + 1 ? ['is wider than its frame'] : [];
  for (const text of drawing.querySelectorAll('text')) {
    const box = text.getBoundingClientRect(), words = text.textContent;
    if (!box.width) continue;
    const outside = box.right > frame.right + 1 || box.left < frame.left - 1 || box.bottom > whole.bottom + 1;
    if (outside) wrong.push(`cuts ${words}`);
    if (words.endsWith('…')) wrong.push(`shortens ${words}`);
    if (box.right > menu.left && box.left < menu.right && box.bottom > menu.top && box.top < menu.bottom)
      wrong.push(`has its menu over ${words}`);
  }
  return wrong.map(defect => `${figure.dataset.figure} ${defect}`);
})"""
"""Texts in the figures of a page that cannot be read."""
TWO_FRAMES = "new Promise(painted => requestAnimationFrame(() => requestAnimationFrame(painted)))"
"""Ends once all that is drawn has been laid out."""
MANY_CHANGES = {f"host.iommu.what_takes_long_{number}_ns": 300 + number for number in range(8)}
"""Changes that make the name of a run wider than any page."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, once for the tests of this file."""
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two runs, the second with many changes, and a measured one."""
    return report_of(tmp_path_factory.mktemp("report"), overrides=MANY_CHANGES)


def report_of(folder: Path, **manifest: Any) -> Path:
    """The report of two runs, the second with these changes of its manifest, and a measured one."""
    make_store = stores_in(folder)
    other = make_store("b", system=system(name="other", memory_socket=1), **manifest)
    path = folder / "report.html"
    write_report([make_store("a"), other], path, measured=make_store("c", origin="measured"))
    return path


def wait_for_figures(page: Any) -> None:
    # Polled from outside: the page's policy forbids it to evaluate text, and thus the condition.
    for _ in range(int(10 * HANGS_AFTER_SECONDS)):
        if page.evaluate(EVERY_FIGURE_IS_DRAWN):
            return
        page.wait_for_timeout(100)
    pytest.fail("not every figure was drawn within minutes")


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_a_page_shows_all_its_text_and_requests_nothing(
    browser: Any, report: Path, width: int, scheme: str
) -> None:
    with browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme) as page:
        watch = Watch(page)
        page.goto(report.as_uri())
        wait_for_figures(page)
        # A table may be wide; the page itself never scrolls sideways.
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        # The styles are applied: on a wide page, the text has margins.
        assert width == 390 or page.evaluate("document.querySelector('main').clientWidth < window.innerWidth")
        page.evaluate(TWO_FRAMES)
        assert page.evaluate(DEFECTS) == []
    assert watch.requests == [report.as_uri()]
    assert watch.errors + watch.logged == []


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Why]:
    """The report of two tests on a shipped system, and the answer that it should open with."""
    folder = tmp_path_factory.mktemp("answered")
    tests = [*single_test("bw-rd", size=64).entries, *single_test("bw-wr", size=256).entries]
    run_work(Suite.of("two", "Two tests", tests), profile="snb", output=folder / "run.db")
    store = open_store(folder / "run.db")
    write_report([store], folder / "report.html")
    answer = why_stored(store)
    assert answer is not None
    return folder / "report.html", answer


def test_a_report_opens_with_three_sentences_and_a_picture(browser: Any, answered: tuple[Path, Why]) -> None:
    path, answer = answered
    assert path.stat().st_size < 1_000_000
    with browser.new_page(viewport={"width": 1400, "height": 900}) as page:
        watch = Watch(page)
        page.goto(path.as_uri())
        page.wait_for_selector("#answer [data-figure] svg .mark-rect", timeout=1e3 * HANGS_AFTER_SECONDS)
        said = page.locator(".answer").all_text_contents()
        assert said == list(answer.sentences)
        assert len(said) == 3
        picture = page.locator("#answer [data-figure] svg.marks").bounding_box()
        assert picture["y"] + picture["height"] < 900, "the picture is not on the first screen"
        sections = page.locator("main > section").evaluate_all("all => all.map(one => one.id)")
        assert (sections[0], sections[-1]) == ("answer", "runs")
    assert watch.requests == [path.as_uri()]
    assert watch.errors + watch.logged == []


@pytest.mark.parametrize("width", [1400, 390])
def test_a_folded_family_is_drawn_when_it_is_opened(
    browser: Any, tmp_path: Path, make_store: MakeStore, width: int
) -> None:
    path = tmp_path / "comparison.html"
    path.write_text(draw(compare(make_store("a"), make_store("b", scaled(1.1)))))
    with browser.new_page(viewport={"width": width, "height": 800}) as page:
        watch = Watch(page)
        page.goto(path.as_uri())
        page.wait_for_selector("#worst [data-figure] svg", timeout=1e3 * HANGS_AFTER_SECONDS)
        assert page.locator("details.folded svg").count() == 0
        page.click("#worst a >> nth=0")
        page.wait_for_selector("details.folded[open] [data-figure] svg", timeout=1e3 * HANGS_AFTER_SECONDS)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert watch.requests == [path.as_uri()]
    assert watch.errors + watch.logged == []
