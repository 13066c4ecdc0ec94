"""Delay of `pcielab explore` from a slider's move to the picture, and to the first simulated point.

The page measures itself, in Chromium, over moves of one slider.
"""

import os
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

_CHROMIUM = Path("/usr/bin/chromium")
_PCIELAB = Path(sys.executable).with_name("pcielab")
_KEY = "host.root_complex.busy_read_ns"
_MOVES = 20
_APART_MS = 1500
_WAITED = {"pictureMs": ("closed form in the picture", 50), "firstPointMs": ("first simulated point", 300)}


@dataclass(frozen=True)
class Waiting:
    """Delay of one effect of a slider's move."""

    what: str
    median_ms: float
    worst_ms: float
    goal_ms: int


def waitings() -> list[Waiting]:
    """Measure the delays of the closed form and of the first simulated point; empty without Chromium."""
    if not _CHROMIUM.exists():
        return []
    with _served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(_CHROMIUM), args=["--headless", "--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(address)
        page.wait_for_selector("#ceilings .ceiling")
        page.wait_for_timeout(2 * _APART_MS)
        times = _moved(page)
        browser.close()
    return [
        Waiting(what, statistics.median(times[name]), max(times[name]), goal)
        for name, (what, goal) in _WAITED.items()
    ]


def _moved(page: Page) -> dict[str, list[float]]:
    """The delays of each move, ms."""
    found: dict[str, list[float]] = {name: [] for name in _WAITED}
    page.fill("#search", _KEY)
    slider = page.locator(f'[data-key="{_KEY}"] input[type=range]')
    slider.focus()
    for _ in range(_MOVES):
        slider.press("ArrowRight")
        page.wait_for_timeout(_APART_MS)
        for name, times in found.items():
            times.append(float(page.evaluate(f"document.documentElement.dataset.{name}")))
    return found


@contextmanager
def _served() -> Iterator[str]:
    command = [str(_PCIELAB), "explore", "--no-browser", "--stay"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            os.kill(server.pid, signal.SIGINT)
