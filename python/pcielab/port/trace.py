"""Traces of DMA: recorded, played on a simulated host, and made from captures of TLPs.

    from pcielab import load_system
    from pcielab.port import trace

    system = load_system("hsw2620")
    text = trace.record(system, "bw-rd", size=512, transactions=10_000)
    [transfer.done_ps for transfer in trace.play(system, text)]

A trace is text: `crates/pcie-port/src/trace.rs` and the guide on other simulators describe it.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pcielab import _core
from pcielab.errors import refusal
from pcielab.library.suites import single_test
from pcielab.library.suites.parameters import Cache, Operation

if TYPE_CHECKING:
    import numpy as np

    from pcielab.library.profiles import ResolvedSystem

Column: TypeAlias = "np.ndarray[Any, Any]"
HEADER = "# pcielab trace 1"
"""The first line of a trace."""
MOST_BYTES = 256 << 20
"""The longest trace or capture that is read."""
_OPERATIONS = ("bw-rd", "bw-wr", "bw-rdwr")
_MOST_TRANSACTIONS = 1_000_000
_BLOCK_ROWS = 65_536
"""Transfers that become Python's numbers at once."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer of a trace that was played.

    Attributes:
        ready_ps: The earliest time that the trace gives it.
        write: Whether it writes.
        offset: Offset in the host buffer.
        bytes: Its length.
        sent_ps: When its first TLP had a tag and credits.
        done_ps: When its last completion was at the device, or its last byte at the host.
    """

    ready_ps: int
    write: bool
    offset: int
    bytes: int
    sent_ps: int
    done_ps: int


@dataclass(frozen=True, eq=False)
class Played:
    """The transfers of a trace that was played, in columns: of millions, rows would take gigabytes.

    Attributes:
        ready_ps: As of `Transfer`, and the others too.
        write: 1 or 0.
        offset: Offsets.
        bytes: Lengths.
        sent_ps: Times.
        done_ps: Times.
    """

    ready_ps: Column
    write: Column
    offset: Column
    bytes: Column
    sent_ps: Column
    done_ps: Column

    def __len__(self) -> int:
        return len(self.ready_ps)

    def rows(self) -> Iterator[tuple[int, ...]]:
        """The transfers, each as its whole numbers in the order of the attributes."""
        columns = (self.ready_ps, self.write, self.offset, self.bytes, self.sent_ps, self.done_ps)
        for start in range(0, len(self), _BLOCK_ROWS):
            yield from zip(*(column[start : start + _BLOCK_ROWS].tolist() for column in columns), strict=True)


def record(
    system: "ResolvedSystem",
    test: Operation = "bw-rd",
    *,
    seed: int = 1,
    progress: Callable[[int], None] | None = None,
    **parameters: Any,
) -> str:
    """Record the TLPs of a bandwidth test, each when the system's own device sends it.

    What limits that device (workers, data engine, order of tags) is in the times: `play` on the same system gives
    the rate of `pcielab run`. Only the time in which the device stores what it has read is left out.

    Args:
        system: The device, the link and the host.
        test: The operation: `bw-rd`, `bw-wr` or `bw-rdwr`.
        seed: Seed of the addresses and of the host's draws.
        progress: Called now and then with the TLPs that are done.
        parameters: Further keywords of `single_test`, as `size`, `window`, `pattern` or `transactions`.

    Returns:
        The trace. Its times are simulated.

    Raises:
        InputError: The test is impossible, does not fit the device or the host, or is no bandwidth test.
    """
    if test not in _OPERATIONS:
        raise refusal("unsupported", f"{test}: has no stream of TLPs to record: give {', '.join(_OPERATIONS)}")
    [one] = single_test(test, **{"transactions": 10_000, **parameters}).tests
    found = one["parameters"]
    count, size = found["transactions"], found["size_bytes"]
    if count > _MOST_TRANSACTIONS:
        raise refusal("too-large", f"transactions is {count}: give at most {_MOST_TRANSACTIONS}")
    device, name = system.system.device.name, system.system.name
    words = f"simulated: {count} of {test}, {size} B from {device} on {name}, seed {seed}"
    return _core.trace_record(system.handle, json.dumps(found), seed, words, progress)


def play(
    system: "ResolvedSystem", text: str, *, cache: Cache = "cold", window_bytes: int = 0, seed: int = 1
) -> list[Transfer]:
    """Play a trace on a system's host and link, with a device that has the link's tags and no other limit.

    The first transfer waits for its time, a tag and credits; those behind it wait with it.

    Args:
        system: The host and the link.
        text: The trace.
        cache: State of the caches before the first transfer.
        window_bytes: Bytes of the buffer that are warm, from its start.
        seed: Seed of the host's draws.

    Returns:
        Its transfers in order.

    Raises:
        InputError: A line is wrong, or a transfer does not fit the host.
    """
    played = play_columns(system, text, cache=cache, window_bytes=window_bytes, seed=seed)
    return [Transfer(ready, bool(write), *rest) for ready, write, *rest in played.rows()]


def play_columns(
    system: "ResolvedSystem",
    text: str,
    *,
    cache: Cache = "cold",
    window_bytes: int = 0,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
    limit: int | None = None,
    stop: "_core.Stop | None" = None,
) -> Played:
    """As `play`, for traces of millions of transfers.

    Args:
        system: The host and the link.
        text: The trace.
        cache: State of the caches before the first transfer.
        window_bytes: Bytes of the buffer that are warm, from its start.
        seed: Seed of the host's draws.
        progress: Called before the first TLP, and now and then, with the TLPs of the transfers that are done, and
            their total.
        limit: TLPs that the transfers may take; None: ten million, which take about ten seconds.
        stop: When it is requested, the result has the transfers before the first that is not done.

    Raises:
        InputError: A line is wrong, a transfer does not fit the host, or the trace has more TLPs than the limit.
    """
    import numpy as np

    ready, write, offset, size = _core.trace_read(text)
    report = None
    if progress is not None:
        tlps = _tlps(system, *(np.frombuffer(one, dtype=kind) for one, kind in ((write, "u1"), (size, "u8"))))
        report = lambda done: progress(int(tlps[done]), int(tlps[-1]))  # noqa: E731
        report(0)
    sent, done = _core.trace_play(system.handle, text, cache, window_bytes, seed, report, limit, stop)
    numbers = [np.frombuffer(column, dtype=np.uint64) for column in (ready, offset, size, sent, done)]
    number = len(numbers[-1])
    first, *others = (column[:number] for column in numbers)
    return Played(first, np.frombuffer(write, dtype=np.uint8)[:number], *others)


def _tlps(system: "ResolvedSystem", write: Column, size: Column) -> Column:
    """The TLPs of the first transfers: none, one, and so on; aligned ones, which are a few less than others."""
    import numpy as np

    link = system.system.link
    most = np.where(write == 1, link.mps_bytes, link.mrrs_bytes).astype(np.uint64)
    return np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum((size + most - 1) // most)])


def convert(
    capture: bytes, *, skip_bytes: int = 0, requester: int | None = None, link_type: int | None = None
) -> tuple[str, int]:
    """Make a trace from a capture of TLPs in any format that pcielab reads.

    Pages of the captured machine become pages of the buffer, in the order of first use.

    Args:
        capture: The file.
        skip_bytes: In pcap-ng and pcap: bytes of each packet before the header of its TLP.
        requester: Only requests with this requester ID.
        link_type: In pcap-ng and pcap: link type of the packets that hold TLPs; None: 125 and 147 to 162, those of
            analysers, and NetTLP's packets.

    Returns:
        The trace, and the number of packets that are no memory reads or writes of the requester.

    Raises:
        InputError: The file is damaged, of no known format, a capture of something else (the message
            names its link type), or holds no memory read or write of the requester.
    """
    return _core.trace_convert(capture, skip_bytes, requester, link_type, "from a capture of TLPs")
