"""A server of `pcielab explore` as people start it, and a browser that looks at it."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from patience import HANGS_AFTER_SECONDS
from report.test_browser import CHROMIUM, FLAGS
from shell import PCIELAB, succeed


@dataclass(frozen=True)
class Served:
    """A server that is running.

    Attributes:
        address: With its token.
        process: The server.
    """

    address: str
    process: subprocess.Popen[str]

    @property
    def origin(self) -> str:
        """Where it is, without a path."""
        return self.address.partition("/#")[0]

    @property
    def token(self) -> str:
        """What lets a browser in."""
        return self.address.partition("token=")[2]


@contextmanager
def serving(*arguments: str | Path, browse: bool = False, **environment: str) -> Iterator[Served]:
    """A server, which is ended with Ctrl-C."""
    command = [PCIELAB, "explore", "--browser" if browse else "--no-browser", *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ | environment
    ) as process:
        assert process.stdout is not None
        try:
            yield Served(process.stdout.readline().strip(), process)
        finally:
            if process.poll() is None:
                os.kill(process.pid, signal.SIGINT)
                assert process.wait(timeout=HANGS_AFTER_SECONDS) == 0


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run."""
    path = tmp_path_factory.mktemp("explore") / "quick.db"
    succeed("run", "--profile", "snb", "--suite", "quick", "-o", path)
    return path


@pytest.fixture(scope="session")
def served(store: Path) -> Iterator[Served]:
    """A server that stays for all tests, with one store."""
    with serving("--stay", store) as one:
        yield one


@pytest.fixture
def browser() -> Iterator[Any]:
    """Chromium."""
    if not CHROMIUM.exists():
        pytest.skip(f"needs Chromium at {CHROMIUM}")
    sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        yield launched
        launched.close()


@dataclass
class Tab:
    """A page, and what it complained of."""

    page: Any
    complaints: list[str]
    requests: list[str]

    def data(self, name: str) -> str | None:
        """What the page says of itself: `settled`, `pictureMs`, `firstPointMs`."""
        found: str | None = self.page.evaluate(f"document.documentElement.dataset.{name}")
        return found

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait; looked at from outside, as the page's policy forbids it to evaluate text."""
        for _ in range(int(10 * HANGS_AFTER_SECONDS)):
            if condition():
                return
            self.page.wait_for_timeout(100)
        pytest.fail(f"not within minutes: {what}; the page says: {self.page.locator('#problem').inner_text()}")

    def settle(self) -> None:
        """Wait until every point of what is asked is there."""
        self.until(lambda: self.data("settled") == self.address, "every point")

    @property
    def address(self) -> str:
        """The state in the address."""
        return "?" + str(self.page.url).partition("?")[2] if "?" in self.page.url else "/"


OpenTab = Callable[..., Tab]


@pytest.fixture
def open_tab(browser: Any, served: Served) -> OpenTab:
    """Opens pages of the server; the first one takes the token."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})

    def opened(path: str = "/", **options: Any) -> Tab:
        page = context.new_page()
        page.set_default_timeout(1e3 * HANGS_AFTER_SECONDS)
        tab = Tab(page, [], [])
        page.on("pageerror", lambda error: tab.complaints.append(str(error)))
        page.on(
            "console",
            lambda said: tab.complaints.append(said.text) if said.type in ("error", "warning") else None,
        )
        page.on("request", lambda request: tab.requests.append(request.url))
        page.set_viewport_size({"width": options.get("width", 1400), "height": 900})
        page.emulate_media(color_scheme=options.get("scheme", "light"))
        page.goto(f"{served.origin}{path}#token={served.token}")
        return tab

    return opened
