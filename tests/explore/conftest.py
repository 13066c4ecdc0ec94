"""A server of `pcielab explore` as users start it, and a browser."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from browser import Watch, chromium
from patience import HANGS_AFTER_SECONDS
from shell import PCIELAB, succeed


@dataclass(frozen=True)
class Served:
    """A running server, and its address with the token."""

    address: str
    process: subprocess.Popen[str]

    @property
    def origin(self) -> str:
        """The address without a path."""
        return self.address.partition("/#")[0]

    @property
    def token(self) -> str:
        """The token that a browser needs."""
        return self.address.partition("token=")[2]


@contextmanager
def serving(
    *arguments: str | Path,
    browse: bool = False,
    log: Path | None = None,
    files: int | None = None,
    **environment: str,
) -> Iterator[Served]:
    """A server, which Ctrl-C ends.

    Args:
        arguments: What it serves, and options.
        browse: Whether it opens a browser.
        log: A file for its messages.
        files: How many files it may open.
        environment: Variables of its environment.
    """
    command = [PCIELAB, "explore", "--browser" if browse else "--no-browser", *map(str, arguments)]
    if files is not None:
        command = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command]
    with (
        (log or Path(os.devnull)).open("w") as messages,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=messages, text=True, env=os.environ | environment
        ) as process,
    ):
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
    """A server with one store, for all tests."""
    with serving("--stay", store) as one:
        yield one


@pytest.fixture(scope="module")
def launched() -> Iterator[Any]:
    """Chromium, once for the tests of a file."""
    with chromium() as one:
        yield one


@pytest.fixture
def browser(launched: Any) -> Iterator[Any]:
    """Chromium, whose pages end with the test."""
    yield launched
    for context in launched.contexts:
        context.close()


@dataclass
class Tab:
    """A page, its requests and complaints."""

    page: Any
    watch: Watch

    @property
    def requests(self) -> list[str]:
        return self.watch.requests

    @property
    def complaints(self) -> list[str]:
        return self.watch.errors + self.watch.logged

    def data(self, name: str) -> str | None:
        """A data attribute of the page: `settled`, `pictureMs`, `firstPointMs`."""
        found: str | None = self.page.evaluate(f"document.documentElement?.dataset.{name}")
        return found

    def until(self, condition: Callable[[], object], awaited: str) -> None:
        """Wait for a condition, evaluated outside the page: its policy forbids it to evaluate text."""
        for _ in range(int(10 * HANGS_AFTER_SECONDS)):
            if condition():
                return
            self.page.wait_for_timeout(100)
        pytest.fail(f"not within minutes: {awaited}; the page says: {self.page.locator('#problem').inner_text()}")

    def settle(self) -> None:
        """Wait until the page has every point."""
        self.until(lambda: self.data("settled") == self.address, "every point")

    @property
    def address(self) -> str:
        """The state in the address."""
        return "?" + str(self.page.url).partition("?")[2] if "?" in self.page.url else "/"


OpenTab = Callable[..., Tab]


@pytest.fixture
def open_tab(browser: Any, served: Served) -> OpenTab:
    """Opens pages of the server; the first one receives the token."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})

    def opened(path: str = "/", **options: Any) -> Tab:
        page = context.new_page()
        page.set_default_timeout(1e3 * HANGS_AFTER_SECONDS)
        tab = Tab(page, Watch(page))
        page.set_viewport_size({"width": options.get("width", 1400), "height": 900})
        page.emulate_media(color_scheme=options.get("scheme", "light"))
        page.goto(f"{served.origin}{path}#token={served.token}")
        return tab

    return opened
