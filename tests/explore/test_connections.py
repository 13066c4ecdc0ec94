"""Clients without the token cannot keep the page from answering, nor fill its log."""

import logging
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from moments import wait_until
from patience import HANGS_AFTER_SECONDS
from pcielab.explore.connections import Brief, most_connections

from .conftest import Served, serving
from .test_server import asked, port_of, requested

HALF_OPEN = 400
FILES = 256
MOST_LOG_BYTES = 10_000


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    """A server that may open few files, and its log."""
    log = tmp_path_factory.mktemp("connections") / "log"
    with serving("--stay", log=log, files=FILES) as served:
        yield served, log


def connect(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port_of(served)), timeout=HANGS_AFTER_SECONDS)


@pytest.mark.parametrize(
    "sent", [b"", b"POST /api/answer HTTP/1.1\r\nHost: x\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"]
)
def test_many_half_open_connections_leave_the_page_answering(watched: tuple[Served, Path], sent: bytes) -> None:
    served, log = watched
    with ExitStack() as opened:
        for _ in range(HALF_OPEN):
            connection = opened.enter_context(connect(served))
            try:
                connection.sendall(sent)
            except OSError:  # the server has closed it
                continue
        assert requested(served, "GET", "/", trusted=False)[0] == 200
        assert asked(served, "answer", {})[0] == 200
    assert log.stat().st_size < MOST_LOG_BYTES


def test_a_connection_with_the_token_is_kept(watched: tuple[Served, Path]) -> None:
    served, _ = watched
    with ExitStack() as opened:
        page = opened.enter_context(connect(served))
        head = f"GET /api/presence HTTP/1.1\r\nHost: 127.0.0.1:{port_of(served)}\r\n"
        head += f"X-Pcielab-Token: {served.token}\r\n\r\n"
        page.sendall(head.encode())
        assert page.recv(4096).startswith(b"HTTP/1.1 200")
        for _ in range(HALF_OPEN):
            opened.enter_context(connect(served))
        assert requested(served, "GET", "/", trusted=False)[0] == 200
        # It beats on.
        for _ in range(3):
            assert page.recv(4096)


def test_a_client_that_leaves_in_the_middle_of_a_request_is_no_error(watched: tuple[Served, Path]) -> None:
    served, log = watched
    before = log.read_text()
    head = (
        f"POST /api/answer HTTP/1.1\r\nHost: 127.0.0.1:{port_of(served)}\r\nOrigin: {served.origin}\r\n"
        f"X-Pcielab-Token: {served.token}\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n"
    )
    for _ in range(5):
        with connect(served) as connection:
            connection.sendall(head.encode())
            # The server waits for the body.
            wait_until(lambda connection=connection: connection.recv(4096).startswith(b"HTTP/1.1 100"))  # type: ignore[misc]
            connection.sendall(b"{")
    assert asked(served, "answer", {})[0] == 200
    assert log.read_text() == before


def test_requests_that_are_not_http_do_not_fill_the_log(watched: tuple[Served, Path]) -> None:
    served, log = watched
    for _ in range(HALF_OPEN):
        with connect(served) as connection:
            connection.sendall(b"\x16\x03\x01 no request\r\n\r\n")
            assert connection.recv(4096).startswith(b"HTTP/1.1 400")
    assert 0 < log.stat().st_size < MOST_LOG_BYTES


@pytest.mark.parametrize(("files", "expected"), [(20, 16), (256, 64), (1024, 256), (1 << 20, 256), (-1, 256)])
def test_connections_take_a_part_of_the_files(files: int, expected: int) -> None:
    assert most_connections(files) == expected


def test_a_log_stays_short_whatever_the_messages() -> None:
    brief = Brief()
    records = [logging.makeLogRecord({"msg": f"kind {number % 1000}"}) for number in range(10_000)]
    passed = [record.msg for record in records if brief.filter(record)]
    assert len(passed) < 300
    assert sum("left out" in message for message in passed) <= 51
