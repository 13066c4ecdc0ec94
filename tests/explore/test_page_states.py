"""Random states of pages without a server: reloaded from the copied address, they show the command's numbers."""

import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from shell import Done, pcielab

from .conftest import Tab
from .page_states import states
from .test_site import BUILT, NONE, Quiet, opened

STATES = int(os.environ.get("PCIELAB_STATES", "3"))
"""Random states of each page."""
PATHS = ("/", "/x/", "/x/y/")


class BelowAnyPath(Quiet):
    """Serves the page below each of the paths."""

    def translate_path(self, path: str) -> str:
        return super().translate_path(re.sub(r"^/x(/y)?/", "/", path))


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """The address of a web server with the page below each path."""
    if not (BUILT / "index.html").exists():
        pytest.skip("needs the page: make page, with rustup or Rust's target wasm32-unknown-unknown")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(BelowAnyPath, directory=str(BUILT)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def table_of(tab: Tab, table: str) -> list[list[str | float]]:
    """The cells of a table, with all digits."""
    cells = tab.page.locator(f"#{table} tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.title || cell.textContent))"
    )
    return [numbers_in(row) for row in cells]


def numbers_in(cells: Iterable[Any]) -> list[str | float]:
    """Cells as numbers where they are: JavaScript writes 60 for Python's 60.0."""
    texts = [NONE if cell is None else str(cell) for cell in cells]
    return [float(text) if re.fullmatch(r"[-+]?\d[-+\d.e]*", text) else text for text in texts]


def check_answer(tab: Tab, done: list[Done]) -> None:
    """The sentences of `why`, and its tables."""
    answer = json.loads(done[0].stdout)
    assert tab.page.locator("#sentences li").all_inner_texts() == answer["sentences"]


def check_nic(tab: Tab, done: list[Done]) -> None:
    check_answer(tab, done)
    answer = json.loads(done[0].stdout)
    assert tab.page.inner_text("#asked") == answer["question"]
    assert tab.page.locator("#notes p").all_inner_texts() == answer["notes"]
    assert table_of(tab, "rows") == [numbers_in(row.values()) for row in answer["rows"]]
    changes = [numbers_in((one["what"], one["before"], one["after"])) for one in answer["changes"]]
    assert [row[:3] for row in table_of(tab, "changes")] == changes


SENT = ("payload_bytes", "way", "buffers", "downstream_bytes", "upstream_bytes", "latency_ns", "cpu_ns", "gbps")


def check_messages(tab: Tab, done: list[Done]) -> None:
    messages, crossings = (json.loads(one.stdout) for one in done)
    assert [row[:-1] for row in table_of(tab, "messages")] == [
        numbers_in(row[key] for key in SENT) for row in messages
    ]
    wins = [numbers_in((row["first_bytes"], row["from_bytes"])) for row in crossings]
    assert [row[1:] for row in table_of(tab, "crossings")] == wins


def commands_of(tab: Tab) -> list[str]:
    """The commands of a page, once it has settled."""
    tab.until(lambda: tab.data("settled"), "the answer")
    return str(tab.page.text_content("#command")).splitlines()


def command_of_measured(tab: Tab) -> list[str]:
    tab.until(lambda: tab.page.locator("#sentences li").count() == 3, "the sentences")
    tab.page.click("#take-out summary")
    tab.until(lambda: tab.page.locator("#taken-why").count(), "the commands")
    return [tab.page.inner_text("#taken-why")]


@pytest.mark.parametrize(
    ("page", "commands", "check"),
    [
        ("nics", commands_of, check_nic),
        ("messages", commands_of, check_messages),
        ("measured", command_of_measured, check_answer),
    ],
)
def test_a_random_state_has_the_numbers_of_its_command_after_a_reload(
    browser: Any,
    origin: str,
    page: str,
    commands: Callable[[Tab], list[str]],
    check: Callable[[Tab, list[Done]], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    answered = 0
    for nth, state in enumerate(states(page, STATES)):
        first = opened(browser, f"{origin}{PATHS[nth % len(PATHS)]}{state}")
        commands(first)
        first.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        first.page.click("#share")
        first.until(lambda: "copied" in first.page.inner_text("#state"), "that it is copied")  # noqa: B023
        tab = opened(browser, first.page.evaluate("navigator.clipboard.readText()"))
        done = [pcielab(*shlex.split(line)[1:], "--format", "json") for line in commands(tab)]
        refused = tab.page.locator("#problem").is_visible()
        assert refused == any(one.exit_code for one in done), state
        if not refused:
            answered += 1
            check(tab, done)
        assert tab.watch.errors == []
        for one in (first, tab):
            one.page.context.close()
    assert answered >= 0.6 * STATES
