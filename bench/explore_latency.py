"""How long `pcielab explore` takes from a slider's move to the picture, and to the first simulated point.

Measured by the page itself, in Chromium, over moves of one slider. Prints the median and the worst.
"""

import os
import signal
import statistics
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
PCIELAB = Path(sys.executable).with_name("pcielab")
MOVES = 20
GOALS_MS = {"pictureMs": 50, "firstPointMs": 300}
SAID = {"pictureMs": "input to picture (closed form)", "firstPointMs": "input to the first simulated point"}


def moved(page: Page) -> dict[str, list[float]]:
    """Milliseconds of each move, by what was waited for."""
    found: dict[str, list[float]] = {name: [] for name in GOALS_MS}
    page.fill("#search", "host.root_complex.busy_read_ns")
    slider = page.locator('[data-key="host.root_complex.busy_read_ns"] input[type=range]')
    slider.focus()
    for _ in range(MOVES):
        slider.press("ArrowRight")
        page.wait_for_timeout(1500)
        for name in found:
            found[name].append(float(page.evaluate(f"document.documentElement.dataset.{name}")))
    return found


def main() -> None:
    """Measure and print."""
    if not CHROMIUM.exists():
        print(f"explore: not measured: no Chromium at {CHROMIUM}")
        return
    command = [str(PCIELAB), "explore", "--no-browser", "--stay"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=str(CHROMIUM), args=["--headless", "--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.goto(address)
            page.wait_for_selector("#ceilings .ceiling")
            page.wait_for_timeout(3000)
            found = moved(page)
            browser.close()
        os.kill(server.pid, signal.SIGINT)
    for name, times in found.items():
        middle, worst = statistics.median(times), max(times)
        print(f"explore: {SAID[name]}: median {middle:.0f} ms, worst {worst:.0f} ms (goal {GOALS_MS[name]} ms)")


if __name__ == "__main__":
    main()
