"""Chromium, for tests that open pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
# Without these, Chromium contacts its vendor.
_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@contextmanager
def chromium() -> Iterator[Any]:
    """A running browser; skips the test where there is none."""
    if not CHROMIUM.exists():
        pytest.skip(f"needs Chromium at {CHROMIUM}")
    with pytest.importorskip("playwright.sync_api").sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=_FLAGS)
        yield browser
        browser.close()


class Watch:
    """The requests and complaints of a page, from now on.

    Attributes:
        requests: URLs that the page requests, without its own memory (`blob:`).
        errors: Exceptions that its scripts do not catch.
        logged: Errors and warnings on its console.
    """

    def __init__(self, page: Any) -> None:
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.logged: list[str] = []
        page.on("request", self._requested)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console", lambda said: self.logged.append(said.text) if said.type in ("error", "warning") else None
        )

    def _requested(self, request: Any) -> None:
        if not request.url.startswith("blob:"):
            self.requests.append(request.url)
