"""The transactions of a capture, one by one."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias, TypedDict

from pcielab import _core
from pcielab.captures.reading import Progress, Reading


class Transaction(TypedDict):
    """A request with its completions: times in ns, of the starts of packets."""

    record: int
    completion_record: int | None
    direction: str | None
    kind: str
    requester: str | None
    tag: int | None
    address: str | None
    bytes: int
    start_ns: float | None
    acknowledged_after_ns: float | None
    first_after_ns: float | None
    last_after_ns: float | None
    completions: int
    last_completion_bytes: int
    status: str | None


def convert(
    path: Path | str,
    file_format: str,
    take: Callable[[bytes], object],
    *,
    reading: Reading | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, int], bool]:
    """Write the packets of a capture in another format; `list` is CSV, a packet a row.

    Args:
        path: The file.
        file_format: Format to write, as for `record`.
        take: Called with the pieces of the new file.
        reading: How to read the capture.
        progress: Called with the bytes that are read, and their total.

    Returns:
        What the format cannot hold, each with its count, and whether Ctrl-C stopped it.

    Raises:
        InputError: The file is damaged or in no known format, or the format is unknown or only read.
    """
    text = (reading or Reading()).to_json()
    left_out, stopped = _core.capture_convert(Path(path), text, file_format, take, progress)
    return dict(left_out), stopped


Take: TypeAlias = Callable[[list[Transaction]], None]


def transactions(
    path: Path | str,
    *,
    reading: Reading | None = None,
    direction: str | None = None,
    kind: str | None = None,
    tag: int | None = None,
    from_ns: float | None = None,
    until_ns: float | None = None,
) -> Iterator[Transaction]:
    """List the transactions of a capture in the order in which they end.

    Args:
        path: The file.
        reading: How to read it.
        direction: Only requests that go `upstream` or `downstream`.
        kind: Only `read`, `write`, `io`, `configuration`, `atomic` or `message`.
        tag: Only this tag.
        from_ns: Only requests that start at this time after the first packet, or later.
        until_ns: Only requests that start before this time.

    Raises:
        InputError: The file is damaged or in no known format, or a word is none of these.
    """
    rows: list[Transaction] = []
    take_transactions(
        path,
        rows.extend,
        reading=reading,
        direction=direction,
        kind=kind,
        tag=tag,
        from_ns=from_ns,
        until_ns=until_ns,
    )
    return iter(rows)


def take_transactions(
    path: Path | str,
    take: Take,
    *,
    reading: Reading | None = None,
    direction: str | None = None,
    kind: str | None = None,
    tag: int | None = None,
    from_ns: float | None = None,
    until_ns: float | None = None,
    progress: Progress | None = None,
) -> bool:
    """Call `take` with the transactions of `transactions`, a thousand at a time: files may have millions.

    Returns:
        Whether Ctrl-C stopped the reading.
    """
    selection = {
        "direction": direction,
        "kind": kind,
        "tag": tag,
        "from_ps": None if from_ns is None else round(1000 * from_ns),
        "until_ps": None if until_ns is None else round(1000 * until_ns),
    }
    return _core.capture_list(
        Path(path),
        (reading or Reading()).to_json(),
        json.dumps(selection),
        lambda text: take(json.loads(text)),
        progress,
    )
