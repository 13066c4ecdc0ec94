"""`pcielab simbricks` with a device in Python, over a socket and shared memory: its times are those of a trace."""

import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from moments import wait_until
from patience import HANGS_AFTER_SECONDS
from pcielab import load_system
from pcielab.port import trace
from pcielab.port.simbricks import time_of_a_read
from shell import refuse

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="SimBricks needs Linux")

ENTRY, ENTRIES = 9088, 64
LATENCY_PS = 500_000
TRANSFERS = [(0, False, 0, 512), (1000, True, 4096, 256), (2000, False, 4096, 256), (9000, False, 70_000, 64)]
TRACE = "# pcielab trace 1\n" + "".join(
    f"{ready} {'write' if write else 'read'} {offset} {size}\n" for ready, write, offset, size in TRANSFERS
)


class Device:
    """A device that listens on a socket."""

    def __init__(self, path: Path) -> None:
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()

    def greet(self, flags: int = 0) -> None:
        """Accept the brick, and share two rings with it, in a file with the flags of memfd_create(2)."""
        ring = ENTRY * ENTRIES
        self.file = file = os.memfd_create("device", flags)
        os.ftruncate(file, 2 * ring)
        self.memory = mmap.mmap(file, 2 * ring)
        self.socket, _ = self.listener.accept()
        hello = struct.pack("<10Q", 1, 1, 0, ENTRY, ENTRIES, ring, ENTRY, ENTRIES, 2, 80) + bytes(119)
        socket.send_fds(self.socket, [hello], [file])
        answer = self.socket.recv(36, socket.MSG_WAITALL)
        assert struct.unpack("<4Q", answer[:32])[0::2] == (1, 2)
        self.sent = self.taken = 0

    def send(self, kind: int, stamp: int, fields: bytes = b"", data: bytes = b"") -> None:
        """Send a message."""
        start = self.sent % ENTRIES * ENTRY
        assert self.memory[start + 63] < 0x80
        self.memory[start : start + len(fields)] = fields
        self.memory[start + 48 : start + 56] = struct.pack("<Q", stamp)
        self.memory[start + 64 : start + 64 + len(data)] = data
        self.memory[start + 63] = 0x80 | kind
        self.sent += 1

    def received(self, brick: "subprocess.Popen[str]") -> Iterator[tuple[int, int, int, bytes]]:
        """Kind, stamp, request and data of each message, until the brick ends."""
        while True:
            start = ENTRIES * ENTRY + self.taken % ENTRIES * ENTRY
            wait_until(lambda: self.memory[start + 63] >= 0x80 or brick.poll() is not None)  # noqa: B023
            owner = self.memory[start + 63]
            assert owner >= 0x80, "the brick has ended"
            request, stamp = struct.unpack_from("<Q40xQ", self.memory, start)
            data = self.memory[start + 64 : start + 64 + 512]
            self.memory[start + 63] = owner & 0x7F
            self.taken += 1
            yield owner & 0x7F, stamp, request, data


def test_a_device_in_python_gets_the_times_and_the_data(tmp_path: Path) -> None:
    device = Device(tmp_path / "dev.sock")
    command = [sys.executable, "-m", "pcielab", "simbricks", "--profile", "snb", "--device", "dev.sock"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as brick:
        device.greet()
        for number, (ready, write, offset, size) in enumerate(TRANSFERS):
            fields = struct.pack("<QQH", number, offset, size)
            data = bytes(n % 256 for n in range(size)) if write else b""
            device.send(0x41 if write else 0x40, ready + LATENCY_PS, fields, data)
        stamps, read = {}, {}
        for kind, stamp, request, data in device.received(brick):
            if kind in (0x62, 0x63):
                stamps[request], read[request] = stamp, data
            if len(stamps) == len(TRANSFERS):
                break
            device.send(0x00, stamp + LATENCY_PS)
        device.send(0x01, stamp + LATENCY_PS)
        assert brick.wait(HANGS_AFTER_SECONDS) == 0, brick.stderr and brick.stderr.read()
        assert brick.stderr is not None
        assert f"{len(TRANSFERS) + 1} messages" in brick.stderr.read()
    played = trace.play(load_system("snb"), TRACE)
    assert [stamps[n] for n in range(len(TRANSFERS))] == [one.done_ps + 2 * LATENCY_PS for one in played]
    assert read[2][:256] == bytes(range(256))


def test_the_time_of_a_read_and_what_hides_the_simulated_host_are_printed(tmp_path: Path) -> None:
    (tmp_path / "dev.sock").write_text("")
    with started(tmp_path, "--host", "host.sock") as brick:
        code, messages = ended(brick)
    assert code == 2
    [read] = trace.play(load_system("hsw2620"), f"{trace.HEADER}\n0 read 0 64\n")
    alone_ns = read.done_ps / 1000
    assert alone_ns < 1000
    assert (
        "note: a read of 64 B takes 2000 ns: 2 x 500 ns to the device and back, and 2 x 500 ns to the other host "
        f"and back, behind which the {alone_ns:.0f} ns of the simulated link and host do not show"
    ) in messages
    system = load_system("hsw2620")
    assert time_of_a_read(system, 100, host=True).startswith(f"a read of 64 B takes {200 + alone_ns:.0f} ns")
    assert time_of_a_read(system, 500, host=False).endswith(f"{alone_ns:.0f} ns of link and host")


@pytest.mark.parametrize(
    "command", [("simbricks", "--device", "dev.sock"), ("trace", "play", "dma.trace")], ids=lambda words: words[0]
)
def test_a_change_of_the_device_that_is_elsewhere_is_refused(command: tuple[str, ...]) -> None:
    assert "--set device.dma.outstanding=4" in refuse(*command, "--set", "device.dma.outstanding=4")


def test_a_device_that_goes_away_is_an_error(tmp_path: Path) -> None:
    device = Device(tmp_path / "dev.sock")
    command = [sys.executable, "-m", "pcielab", "simbricks", "--device", "dev.sock"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as brick:
        device.greet()
        device.socket.close()
        assert brick.wait(HANGS_AFTER_SECONDS) == 1
        assert brick.stderr is not None
        assert "dev.sock: has closed its socket without ending the connection" in brick.stderr.read()


def started(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """A brick with one device."""
    command = [sys.executable, "-m", "pcielab", "simbricks", "--device", "dev.sock", *arguments]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)


def ended(brick: "subprocess.Popen[str]") -> tuple[int, str]:
    """Exit code and messages of a brick."""
    _, messages = brick.communicate(timeout=HANGS_AFTER_SECONDS)
    return brick.returncode, messages


def test_a_device_that_cuts_its_rings_short_is_an_error(tmp_path: Path) -> None:
    device = Device(tmp_path / "dev.sock")
    with started(tmp_path) as brick:
        device.greet()
        os.ftruncate(device.file, 0)
        code, messages = ended(brick)
    assert (code, "dev.sock: has cut the file with its rings short" in messages) == (1, True), messages


def test_rings_in_a_file_that_can_be_sealed_cannot_be_cut_short(tmp_path: Path) -> None:
    device = Device(tmp_path / "dev.sock")
    with started(tmp_path) as brick:
        device.greet(os.MFD_ALLOW_SEALING)
        with pytest.raises(PermissionError):
            os.ftruncate(device.file, 0)
        device.send(0x01, LATENCY_PS)
        assert ended(brick)[0] == 0


def test_the_rings_for_a_host_are_sealed(tmp_path: Path) -> None:
    device = Device(tmp_path / "dev.sock")
    with started(tmp_path, "--host", "host.sock") as brick, socket.socket(socket.AF_UNIX) as host:
        device.greet()
        wait_until((tmp_path / "host.sock").exists)
        host.connect(str(tmp_path / "host.sock"))
        _, (file, *_), _, _ = socket.recv_fds(host, 199, 1)
        for length in (0, 1 << 30):
            with pytest.raises(PermissionError):
                os.ftruncate(file, length)
        host.close()
        assert ended(brick)[0] == 1


@pytest.mark.parametrize("greets", [False, True])
def test_ctrl_c_ends_a_brick_that_waits(tmp_path: Path, greets: bool) -> None:
    """For the device, and for the host."""
    path = tmp_path / "host.sock"
    with started(tmp_path, "--host", "host.sock", "--patience-s", "86400") as brick:
        wait_until(lambda: path.exists() or brick.poll() is not None)
        if greets:
            device = Device(tmp_path / "dev.sock")
            device.greet()
        brick.send_signal(signal.SIGINT)
        assert ended(brick)[0] == 130
    assert not path.exists()


def test_a_file_that_took_the_place_of_the_socket_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "host.sock"
    with started(tmp_path, "--host", "host.sock") as brick:
        wait_until(lambda: path.exists() or brick.poll() is not None)
        path.unlink()
        path.write_text("mine")
        device = Device(tmp_path / "dev.sock")
        device.greet()
        device.socket.close()
        brick.send_signal(signal.SIGINT)
        assert ended(brick)[0] == 130
    assert path.read_text() == "mine"


def test_a_killed_brick_leaves_a_socket_and_the_next_one_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "host.sock"
    with started(tmp_path, "--host", "host.sock") as brick:
        wait_until(lambda: path.exists() or brick.poll() is not None)
        with started(tmp_path, "--host", "host.sock") as second:
            code, messages = ended(second)
            assert (code, "another program listens there: give another path" in messages) == (2, True), messages
        assert brick.poll() is None
        brick.kill()
    with started(tmp_path, "--host", "host.sock") as brick:
        code, messages = ended(brick)
    assert code == 2
    assert (
        "nobody listens on the socket there, which a killed program has left: remove it (rm host.sock)" in messages
    )
    assert path.is_socket()


def test_a_device_that_is_no_socket_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "dev.sock").write_text("")
    with started(tmp_path, "--patience-s", "86400") as brick:
        code, messages = ended(brick)
    assert (code, "dev.sock: is not a socket" in messages) == (2, True), messages


@pytest.mark.parametrize("option", ["--latency-ns", "--patience-s"])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_times_that_are_no_numbers_are_refused(tmp_path: Path, option: str, value: str) -> None:
    assert option.strip("-").partition("-")[0] in refuse(
        "simbricks", "--device", tmp_path / "x", f"{option}={value}"
    )
