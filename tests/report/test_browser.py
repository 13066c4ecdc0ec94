"""The page in a real browser: nothing leaves it, nothing goes wrong, and every figure appears."""

from pathlib import Path
from typing import Any

import pytest

from patience import HANGS_AFTER_SECONDS
from pcielab.report import write_report

from .conftest import MakeStore, system

CHROMIUM = Path("/usr/bin/chromium")
# Chromium talks to its maker unless it is told not to.
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"needs Chromium at {CHROMIUM}")
EVERY_FIGURE_IS_DRAWN = (
    "[...document.querySelectorAll('[data-figure]')]"
    ".every(figure => figure.querySelector('svg .mark-line path, svg .mark-symbol path'))"
)

WHAT_IS_WRONG = """() => [...document.querySelectorAll('[data-figure]')].flatMap(figure => {
  const card = figure.closest('figure').getBoundingClientRect(), drawing = figure.querySelector('svg');
  const menu = figure.querySelector('summary').getBoundingClientRect(), whole = drawing.getBoundingClientRect();
  const wrong = whole.right > card.right + 1 ? ['is wider than its card'] : [];
  for (const text of drawing.querySelectorAll('text')) {
    const box = text.getBoundingClientRect(), words = text.textContent;
    if (!box.width) continue;
    const outside = box.right > card.right + 1 || box.left < card.left - 1 || box.bottom > whole.bottom + 1;
    if (outside) wrong.push(`cuts ${words}`);
    if (words.endsWith('…')) wrong.push(`shortens ${words}`);
    if (box.right > menu.left && box.left < menu.right && box.bottom > menu.top && box.top < menu.bottom)
      wrong.push(`has its menu over ${words}`);
  }
  return wrong.map(what => `${figure.dataset.figure} ${what}`);
})"""
"""Sentences about what cannot be read in the figures of a page."""
MANY_CHANGES = {f"host.iommu.what_takes_long_{number}_ns": 300 + number for number in range(8)}
"""What makes the name of a run longer than any page is wide."""


def wait_for_figures(page: Any) -> None:
    # Looked at from outside: the page's own policy forbids it to evaluate text, this condition's too.
    for _ in range(int(10 * HANGS_AFTER_SECONDS)):
        if page.evaluate(EVERY_FIGURE_IS_DRAWN):
            return
        page.wait_for_timeout(100)
    pytest.fail("not every figure was drawn within minutes")


@pytest.mark.parametrize("width", [1400, 390])
def test_nothing_is_cut_or_covered(tmp_path: Path, make_store: MakeStore, width: int) -> None:
    sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright
    path = tmp_path / "report.html"
    other = make_store("b", system=system(name="other", memory_socket=1), overrides=MANY_CHANGES)
    write_report([make_store("a"), other], path, measured=make_store("c", origin="measured"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(path.as_uri())
        wait_for_figures(page)
        page.wait_for_timeout(1000)
        assert page.evaluate(WHAT_IS_WRONG) == []
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        browser.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_request_leaves_the_page_and_no_error_is_logged(
    tmp_path: Path, make_store: MakeStore, scheme: str
) -> None:
    sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright
    path = tmp_path / "report.html"
    other = make_store("b", system=system(name="other", memory_socket=1))
    write_report([make_store("a"), other], path, measured=make_store("c", origin="measured"))
    requests: list[str] = []
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None,
        )
        page.goto(path.as_uri())
        wait_for_figures(page)
        # A table may be wide; the page itself never scrolls sideways.
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        # Styles have arrived: the text stands in a column, not from edge to edge.
        assert page.evaluate("document.querySelector('main').clientWidth < window.innerWidth")
        browser.close()
    assert requests == [path.as_uri()]
    assert complaints == []
