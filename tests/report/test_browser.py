"""The page in a real browser: nothing leaves it, nothing goes wrong, and every figure appears."""

from pathlib import Path

import pytest

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
        # Looked at from outside: the page's own policy forbids it to evaluate text, this condition's too.
        for _ in range(600):
            if page.evaluate(EVERY_FIGURE_IS_DRAWN):
                break
            page.wait_for_timeout(100)
        else:
            pytest.fail("not every figure was drawn within a minute")
        # A table may be wide; the page itself never scrolls sideways.
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        # Styles have arrived: the text stands in a column, not from edge to edge.
        assert page.evaluate("document.querySelector('main').clientWidth < window.innerWidth")
        browser.close()
    assert requests == [path.as_uri()]
    assert complaints == []
