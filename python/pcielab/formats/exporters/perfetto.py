"""Traces for ui.perfetto.dev: trace events as JSON, or Perfetto's own protobuf if the output ends in `.pftrace`.

The protobuf is written here, field by field: a run needs no library for it. Field numbers are those of Perfetto's
`protos/perfetto/trace` (trace_packet, track_descriptor, track_event); tests parse the files by its definitions.
"""

import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pcielab.formats.exporters.exporter import Exporter
from pcielab.kinds.rooms import room_of
from pcielab.kinds.trace_events import Event, events_of_traces
from pcielab.outputs import check_file, write_file
from pcielab.store import Store

PROTOBUF = (".pftrace", ".perfetto-trace", ".pb")
"""Endings of files in Perfetto's own format."""
_TIMES = "simulated times from the start of each test: TLPs, phases of requests, counters"
_BEGIN, _END, _COUNTER = 1, 2, 4
_SEQUENCE = 1
"""Number of the writer, which Perfetto wants above 0."""


def _write(store: Store, output: Path, *, overwrite: bool) -> Sequence[str]:
    """A trace of the run, else what its kind has of times: the store of a device has no time stamps."""
    store.require_speed("a trace")
    check_file(output, overwrite=overwrite)
    warnings: Sequence[str] = ()
    if store.trace_ns is not None:
        events, times = events_of_traces(store), _TIMES
    else:
        of_kind = room_of(store).events
        events, warnings = of_kind.of(store)
        times = of_kind.times
    about = {"title": store.title, "origin": store.origin, "times": times}
    if output.suffix in PROTOBUF:
        content = b"".join(_packets(events, about))
    else:
        whole = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}
        content = json.dumps(whole, allow_nan=False, separators=(",", ":")).encode()
    write_file(output, content, overwrite=overwrite)
    return warnings


def _packets(events: Iterable[Event], about: Mapping[str, str]) -> Iterator[bytes]:
    """The trace packets of events: a track for each process, thread and counter, then its slices and values."""
    names: dict[tuple[Any, ...], str] = {}
    of_track: dict[tuple[Any, ...], list[Event]] = {}
    for event in events:
        process, thread = event["pid"], event.get("tid")
        match event["ph"], event["name"]:
            case "M", "process_name":
                names[process,] = event["args"]["name"]
            case "M", _:
                names[process, thread] = event["args"]["name"]
            case "C", name:
                of_track.setdefault((process, None, name), []).append(event)
            case _:
                of_track.setdefault((process, thread), []).append(event)
    described = [(process,) for process in sorted({key[0] for key in of_track})]
    uuids = {key: number for number, key in enumerate([*described, *of_track], start=1)}
    for (process,) in described:
        name = f"{names.get((process,), f'test {process}')} ({about['origin']}: {about['times']})"
        # Processes count from 1: Perfetto takes 0 for the kernel's idle task.
        inner = _whole(1, process + 1) + _text(6, name)
        yield _packet(_message(60, _whole(1, uuids[process,]) + _message(3, inner)))
    for key, inside in of_track.items():
        parent = _whole(5, uuids[key[0],])
        if len(key) == 3:
            track = _text(2, key[2]) + parent + _message(8, b"")
            yield _packet(_message(60, _whole(1, uuids[key]) + track))
            yield from (_counter(event, uuids[key]) for event in inside)
        else:
            # A track without a thread of its own: its slices are no program's.
            yield _packet(_message(60, _whole(1, uuids[key]) + _text(2, names.get(key, "")) + parent))
            yield from _slices(inside, uuids[key])


def _counter(event: Event, track: int) -> bytes:
    (value,) = event["args"].values()
    inner = _whole(9, _COUNTER) + _whole(11, track) + _whole(30, value)
    return _packet(_whole(8, _ns(event["ts"])) + _message(11, inner))


def _slices(slices: Iterable[Event], track: int) -> Iterator[bytes]:
    """Begin and end of slices that nest: an end comes before what begins at its time."""
    open_until: list[int] = []
    for event in slices:
        start = _ns(event["ts"])
        while open_until and open_until[-1] <= start:
            yield _end(open_until.pop(), track)
        details = b"".join(
            _message(4, _text(10, name) + _value(value)) for name, value in event.get("args", {}).items()
        )
        inner = _whole(9, _BEGIN) + _whole(11, track) + _text(23, event["name"]) + details
        yield _packet(_whole(8, start) + _message(11, inner))
        open_until.append(start + _ns(event["dur"]))
    while open_until:
        yield _end(open_until.pop(), track)


def _end(at_ns: int, track: int) -> bytes:
    return _packet(_whole(8, at_ns) + _message(11, _whole(9, _END) + _whole(11, track)))


def _ns(time_us: float) -> int:
    return round(1e3 * time_us)


def _packet(content: bytes) -> bytes:
    return _message(1, content + _whole(10, _SEQUENCE))


def _value(value: object) -> bytes:
    """The value of a detail: a whole number, a number or a text."""
    if isinstance(value, int):
        return _whole(4, value)
    if isinstance(value, float):
        return _varint(5 << 3 | 1) + struct.pack("<d", value)
    return _text(6, str(value))


def _whole(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value & (1 << 64) - 1)


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


EXPORTER = Exporter(
    "perfetto",
    "Write TLPs, phases and counters of a run with --trace, or requests, transfers or steps, for ui.perfetto.dev; "
    "*.pftrace is Perfetto's own format.",
    _write,
)
