"""The server answers only those with its token, refuses hostile requests, and leaves no process."""

import http.client
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moments import wait_until
from patience import HANGS_AFTER_SECONDS
from pcielab import InputError
from pcielab.explore.answers import taken_out
from pcielab.explore.guard import MOST_BYTES
from pcielab.explore.question import Question, Systems, question_of
from pcielab.explore.stores import Stores
from shell import refuse

from .conftest import OpenTab, Served, serving

ATTACK = "</script><img src=x onerror=window.hacked=1>"


def port_of(served: Served) -> int:
    return int(served.origin.rpartition(":")[2])


def requested(
    served: Served, method: str, path: str, body: object = None, *, trusted: bool = True, **headers: str
) -> tuple[int, str, dict[str, str]]:
    """The server's answer: status, body, head."""
    port = port_of(served)
    given = {"Host": f"127.0.0.1:{port}", "Origin": served.origin} | (
        {"X-Pcielab-Token": served.token} if trusted else {}
    )
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANGS_AFTER_SECONDS)
    text = body if isinstance(body, str) else json.dumps(body)
    connection.request(method, path, text if body is not None else None, {k: v for k, v in given.items() if v})
    answer = connection.getresponse()
    found = answer.status, answer.read().decode(), {name.lower(): value for name, value in answer.getheaders()}
    connection.close()
    return found


def asked(served: Served, name: str, question: object, *, trusted: bool = True, **headers: str) -> tuple[int, Any]:
    status, body, _ = requested(served, "POST", f"/api/{name}", question, trusted=trusted, **headers)
    return status, json.loads(body) if body.startswith(("{", "[")) else body


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"X_Pcielab_Token": "x"}, 403),
        ({"X_Pcielab_Token": ""}, 403),
    ],
)
def test_pages_of_other_sites_and_other_users_are_refused(
    served: Served, headers: dict[str, str], status: int
) -> None:
    assert asked(served, "answer", {})[0] == 200
    assert asked(served, "answer", {}, **headers)[0] == status


def test_without_the_token_only_public_files_are_served(served: Served, store: Path) -> None:
    for path in ("/", "/stores", "/vega.js", "/pages/pages.css"):
        status, body, head = requested(served, "GET", path, trusted=False)
        assert status == 200
        # The browser would send a cookie to all servers of this machine, other users' included.
        assert "set-cookie" not in head
        assert served.token not in body
        assert store.name not in body
    for path in ("/api/setting", "/api/presence", f"/api/setting?token={served.token}"):
        status, body, _ = requested(served, "GET", path, trusted=False)
        assert (status, json.loads(body)["problem"].startswith("open the address")) == (403, True)
    cookie = f"pcielab-{served.origin.rpartition(':')[2]}={served.token}"
    assert asked(served, "answer", {}, trusted=False, Cookie=cookie)[0] == 403


NOBODY = 65534


def status_for_nobody(served: Served, path: str) -> int:
    """The status of an answer to another user of this machine; needs root."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.setuid(NOBODY)
            os.write(writing, str(requested(served, "GET", path, trusted=False)[0]).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(process, 0)
    with os.fdopen(reading) as answer:
        return int(answer.read())


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tuple[Served, str]]:
    """A server that opens a browser, and the address that the browser is given."""
    browser, given = tmp_path / "browser", tmp_path / "given"
    browser.write_text(f'#!/bin/sh\necho "$@" > {given}.part && mv {given}.part {given}\n')
    browser.chmod(0o755)
    with serving("--stay", browse=True, BROWSER=f"{browser} %s") as served:
        wait_until(given.exists)
        yield served, given.read_text().strip()


def test_the_browsers_address_has_no_token_and_works_once(opened: tuple[Served, str]) -> None:
    served, address = opened
    assert address.startswith(f"{served.origin}/open?once=")
    assert served.token not in address
    path = address.removeprefix(served.origin)
    for wrong in ("/open", "/open?once=x", f"{path}x"):
        assert requested(served, "GET", wrong, trusted=False)[0] == 403
    if os.geteuid() == 0:
        assert status_for_nobody(served, path) == 403
    status, _, head = requested(served, "GET", path, trusted=False)
    assert (status, head["location"]) == (303, f"/#token={served.token}")
    assert requested(served, "GET", path, trusted=False)[0] == 403


def test_the_opened_page_has_access(opened: tuple[Served, str], browser: Any) -> None:
    served, address = opened
    page = browser.new_page()
    page.set_default_timeout(1e3 * HANGS_AFTER_SECONDS)
    page.goto(address)
    page.wait_for_selector("#ceilings .ceiling")
    assert page.url == f"{served.origin}/"
    page.goto(f"{served.origin}/stores")
    page.wait_for_selector("html[data-settled]")
    other = browser.new_page()
    other.set_default_timeout(1e3 * HANGS_AFTER_SECONDS)
    other.goto(f"{served.origin}/")
    other.wait_for_selector("#problem:not([hidden])")
    assert "open the address" in other.locator("#problem").inner_text()


def test_pages_load_only_from_their_server_and_cannot_be_framed(served: Served) -> None:
    _, _, head = requested(served, "GET", "/")
    assert head["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
    assert "frame-ancestors 'none'" in head["content-security-policy"]
    assert head["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "name",
    [
        "../app.py",
        "..%2fapp.py",
        "%2e%2e%2f__init__.py",
        "....//app.py",
        "/etc/passwd",
        "explore.js%00.css",
        "template",
    ],
)
def test_no_path_leaves_the_folder_of_pages(served: Served, name: str) -> None:
    status, body, _ = requested(served, "GET", f"/pages/{name}")
    assert (status, "import" in body, "root:" in body) == (404, False, False)


def test_a_question_that_is_too_long_is_refused_without_a_length_too(served: Served) -> None:
    assert asked(served, "answer", {"system": "x" * MOST_BYTES})[0] == 413
    port = port_of(served)
    with socket.create_connection(("127.0.0.1", port), timeout=HANGS_AFTER_SECONDS) as connection:
        head = (
            f"POST /api/answer HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {served.origin}\r\n"
            f"X-Pcielab-Token: {served.token}\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        connection.sendall(head.encode())
        chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
        try:
            for _ in range(2 * MOST_BYTES // 0x4000):
                connection.sendall(chunk)
            connection.sendall(b"0\r\n\r\n")
            answer = connection.recv(4096)
        except OSError:
            answer = b""
    # The server may close the connection before all of it was sent.
    assert answer == b"" or b" 413 " in answer
    assert asked(served, "answer", {})[0] == 200


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ({"system": "../../etc/passwd"}, "system"),
        ({"system": "/etc/passwd"}, "system"),
        ({"system": "mine.toml"}, "system"),
        ({"sets": {"host": "/etc/passwd"}}, "change single values"),
        ({"sets": {"host.llc.ddio_ways": 99}}, "at most ways"),
        ({"sets": {ATTACK: 1}}, "unknown key"),
        ({"sets": {f"k{number}": 1 for number in range(101)}}, "100"),
        ({"size": 10**12}, "size"),
        ({"size": 10**400}, "size"),
        ({"window": 1}, "give 64 or more"),
        ({"size": 5000}, "multiple"),
        ({"bandwidth": "rm -rf"}, "bandwidth"),
        ({"seed": -1}, "seed"),
        ({"unknown": 1}, "unknown"),
        ([], "question"),
        ("[" * 30_000, "not JSON"),
        ("{", "not JSON"),
    ],
)
def test_a_hostile_question_is_refused(served: Served, question: object, expected: str) -> None:
    status, found = asked(served, "answer", question)
    assert status == 422
    assert expected in found["problem"]
    points = {"question": question, "page": "p"} if isinstance(question, dict) else question
    assert asked(served, "points", points)[0] == 422


@pytest.mark.parametrize("number", [1, -1, "0", True, None, "/etc/passwd", 1.5])
def test_only_given_stores_are_read(served: Served, number: object) -> None:
    for name in ("tests", "overlay", "distribution"):
        assert asked(served, name, {"store": number, "test": 0})[0] == 422
    assert asked(served, "compare", {"a": 0, "b": number})[0] == 422


@pytest.mark.parametrize(
    "fabric",
    [
        {"name": "../x"},
        {"name": "fabrex-u55c", "method": "magic"},
        {"name": "fabrex-u55c", "flows": [{"source": "host1", "destination": "nowhere"}]},
        {"name": "fabrex-u55c", "flows": [{}] * 201},
        {"name": "fabrex-u55c", "flows": "all"},
        {"name": "fabrex-u55c", "flows": [{"source": "host1", "destination": "C", "outstanding": 10**9}]},
    ],
)
def test_a_hostile_fabric_is_refused(served: Served, fabric: object) -> None:
    assert asked(served, "fabric", fabric)[0] == 422


def test_each_flow_of_a_fabric_fits_or_not(served: Served) -> None:
    status, found = asked(served, "fabric", {"name": "separating", "set": "all"})
    assert status == 200
    assert {flow["name"]: flow["fits"] for flow in found["flows"]} == {"f1": False, "f2": False, "f3": False}
    flows = [{"source": "H", "destination": "A"}]
    assert asked(served, "fabric", {"name": "separating", "flows": flows})[1]["flows"][0]["fits"] is True


def test_script_in_names_stays_text(tmp_path: Path, open_tab: OpenTab) -> None:
    tab = open_tab(f"/?system=snb&sets={ATTACK}&set={ATTACK}=1&pin=system%3D{ATTACK}")
    tab.until(lambda: tab.page.locator("#problem").is_visible(), "the problem")
    assert tab.page.evaluate("window.hacked") is None
    assert tab.page.evaluate("document.querySelectorAll('[onerror]').length") == 0


def test_a_given_file_is_listed_and_named_by_its_path_in_commands(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\ntitle = "Mine"\nbase = "snb"\n[provenance]\nsource = "me"\n')
    systems = Systems({"mine": str(path)})
    question = question_of({"system": "mine", "sets": {"host.llc.ddio_ways": 4}})
    assert systems.names[0] == "mine"
    assert f"--profile {path} --set host.llc.ddio_ways=4" in taken_out(question, systems)["run"]
    with pytest.raises(InputError):
        systems.resolved(Question(system=str(path)))


def test_an_unreadable_store_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "no.db").write_text("no store")
    assert "no.db" in refuse("explore", "--no-browser", tmp_path / "no.db")
    with pytest.raises(InputError):
        Stores([tmp_path / "absent.db"])


def gone(process: subprocess.Popen[str], port: int) -> bool:
    """Whether a server has ended, and no process listens on its port."""
    process.wait(timeout=HANGS_AFTER_SECONDS)
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_is_killed_during_a_simulation_leaves_no_process(sent: signal.Signals) -> None:
    with serving("--stay") as served:
        port = port_of(served)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANGS_AFTER_SECONDS)
        head = {"Origin": served.origin, "X-Pcielab-Token": served.token}
        question = {"page": "p", "question": {"system": "ib-000", "window": 1 << 26}}
        connection.request("POST", "/api/points", json.dumps(question), head)
        connection.getresponse().read(10)
        children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()
        os.kill(served.process.pid, sent)
        assert gone(served.process, port)
        assert children == []


def test_a_server_ends_when_its_last_page_is_closed(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as served:
        port = port_of(served)
        page = browser.new_page()
        page.goto(served.address)
        page.wait_for_selector("#ceilings .ceiling")
        page.goto(f"{served.origin}/fabrics")
        page.wait_for_selector("#tree circle")
        assert served.process.poll() is None
        page.close()
        assert gone(served.process, port)
        assert served.process.returncode == 0
