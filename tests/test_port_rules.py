"""What the port refuses, what it puts in order, and how reads fail: in Python and in C, with the same answers."""

from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

import pytest

import port_in_c
from pcielab import _core
from pcielab.errors import InputError
from pcielab.library.profiles import resolve

if TYPE_CHECKING:
    from pcielab.library.profiles import ResolvedSystem

HOSTS = ["hsw2620", "snb-iommu", "clx-6234", "icx-6346"]
Opened = Callable[["ResolvedSystem"], Any]


@pytest.fixture(scope="module", params=["port", "C"])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """A function that makes a host, by each way."""
    if request.param == "port":
        return lambda system: _core.HostPort(system.handle, "cold", 0, 1)
    if not port_in_c.LIBRARY.exists() or which("cc") is None:
        pytest.skip("needs cc and the library: make target/debug/libpcie_port.a")
    library = port_in_c.shared_library(Path(tmp_path_factory.mktemp("library")))
    return lambda system: port_in_c.Port(library, system)


def events(port: Any) -> list[tuple[Any, ...]]:
    """All events until nothing is under way."""
    found = []
    while port.next_ps is not None:
        port.advance(port.next_ps)
        while (event := port.take()) is not None:
            found.append(event)
    return found


def completions(port: Any) -> list[tuple[Any, ...]]:
    return [event for event in events(port) if event[0] == "completion"]


def test_mps_mrrs_pages_tags_and_credits_are_checked(opened: Opened) -> None:
    system = resolve("hsw2620")
    link, port = system.system.link, opened(system)
    address = port.address(0)
    refused = [
        ("read", 1, address, link.mrrs_bytes + 4, "MRRS"),
        ("read", 1, address + 2, link.mrrs_bytes, "MRRS"),
        ("write", 0, address, link.mps_bytes + 4, "MPS"),
        ("relaxed-write", 0, address, link.mps_bytes + 4, "MPS"),
        ("read", 1, address, 0, "1 to"),
        ("read", 1, address + 4000, 200, "a multiple of 4096"),
        ("read", 1, 0, 64, "outside the host buffer"),
        ("read", 1 << 14, address, 64, "tag is 16384"),
    ]
    before = port.credits
    for kind, tag, at, length, named in refused:
        with pytest.raises(InputError, match=named):
            port.submit(kind, tag, at, length, 0)
    assert port.credits == before
    assert events(port) == []
    port.submit("read", 1, address, 64, 0)
    with pytest.raises(InputError, match=r"tag (1 )?is in use"):
        port.submit("read", 1, address, 64, 0)
    while port.has_room("write", 0, address, link.mps_bytes):
        port.submit("write", 0, address, link.mps_bytes, 0)
    headers, data, _ = port.credits
    assert headers == 0 or 16 * data < link.mps_bytes
    with pytest.raises(InputError, match=r"credits are left"):
        port.submit("write", 0, address, link.mps_bytes, 0)
    events(port)
    assert port.credits == before


@pytest.mark.parametrize("host", HOSTS)
def test_each_side_takes_the_time_of_the_profile(opened: Opened, host: str) -> None:
    """A read of 64 B in an idle machine: the device's port, the link, the host, the root port, the link."""
    system = resolve(host, ["iommu=off"])
    root, memory = system.system.host.root_complex, system.system.host.memory
    port = opened(system)
    address = port.address(0)
    left, arrived, _ = port.submit("read", 0, address, 64, 1000)
    assert arrived - left == pytest.approx(1000 * root.flight_ns, abs=1)
    [(_, at, *_)] = completions(port)
    # A completion takes about as long on the link as a write of its bytes; draws move the host's time by 3 %.
    completion_ps = opened(system).submit("write", 0, address, 64, 1000)[0] - 1000
    host_ps = at - arrived - 1000 * root.flight_ns - completion_ps
    profile_ps, refresh_ps = 1000 * (root.read_ns + memory.miss_ns), 1000 * memory.refresh.duration_ns
    assert 0.97 * profile_ps <= host_ps <= 1.03 * profile_ps + refresh_ps, (host_ps, profile_ps)


def test_a_read_and_an_interrupt_do_not_pass_relaxed_writes(opened: Opened) -> None:
    """A relaxed write passes one that waits for a page walk, where the root complex has a pool for writes."""
    done = {}
    for kind in ("write", "relaxed-write"):
        port = opened(resolve("clx-6234", ["iommu=four-kib-pages"]))
        near, far = port.address(0), port.address(1 << 20)
        port.submit("write", 0, near, 64, 0)
        events(port)
        later = 5_000_000
        _, walked, _ = port.submit("write", 0, far, 64, later)
        _, done[kind], _ = port.submit(kind, 0, near, 64, later)
        port.submit("read", 7, near, 64, later)
        port.submit("message", 0, 0, 0, later)
        found = events(port)
        assert min(at for what, at, *_ in found if what in ("completion", "message")) >= max(walked, done[kind])
    assert done["relaxed-write"] < walked == done["write"]


@pytest.mark.parametrize("outcome", ["unsupported", "aborted", "poisoned"])
def test_a_read_that_fails_says_so_and_frees_its_tag(opened: Opened, outcome: str) -> None:
    ports = [opened(resolve("hsw2620")) for _ in range(2)]
    for port, chosen in zip(ports, ("data", outcome), strict=True):
        port.submit("read", 3, port.address(64), 400, 0, chosen)
    good, failed = map(completions, ports)
    if outcome == "poisoned":
        assert failed == [(*completion[:-1], "poisoned") for completion in good]
    else:
        [(_, at, tag, address, length, byte_count, last, found)] = failed
        assert (tag, address, length, byte_count, last) == (3, ports[1].address(64), 0, 400, True)
        assert (found, at) == (outcome, good[-1][1])
    ports[1].submit("read", 3, ports[1].address(64), 64, good[-1][1])
    assert completions(ports[1])[-1][-1] == "data"


def test_a_lost_read_is_the_devices_to_notice(opened: Opened) -> None:
    port = opened(resolve("hsw2620"))
    address = port.address(0)
    port.submit("read", 3, address, 64, 0, "lost")
    port.submit("read", 4, address, 64, 0)
    assert [tag for _, _, tag, *_ in completions(port)] == [4]
    assert not port.has_room("read", 3, address, 64)
    timeout = 50_000_000
    port.advance(timeout)
    port.give_up(3)
    with pytest.raises(InputError, match="no read in flight"):
        port.give_up(3)
    port.submit("read", 3, address, 64, timeout)
    assert [tag for _, _, tag, *_ in completions(port)] == [3]


def test_completions_that_come_after_a_timeout_reach_nobody(opened: Opened) -> None:
    port = opened(resolve("hsw2620"))
    address = port.address(0)
    port.submit("read", 3, address, 64, 0)
    port.give_up(3)
    assert not port.has_room("read", 3, address, 64)
    assert completions(port) == []
    assert port.has_room("read", 3, address, 64)


def test_only_reads_fail(opened: Opened) -> None:
    port = opened(resolve("hsw2620"))
    with pytest.raises(InputError, match="reads"):
        port.submit("write", 0, port.address(0), 64, 0, "lost")


def test_unknown_kinds_and_outcomes_are_refused() -> None:
    port = _core.HostPort(resolve("hsw2620").handle, "cold", 0, 1)
    address = port.address(0)
    assert address is not None
    with pytest.raises(InputError, match="give read, write, relaxed-write or message"):
        port.submit("copy", 0, address, 64, 0)
    with pytest.raises(InputError, match="outcome is late: give one of data, poisoned"):
        port.submit("read", 0, address, 64, 0, "late")
