"""Traces are recorded, played and made from captures; the arithmetic is tested in `crates/pcie-port`."""

import signal
import struct
from typing import Any

import pytest

from pcielab import bounds, load_system, simulate
from pcielab.errors import InputError
from pcielab.library.profiles import resolve
from pcielab.library.suites import single_test
from pcielab.port import trace

SYSTEM = load_system("hsw2620")


def capture(*packets: tuple[int, bytes], link_type: int = 158) -> bytes:
    """A capture in pcap-ng, in microseconds."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    head = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(
        1, struct.pack("<HxxI", link_type, 0)
    )
    return head + b"".join(
        block(6, struct.pack("<IIIII", 0, 0, at, len(tlp), len(tlp)) + tlp) for at, tlp in packets
    )


READ = bytes.fromhex("00000010 030000ff 12340040")
INTERRUPT = bytes.fromhex("40000001 0300000f fee00000 00000000")


def test_a_recorded_trace_plays_at_its_own_times() -> None:
    text = trace.record(SYSTEM, "bw-rdwr", size=256, window="64K", transactions=200)
    assert text.splitlines()[:2] == [
        "# pcielab trace 1",
        "# simulated: 200 of bw-rdwr, 256 B from nfp6000 on hsw2620, seed 1",
    ]
    played = trace.play(SYSTEM, text)
    assert len(played) == 200
    assert all(one.sent_ps == one.ready_ps < one.done_ps for one in played)
    assert any(one.write for one in played)


@pytest.mark.parametrize(("test", "size"), [("bw-rd", 64), ("bw-rd", 700), ("bw-wr", 256), ("bw-rdwr", 256)])
def test_a_recorded_trace_plays_at_the_rate_of_the_run(test: Any, size: int) -> None:
    """A device that is elsewhere has none of the limits of the one that was recorded."""
    ran = simulate(SYSTEM, single_test(test, size=size, transactions=20_000)).frame["bandwidth_gbps"].iloc[0]
    text = trace.record(SYSTEM, test, size=size, transactions=20_000)
    played = trace.play_columns(SYSTEM, text)
    elapsed_ps = int(played.done_ps.max()) - int(played.sent_ps.min())
    both = 2 if test == "bw-rdwr" else 1
    assert 8000 * int(played.bytes.sum()) / elapsed_ps == pytest.approx(both * ran, rel=0.02)


def test_the_device_of_a_system_does_not_limit_one_that_is_elsewhere() -> None:
    """64 B reads of a device with 256 tags: no 14 ns from one to the next."""
    lines = "".join(f"0 read {number % 128 * 64} 64\n" for number in range(20_000))
    plain, own = (
        trace.play_columns(resolve("hsw2620", ["link.tags=256", *more]), f"{trace.HEADER}\n{lines}")
        for more in ([], ["device=direct-dma"])
    )
    assert plain.done_ps.tolist() == own.done_ps.tolist()
    system = resolve("hsw2620", ["link.tags=256", "device=direct-dma"])
    bound = bounds(system, test="bw-rd", size=64, window="8K").frame["bandwidth_gbps"].iloc[0]
    gbps = 8000 * int(plain.bytes.sum()) / int(plain.done_ps.max())
    assert 0.98 * bound < gbps <= bound


def test_fewer_tags_make_transfers_wait() -> None:
    text = trace.record(SYSTEM, "bw-rd", transactions=200)
    few = trace.play(resolve("hsw2620", ["link.tags=4"]), text)
    assert any(one.sent_ps > one.ready_ps for one in few)


def test_a_capture_becomes_a_trace() -> None:
    text, others = trace.convert(capture((5, READ), (7, INTERRUPT), (9, READ)), requester=0x0300)
    assert text.splitlines()[2:] == ["0 read 64 64", "4000000 read 64 64"]
    assert others == 1
    assert len(trace.play(SYSTEM, text)) == 2


def test_a_capture_in_pcap_becomes_the_same_trace() -> None:
    packets = ((5, READ), (7, INTERRUPT), (9, READ))
    head = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 4096, 158)
    older = head + b"".join(struct.pack("<IIII", 0, at, len(tlp), len(tlp)) + tlp for at, tlp in packets)
    assert trace.convert(older) == trace.convert(capture(*packets))


def test_a_capture_of_ethernet_is_refused_unless_its_link_type_is_given() -> None:
    ethernet = capture((5, READ), link_type=1)
    with pytest.raises(InputError, match=r"Ethernet \(link type 1\), not TLPs.* --link-type 1 if"):
        trace.convert(ethernet)
    assert trace.convert(ethernet, link_type=1)[0].splitlines()[2:] == ["0 read 64 64"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "pcielab trace 1"),
        ("# pcielab trace 1\n0 read 0 0\n", "line 2"),
        ("# pcielab trace 1\n0 read 99999999999 64\n", "transfer 1"),
    ],
)
def test_wrong_traces_are_refused(text: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        trace.play(SYSTEM, text)


def test_other_tests_and_files_are_refused() -> None:
    with pytest.raises(InputError, match="lat-rd"):
        trace.record(SYSTEM, "lat-rd")
    with pytest.raises(InputError, match="give at most"):
        trace.record(SYSTEM, "bw-rd", transactions=10_000_000)
    with pytest.raises(InputError, match="pcap-ng"):
        trace.convert(b"PK" + bytes(40))


def test_columns_hold_what_the_rows_hold() -> None:
    text = trace.record(SYSTEM, "bw-rdwr", size=700, window="64K", transactions=100)
    rows = [
        (one.ready_ps, int(one.write), one.offset, one.bytes, one.sent_ps, one.done_ps)
        for one in trace.play(SYSTEM, text)
    ]
    assert list(trace.play_columns(SYSTEM, text).rows()) == rows
    assert {write for _, write, *_ in rows} == {0, 1}


LONG = "# pcielab trace 1\n" + "0 read 0 4194304\n" * 2000
"""Transfers of 8 GB: without a stop, minutes."""


def test_a_signal_stops_a_long_trace_at_its_next_progress() -> None:
    reports: list[tuple[int, int]] = []

    def interrupt(done: int, total: int) -> None:
        reports.append((done, total))
        if done:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        trace.play_columns(SYSTEM, LONG, progress=interrupt, limit=16384000)
    *before, (done, total) = reports
    assert {none for none, _ in before} == {0}
    assert 0 < done < total == 16384000


def test_a_signal_stops_the_recording_of_a_long_test() -> None:
    def interrupt(_done: int) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        trace.record(SYSTEM, "bw-rd", size=4096, transactions=1_000_000, progress=interrupt)


def test_an_exception_of_the_progress_function_stops_it() -> None:
    def fail(_done: int, _total: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        trace.play_columns(SYSTEM, LONG, progress=fail)


def test_a_long_wrong_line_is_shortened() -> None:
    for line in ("x" * 10_000_000, "0 read 0 64 " + "\x1b" * 1_000_000):
        with pytest.raises(InputError, match="line 2: not a transfer") as refused:
            trace.play(SYSTEM, f"# pcielab trace 1\n{line}\n")
        assert len(str(refused.value)) < 10_000
